import type { RpcTransportWithCustomEncoding } from "capnweb";
import type { RawData, WebSocket } from "ws";
import { KumikoError, type Timers } from "../../base/index.ts";
import { closeCodes, type CloseReason } from "../../protocol/index.ts";
import { parseJson } from "../http/body.ts";
import { Outflow, outflowLimits, type OutflowLimits } from "../http/outflow.ts";
import { Channels } from "./channels.ts";
import { vetMessage } from "./vet-message.ts";

/** Characters of messages that are sent as one frame. */
const BATCH = 64 * 1024;
/** Answers that the peer has not released. */
const HELD = 10_000;
/** Messages that came in and were not looked at yet; a frame may bring many. */
const QUEUE = 20_000;
/** Releases that wait for something to go with. */
const LATER = 64;
/** Calls handed on in one turn of the event loop. */
const CALLS = 16;
/**
 * Answers of these calls come all at once, however large: a peer that reads is not ended for that. One that takes
 * nothing for so many milliseconds while more than the limit waits is, and anyone at so many times the limit.
 */
const STALL = 2_500;
const ANSWERS = 16;
/** Milliseconds that a peer has to answer when the connection is ended. */
const LINGER = 1_000;

export interface TransportPorts {
  readonly timers: Timers;
  resumed(): void;
  /** The connection ended, by either side. */
  closed(reason: KumikoError): void;
}

/**
 * capnweb's messages on a socket of ours: looked at before they are taken in, bounded in both directions. A frame has
 * one message, or several with newlines between them; we send several to peers that have sent such a frame before.
 */
export class Transport implements RpcTransportWithCustomEncoding {
  readonly encodingLevel = "jsonCompatible";
  /** What subscriptions tell, between the library's messages. */
  readonly channels = new Channels((text) => this.#sendText(text));
  readonly #socket: WebSocket;
  readonly #ports: TransportPorts;
  readonly #outflow: Outflow;
  readonly #limits: OutflowLimits;
  #incoming: unknown[] = [];
  #next = 0;
  #receiver: PromiseWithResolvers<unknown> | undefined;
  /** Calls that were handed on in this turn of the event loop. */
  #calls = 0;
  #stall: { cancel(): void } | undefined;
  #outgoing: string[] = [];
  #outgoingCharacters = 0;
  #flushing = false;
  #batches = false;
  #held = 0;
  #failed: Error | undefined;

  constructor(socket: WebSocket, ports: TransportPorts, limits: OutflowLimits = outflowLimits) {
    this.#socket = socket;
    this.#limits = limits;
    this.#ports = ports;
    this.#outflow = new Outflow(
      socket,
      {
        // Whoever does not read answers is not read either: its calls would only make more of them.
        paused: () => {
          socket.pause();
          this.#stall?.cancel();
          this.#watch(Infinity);
        },
        resumed: () => {
          this.#stall?.cancel();
          socket.resume();
          ports.resumed();
          this.#hand();
        },
        overflowed: () => this.end("resync"),
      },
      { pause: limits.pause, end: limits.end * ANSWERS },
    );
    socket.on("message", (data, binary) => this.#take(data, binary));
    socket.once("close", (code, reason) =>
      this.#fail(
        new KumikoError("closed", "The connection was closed.", {
          close_code: code,
          reason: reason.toString("utf8"),
        }),
      ),
    );
    // What there is to say about an error is said by the close that follows it.
    socket.on("error", () => undefined);
  }

  get paused(): boolean {
    return this.#outflow.paused;
  }

  send(message: unknown): number {
    const text = JSON.stringify(message);
    if (isRelease(message)) this.#sendLater(text);
    else this.#sendText(text);
    return text.length;
  }

