import { WebSocket } from "ws";
import type { SocketClass, SocketLike } from "../../src/client/index.ts";

/** What happens to a frame: it passes, the connection breaks before it or behind it, or it is held for ever. */
type Fate = "pass" | "before" | "behind" | "hold";

interface Wire {
  /** Decides over each frame, in both directions; everything passes by default. */
  fate: (direction: "out" | "in", frame: string) => Fate;
  /** What a frame that came in is taken for. */
  change: (frame: string) => string;
  /** Connections that were opened, and those that are open. */
  readonly opened: number;
  readonly open: number;
  /** Breaks all that are open. */
  cut(): void;
  readonly WebSocket: SocketClass;
}

/** Real WebSockets that break where a test wants them to. */
export function cuttableSockets(): Wire {
  const open = new Set<WebSocket>();
  let opened = 0;
  const wire: Wire = {
    fate: () => "pass",
    change: (frame) => frame,
    get opened() {
      return opened;
    },
    get open() {
      return open.size;
    },
    cut() {
      for (const socket of open) socket.terminate();
    },
    WebSocket: class implements SocketLike {
      readonly #socket: WebSocket;

      constructor(url: string, protocols: string[]) {
        const socket = new WebSocket(url, protocols);
        this.#socket = socket;
        socket.on("open", () => {
          opened++;
          open.add(socket);
        });
        socket.on("close", () => open.delete(socket));
        socket.on("error", () => undefined);
      }

      get readyState(): number {
        return this.#socket.readyState;
      }

      get bufferedAmount(): number {
        return this.#socket.bufferedAmount;
      }

      send(frame: string): void {
        const fate = wire.fate("out", frame);
        if (fate === "before") this.#socket.terminate();
        if (fate === "pass") this.#socket.send(frame);
        // It has left this process when it breaks.
        if (fate === "behind") this.#socket.send(frame, () => this.#socket.terminate());
      }

      close(code?: number, reason?: string): void {
        this.#socket.close(code, reason);
      }

      addEventListener(type: string, listener: (event: never) => void): void {
        if (type !== "message") {
          this.#socket.addEventListener(type as "close", listener as () => void);
          return;
        }
        this.#socket.on("message", (data: Buffer) => {
          const frame = data.toString("utf8");
          const fate = this.#socket.readyState === 1 ? wire.fate("in", frame) : "before";
          if (fate === "before") this.#socket.terminate();
          if (fate === "pass" || fate === "behind") listener({ data: wire.change(frame) } as never);
          if (fate === "behind") this.#socket.terminate();
        });
      }
    },
  };
  return wire;
}
