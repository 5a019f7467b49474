import type { RpcTransportWithCustomEncoding } from "capnweb";
import type { RawData, WebSocket } from "ws";
import { KumikoError, type Timers } from "../../base/index.ts";
import { closeCodes, type CloseReason } from "../../protocol/index.ts";
import { parseJson } from "../http/body.ts";
import { Outflow, outflowLimits, type OutflowLimits, type Wire } from "../http/outflow.ts";
import { TextFrame } from "../http/text-frame.ts";
import { Answers } from "./answers.ts";
import { Channels } from "./channels.ts";
import { soon } from "./soon.ts";
import { type Vetted, vetMessage } from "./vet-message.ts";

/** Characters of messages that are sent as one frame. */
const BATCH = 64 * 1024;
/** Messages that came in and were not looked at yet; a frame may bring many. */
const QUEUE = 20_000;
/** Releases that wait for something to go with. */
const LATER = 64;
/** Calls handed on in one turn of the event loop. */
const CALLS = 16;
/** Milliseconds after which calls under way are not expected to be answered soon. */
const SOON = 100;
/**
 * Answers of calls under way come all at once, however large: a peer that reads is not ended for that. So often it is
 * looked at whether one that does not read has taken as much as makes it pause: with more than the limit waiting it
 * has to each time, with less within so many times. At so many times the limit anyone is ended.
 */
const LOOK = 2_500;
const LOOKS = 4;
const ANSWERS = 8;
/** Milliseconds that a peer has to release answers when it holds as much as it may. */
const PATIENCE = 10_000;
/** Milliseconds that a peer has to answer when the connection is ended. */
const LINGER = 1_000;

