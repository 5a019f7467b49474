import type { WebSocket } from "ws";

const MEBIBYTE = 1024 * 1024;

export interface OutflowLimits {
  /** Bytes that the socket holds before nothing more is handed to it. */
  readonly pause: number;
  /** Bytes that the socket holds and that wait for it before the peer is given up. */
  readonly end: number;
}

export const outflowLimits: OutflowLimits = { pause: MEBIBYTE, end: 4 * MEBIBYTE };

export interface OutflowPorts {
  /** The peer reads again: there is room. */
  resumed(): void;
  /** The socket holds as much as it may: whoever makes more for this peer should wait. */
  paused(): void;
  /** The peer left too much waiting. Nothing is sent any more; the owner ends the connection with `resync`. */
  overflowed(): void;
}

/** A frame on its way: text as a string, anything else as bytes. */
type Frame = string | Uint8Array;

/**
 * What goes out to one peer, in order and in bounded memory. A peer that does not read costs what the limits say,
 * and nobody waits for it.
 */
export class Outflow {
  readonly #socket: Pick<WebSocket, "bufferedAmount" | "readyState" | "send">;
  readonly #ports: OutflowPorts;
  readonly #limits: OutflowLimits;
  #waiting: Frame[] = [];
  #waitingBytes = 0;
  #paused = false;
  #over = false;

  constructor(
    socket: Pick<WebSocket, "bufferedAmount" | "readyState" | "send">,
    ports: OutflowPorts,
    limits: OutflowLimits = outflowLimits,
  ) {
    this.#socket = socket;
    this.#ports = ports;
    this.#limits = limits;
  }

  get paused(): boolean {
    return this.#paused;
  }

  /** Bytes that the peer has not taken yet, apart from what the system's own buffers hold. */
  get pending(): number {
    return this.#socket.bufferedAmount + this.#waitingBytes;
  }

  send(frame: Frame): void {
    if (this.#over || this.#socket.readyState !== OPEN) return;
    if (!this.#paused) {
      this.#hand(frame);
    } else {
      this.#waiting.push(frame);
      this.#waitingBytes += sizeOf(frame);
    }
    if (this.pending <= this.#limits.end) return;
    this.#over = true;
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#ports.overflowed();
  }

  #hand(frame: Frame): void {
    if (this.#socket.bufferedAmount + frame.length <= this.#limits.pause) {
      this.#socket.send(frame);
      return;
    }
    this.#paused = true;
    this.#ports.paused();
    // Called when this frame, and so all before it, has left the process; with an error when the socket is gone.
    this.#socket.send(frame, (error) => {
      if (error === undefined || error === null) this.#resume();
    });
  }

  #resume(): void {
    if (this.#over) return;
    this.#paused = false;
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#waitingBytes = 0;
    for (const frame of waiting) this.send(frame);
    if (!this.#paused) this.#ports.resumed();
  }
}

/** `WebSocket.OPEN`, without loading the package. */
const OPEN = 1;

function sizeOf(frame: Frame): number {
  return typeof frame === "string" ? Buffer.byteLength(frame) : frame.byteLength;
}
