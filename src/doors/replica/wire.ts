import type { WebSocket } from "ws";
import type { Timers } from "../../base/index.ts";
import {
  closeCodes,
  type CloseReason,
  encodeServerFrame,
  type ServerFrame,
} from "../../protocol/index.ts";
import { Outflow, type OutflowLimits } from "../http/outflow.ts";

const LINGER = 1_000;

interface WirePorts {
  readonly timers: Timers;
  /** Milliseconds without room for anything more before the peer is given up. */
  readonly stalled: number;
  readonly outflow?: OutflowLimits | undefined;
  /** The peer does not read, and is about to be put out. */
  gaveUp(): void;
  /** Nothing goes out any more; told once. */
  gone(): void;
}

/** What goes out of a connection, as fast as its peer reads, and how it ends. */
export class Wire {
  readonly #socket: WebSocket;
  readonly #ports: WirePorts;
  readonly #outflow: Outflow;
  #closed = false;
  #room: (() => void)[] = [];
  #stalled: { cancel(): void } | undefined;

  constructor(socket: WebSocket, ports: WirePorts) {
    this.#socket = socket;
    this.#ports = ports;
    this.#outflow = new Outflow(
      socket,
      {
        paused: () => {
          socket.pause();
          // It may be paused again without having been resumed: what it took meanwhile counts.
          this.#stalled?.cancel();
          this.#stalled = ports.timers.after(ports.stalled, () => this.#giveUp());
        },
        resumed: () => {
          this.#stalled?.cancel();
          socket.resume();
          // What came in is read before more goes out: whoever is sent much can be heard meanwhile.
          setImmediate(() => setImmediate(() => this.#goOn()));
        },
        overflowed: () => this.#giveUp(),
      },
      ports.outflow,
    );
  }

  get closed(): boolean {
    return this.#closed;
  }

  send(frame: ServerFrame): void {
    this.#outflow.send(encodeServerFrame(frame));
  }

  /** A frame that was encoded for several. */
  sendBytes(frame: Uint8Array): void {
    this.#outflow.send(frame);
  }

  /** Resolves when there is room, or nobody to send anything to. Of those who wait, the first may take it all. */
  async room(): Promise<void> {
    while (this.#outflow.paused && !this.#closed) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#room.push(resolve);
      await promise;
    }
  }

  end(reason: CloseReason): void {
    if (this.#closed) return;
    this.gone();
    this.#socket.resume();
    this.#socket.close(closeCodes[reason], reason);
    // A peer that does not read will not answer either.
    const giveUp = this.#ports.timers.after(LINGER, () => this.#socket.terminate());
    this.#socket.once("close", () => giveUp.cancel());
  }

  /** The socket is closed, or about to be. */
  gone(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#stalled?.cancel();
    this.#ports.gone();
    this.#goOn();
  }

  #giveUp(): void {
    this.#ports.gaveUp();
    this.end("resync");
  }

  #goOn(): void {
    for (const go of this.#room.splice(0)) go();
  }
}