interface Incoming extends Vetted {
  readonly message: unknown;
}

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
  readonly channels = new Channels((frame) => this.#queue(frame));
  readonly #socket: WebSocket;
  readonly #ports: TransportPorts;
  readonly #outflow: Outflow;
  readonly #limits: OutflowLimits;
  readonly #answers: Answers;
  #incoming: Incoming[] = [];
  #next = 0;
  /** What only asks for answers of calls that were begun, or makes room: it goes first, while others wait for room. */
  #first: Incoming[] = [];
  /** Calls that wait, and those of them whose answers were asked for already. */
  #pushes = 0;
  readonly #asked = new Set<number>();
  /** How many of those that wait need an answer. */
  readonly #needed = new Map<number, number>();
  #receiver: PromiseWithResolvers<unknown> | undefined;
  /** Calls that were handed on in this turn of the event loop. */
  #calls = 0;
  #stall: { cancel(): void } | undefined;
  #full: { cancel(): void } | undefined;
  #slow: { cancel(): void } | undefined;
  #outgoing: (string | TextFrame)[] = [];
  #outgoingCharacters = 0;
  #flushing = false;
  #batches = false;
  #failed: Error | undefined;

  constructor(
    socket: WebSocket,
    ports: TransportPorts,
    wire: Wire,
    limits: OutflowLimits = outflowLimits,
  ) {
    this.#socket = socket;
    this.#limits = limits;
    this.#ports = ports;
    this.#answers = new Answers(limits.end);
    this.#outflow = new Outflow(
      socket,
      {
        // Whoever does not read answers is not read either: its calls would only make more of them.
        paused: () => {
          socket.pause();
          this.#stall?.cancel();
          // What is under way is answered before the first look: only then is it known how much there is to take.
          this.#watch(Infinity, LOOKS);
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
      wire,
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
    else this.#queue(text);
    if (isAnswer(message)) {
      this.#answers.sent(message[1], text.length);
      this.#waitForRoom();
      this.#hand();
    }
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

  #queue(message: string | TextFrame): void {
    if (!this.#batches) {
      this.#outflow.send(message);
      return;
    }
    if (!this.#flushing) {
      this.#flushing = true;
      soon(this.#flush);
    }
    this.#outgoing.push(message);
    this.#outgoingCharacters += textOf(message).length;
    if (this.#outgoingCharacters > BATCH) this.#flush();
  }

  #sendLater(text: string): void {
    if (this.#batches && this.#outgoing.length < LATER) this.#outgoing.push(text);
    else this.#queue(text);
  }

  readonly #flush = (): void => {
    this.#flushing = false;
    const messages = this.#outgoing;
    const [only] = messages;
    if (only === undefined) return;
    this.#outgoing = [];
    this.#outgoingCharacters = 0;
    // One that is alone goes as it is: it may be a frame that others are sent too.
    this.#outflow.send(messages.length === 1 ? only : messages.map(textOf).join("\n"));
  };

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
    this.#sort({ message, ...vetMessage(message) });
    if (this.#incoming.length - this.#next + this.#first.length > QUEUE) this.end("too_many");
    else this.#hand();
  }

  #sort(incoming: Incoming): void {
    const { kind, id, needs } = incoming;
    const begun = id > 0 && id <= this.#answers.begun;
    if (begun && (kind === "pull" || (kind === "release" && !this.#needed.has(id)))) {
      this.#first.push(incoming);
      return;
    }
    if (kind === "pull" && id > 0) {
      if (id > this.#answers.begun + this.#pushes) throw unknownCall(id);
      this.#asked.add(id);
      return;
    }
    for (const each of needs) this.#needed.set(each, (this.#needed.get(each) ?? 0) + 1);
    if (kind === "push") this.#pushes++;
    this.#incoming.push(incoming);
  }

  /**
   * Gives the library its next message: a few calls with each turn of the event loop, and none while answers wait,
   * so that a peer that asks for much and reads nothing makes no more than these answers.
   */
  #hand(): void {
    if (this.#receiver === undefined) return;
    const next = this.#first.shift() ?? this.#overdue() ?? this.#queued();
    if (next === undefined) return;
    if (next.kind === "push") this.#count();
    if (next.kind === "pull") this.#answers.ask(next.id);
    if (next.kind === "release") this.#answers.release(next.id);
    this.#waitForRoom();
    if (this.#answers.tooMany) {
      this.end("too_many");
      return;
    }
    const receiver = this.#receiver;
    this.#receiver = undefined;
    receiver.resolve(next.message);
  }

  /** What is kept only because nobody asked for it is sent, so that it is known and released. */
  #overdue(): Incoming | undefined {
    const id = this.#answers.overdue;
    return id === undefined ? undefined : pull(id);
  }

  #queued(): Incoming | undefined {
    const next = this.#incoming[this.#next];
    if (next === undefined || this.#outflow.paused || this.#answers.full) return undefined;
    if (next.kind === "push" && (this.#calls >= CALLS || this.#isBusy())) return undefined;
    this.#next++;
    if (this.#next === this.#incoming.length) {
      this.#incoming = [];
      this.#next = 0;
    }
    for (const id of next.needs) {
      const others = this.#needed.get(id)! - 1;
      if (others === 0) this.#needed.delete(id);
      else this.#needed.set(id, others);
    }
    return next;
  }

  #isBusy(): boolean {
    if (!this.#answers.busy) return false;
    this.#slow ??= this.#ports.timers.after(SOON, () => {
      this.#slow = undefined;
      this.#answers.expectNone();
      this.#hand();
    });
    return true;
  }

  #waitForRoom(): void {
    if (this.#answers.full) {
      this.#full ??= this.#ports.timers.after(PATIENCE, () => this.end("too_many"));
    } else {
      this.#full?.cancel();
      this.#full = undefined;
    }
  }

  #count(): void {
    this.#pushes--;
    this.#answers.begin();
    const { begun } = this.#answers;
    if (this.#asked.delete(begun)) this.#first.push(pull(begun));
    this.#calls++;
    if (this.#calls > 1) return;
    setImmediate(() => {
      this.#calls = 0;
      this.#hand();
    });
  }

  /** While the peer does not read: whether it has taken enough since there was so much. */
  #watch(before: number, looks: number): void {
    this.#stall = this.#ports.timers.after(LOOK, () => {
      const { pending } = this.#outflow;
      const took = pending + this.#limits.pause <= before;
      if (!took && (pending > this.#limits.end || looks === 1)) this.end("resync");
      else this.#watch(took ? pending : before, took ? LOOKS : looks - 1);
    });
  }

  #fail(error: KumikoError): void {
    if (this.#failed !== undefined) return;
    this.#failed = error;
    this.#incoming = [];
    this.#next = 0;
    this.#first = [];
    this.#stall?.cancel();
    this.#full?.cancel();
    this.#slow?.cancel();
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

function textOf(message: string | TextFrame): string {
  return typeof message === "string" ? message : message.text;
}

/** An answer to a call of the peer's. */
function isAnswer(message: unknown): message is [kind: string, id: number, value: unknown] {
  return Array.isArray(message) && (message[0] === "resolve" || message[0] === "reject");
}

function pull(id: number): Incoming {
  return { message: ["pull", id], kind: "pull", id, needs: [] };
}

function unknownCall(id: number): KumikoError {
  return new KumikoError("invalid_argument", `There was no call ${id}.`, { call: id });
}
