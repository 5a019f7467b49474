import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import { TextFrame } from "./text-frame.ts";

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

/** A frame on its way: text as a string, or made for many; anything else as bytes. */
type Frame = string | Uint8Array | TextFrame;

/** The connection below a WebSocket, for frames that are whole. Each is one write, so that they come between others. */
export type Wire = Pick<Duplex, "write">;

/**
 * What goes out to one peer, in order and in bounded memory. A peer that does not read costs what the limits say,
 * and nobody waits for it.
 */
export class Outflow {
  readonly #socket: Pick<WebSocket, "bufferedAmount" | "readyState" | "send">;
  readonly #ports: OutflowPorts;
  readonly #limits: OutflowLimits;
  readonly #wire: Wire | undefined;
  #waiting: Frame[] = [];
  #waitingBytes = 0;
  #paused = false;
  #over = false;

  constructor(
    socket: Pick<WebSocket, "bufferedAmount" | "readyState" | "send">,
    ports: OutflowPorts,
    limits: OutflowLimits = outflowLimits,
    wire?: Wire,
  ) {
    this.#socket = socket;
    this.#ports = ports;
    this.#limits = limits;
    this.#wire = wire;
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
    if (this.#socket.bufferedAmount + lengthOf(frame) <= this.#limits.pause) {
      this.#put(frame);
      return;
    }
    this.#paused = true;
    this.#ports.paused();
    // Called when this frame, and so all before it, has left the process; with an error when the socket is gone.
    this.#put(frame, (error) => {
      if (error === undefined || error === null) this.#resume();
    });
  }

  #put(frame: Frame, sent?: (error?: Error | null) => void): void {
    if (!(frame instanceof TextFrame)) this.#socket.send(frame, sent);
    else if (this.#wire === undefined) this.#socket.send(frame.text, sent);
    else this.#wire.write(frame.bytes, sent);
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
  if (frame instanceof TextFrame) return frame.bytes.byteLength;
  return typeof frame === "string" ? Buffer.byteLength(frame) : frame.byteLength;
}

/** About as much, without encoding it. */
function lengthOf(frame: Frame): number {
  return frame instanceof TextFrame ? frame.text.length : frame.length;
}
