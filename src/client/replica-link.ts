import { KumikoError } from "../base/index.ts";
import {
  type ClientFrame,
  decodeServerFrame,
  encodeClientFrame,
  type ServerFrame,
} from "../protocol/replica-frame.ts";
import type { SocketClass, SocketLike } from "./socket.ts";

/** A WebSocket that carries bytes. */
interface BinarySocket extends Omit<SocketLike, "send"> {
  binaryType: string;
  send(data: Uint8Array): void;
}

export interface ReplicaLinkOptions {
  readonly url: string;
  readonly token: string | undefined;
  readonly WebSocket: SocketClass;
}

export interface ReplicaLinkPorts {
  opened(): void;
  received(frame: ServerFrame): void;
  closed(code: number, reason: string): void;
}

const OPEN = 1;

/** One connection to the replica door: frames in both directions. */
export class ReplicaLink {
  readonly #socket: BinarySocket;

  constructor(options: ReplicaLinkOptions, ports: ReplicaLinkPorts) {
    const protocols = ["kumiko"];
    if (options.token !== undefined) protocols.push(`bearer.${options.token}`);
    const made = new options.WebSocket(socketUrl(options.url), protocols);
    const socket = made as unknown as BinarySocket;
    socket.binaryType = "arraybuffer";
    socket.addEventListener("open", () => ports.opened());
    // What there is to say about an error is said by the close that follows it.
    socket.addEventListener("error", () => undefined);
    socket.addEventListener("close", ({ code, reason }) => ports.closed(code, reason));
    socket.addEventListener("message", ({ data }) => {
      try {
        if (!(data instanceof ArrayBuffer)) {
          throw new KumikoError("frame_malformed", "A frame of text came.");
        }
        ports.received(decodeServerFrame(new Uint8Array(data)));
      } catch (error) {
        if (!(error instanceof KumikoError)) throw error;
        // A server that cannot be understood is left; the next connection may go better.
        socket.close();
      }
    });
    this.#socket = socket;
  }

  send(frame: ClientFrame): void {
    if (this.#socket.readyState === OPEN) this.#socket.send(encodeClientFrame(frame));
  }

  close(): void {
    this.#socket.close();
  }
}

function socketUrl(url: string): string {
  const target = new URL("/replica", url);
  target.protocol = target.protocol.replace("http", "ws");
  return target.href;
}