  receive(): Promise<unknown> {
    if (this.#failed !== undefined) return Promise.reject(this.#failed);
    this.#receiver = Promise.withResolvers<unknown>();
    const { promise } = this.#receiver;
    this.#hand();
    return promise;
  }

  /** The library gives up: the peer sent what cannot be. */
  abort(): void {
    this.end("malformed");
  }

  end(reason: CloseReason): void {
    if (this.#failed !== undefined) return;
    this.#flush();
    this.#socket.resume();
    this.#socket.close(closeCodes[reason], reason);
    this.#fail(new KumikoError("closed", `The connection was ended: ${reason}.`, { reason }));
    // A peer that does not read will not answer either; one that is only slow is told why.
    const giveUp = this.#ports.timers.after(LINGER, () => this.#socket.terminate());
    this.#socket.once("close", () => giveUp.cancel());
  }

  #sendText(text: string): void {
    if (!this.#batches) {
      this.#outflow.send(text);
      return;
    }
    if (!this.#flushing) {
      this.#flushing = true;
      setImmediate(() => this.#flush());
    }
    this.#outgoing.push(text);
    this.#outgoingCharacters += text.length;
    if (this.#outgoingCharacters > BATCH) this.#flush();
  }

  #sendLater(text: string): void {
    if (this.#batches && this.#outgoing.length < LATER) this.#outgoing.push(text);
    else this.#sendText(text);
  }

  #flush(): void {
    this.#flushing = false;
    const messages = this.#outgoing;
    this.#outgoing = [];
    this.#outgoingCharacters = 0;
    if (messages.length > 0) this.#outflow.send(messages.join("\n"));
  }

  #take(data: RawData, binary: boolean): void {
    if (this.#failed !== undefined) return;
    try {
      if (binary) throw new KumikoError("invalid_argument", "A frame of bytes came.", {});
      const frame = (data as Buffer).toString("utf8");
      this.#batches ||= frame.includes("\n");
      for (const text of this.#batches ? frame.split("\n") : [frame]) {
        if (text !== "") this.#deliver(parseJson(text));
      }
    } catch {
      this.end("malformed");
    }
  }

  #deliver(message: unknown): void {
    if (!Array.isArray(message)) {
      this.channels.take(message);
      return;
    }
    this.#held += vetMessage(message);
    if (this.#held > HELD || this.#incoming.length - this.#next > QUEUE) {
      this.end("too_many");
      return;
    }
    this.#incoming.push(message);
    this.#hand();
  }

  /**
   * Gives the library its next message: a few calls with each turn of the event loop, and none while answers wait,
   * so that a peer that asks for much and reads nothing makes no more than these answers.
   */
  #hand(): void {
    if (this.#receiver === undefined || this.#next === this.#incoming.length) return;
    if (this.#outflow.paused || this.#calls >= CALLS) return;
    const message = this.#incoming[this.#next];
    this.#next++;
    if (this.#next === this.#incoming.length) {
      this.#incoming = [];
      this.#next = 0;
    }
    if (Array.isArray(message) && message[0] === "push") this.#count();
    const receiver = this.#receiver;
    this.#receiver = undefined;
    receiver.resolve(message);
  }

  #count(): void {
    this.#calls++;
    if (this.#calls > 1) return;
    setImmediate(() => {
      this.#calls = 0;
      this.#hand();
    });
  }

  /** While the peer does not read: whether it took anything since the last time. */
  #watch(before: number): void {
    this.#stall = this.#ports.timers.after(STALL, () => {
      const { pending } = this.#outflow;
      if (pending >= before && pending > this.#limits.end) this.end("resync");
      else this.#watch(pending);
    });
  }

  #fail(error: KumikoError): void {
    if (this.#failed !== undefined) return;
    this.#failed = error;
    this.#incoming = [];
    this.#next = 0;
    this.#stall?.cancel();
    this.#receiver?.reject(error);
    this.#receiver = undefined;
    this.#ports.closed(error);
  }
}

/**
 * The release of an answer (of a capability it would have a negative number) only makes room on the other side: it
 * can wait for whatever is sent next.
 */
function isRelease(message: unknown): boolean {
  return Array.isArray(message) && message[0] === "release" && Number(message[1]) > 0;
}
