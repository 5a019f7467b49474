import type { RpcTransportWithCustomEncoding } from "capnweb";
import { KumikoError } from "../base/index.ts";
import { Channels } from "./channels.ts";
import type { SocketLike } from "./socket.ts";

/** Releases that wait for something to go with. */
const LATER = 64;
/** Characters that came since we last sent something: the server may be waiting for the release of what it holds. */
const LATER_CHARACTERS = 256 * 1024;

/** Why a connection ended. */
export interface Closed {
  readonly code: number;
  readonly reason: string;
}

/**
 * capnweb's messages on an open WebSocket. All that are sent in one turn go as one frame, with newlines between
 * them, and the first frame has nothing else: it tells the server that we take frames of this kind.
 */
export class Transport implements RpcTransportWithCustomEncoding {
  readonly encodingLevel = "jsonCompatible";
  /** What every call fails with when the connection is gone: by its identity it is told from answers. */
  readonly broken = new KumikoError("offline", "The connection was lost.", {});
  /** What subscriptions tell, between the library's messages. */
  readonly channels = new Channels((text) => {
    if (!this.#failed) this.#sendText(text);
  });
  readonly #socket: SocketLike;
  readonly #closed = Promise.withResolvers<Closed>();
  #incoming: unknown[] = [];
  #next = 0;
  #waiting: PromiseWithResolvers<unknown> | undefined;
  #outgoing: string[] = [];
  #flushing = false;
  #failed = false;
  #frames = 0;
  #characters = 0;

  constructor(socket: SocketLike) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => this.#take(data));
    socket.addEventListener("close", ({ code, reason }) => this.#fail({ code, reason }));
    socket.send("\n");
  }

  get closed(): Promise<Closed> {
    return this.#closed.promise;
  }

  get isClosed(): boolean {
    return this.#failed;
  }

  /** Frames that came: whether the server is still there. */
  get frames(): number {
    return this.#frames;
  }

  send(message: unknown): void {
    if (this.#failed) throw this.broken;
    const canWait = this.#outgoing.length < LATER && this.#characters < LATER_CHARACTERS;
    if (canWait && isRelease(message)) this.#outgoing.push(JSON.stringify(message));
    else this.#sendText(JSON.stringify(message));
  }

  receive(): Promise<unknown> {
    if (this.#next < this.#incoming.length) {
      const message = this.#incoming[this.#next];
      this.#next++;
      if (this.#next === this.#incoming.length) {
        this.#incoming = [];
        this.#next = 0;
      }
      return Promise.resolve(message);
    }
    if (this.#failed) return Promise.reject(this.broken);
    this.#waiting = Promise.withResolvers<unknown>();
    return this.#waiting.promise;
  }

  /** Also what is not understood ends the connection: the next one may go better. */
  abort(): void {
    this.close();
  }

  close(): void {
    if (this.#failed) return;
    this.#flush();
    this.#socket.close(1000, "done");
    this.#fail({ code: 1000, reason: "done" });
  }

  #sendText(text: string): void {
    if (!this.#flushing) {
      this.#flushing = true;
      queueMicrotask(() => this.#flush());
    }
    this.#outgoing.push(text);
  }

  #flush(): void {
    this.#flushing = false;
    const messages = this.#outgoing;
    this.#outgoing = [];
    this.#characters = 0;
    if (messages.length > 0 && !this.#failed) this.#socket.send(messages.join("\n"));
  }

  #take(data: unknown): void {
    if (this.#failed || typeof data !== "string") return;
    this.#frames++;
    this.#characters += data.length;
    let messages: unknown[];
    try {
      messages = data.split("\n").map((text): unknown => JSON.parse(text));
    } catch {
      this.close();
      return;
    }
    for (const message of messages) {
      if (!Array.isArray(message)) {
        this.channels.take(message, data.length);
        continue;
      }
      const waiting = this.#waiting;
      this.#waiting = undefined;
      if (waiting === undefined) this.#incoming.push(message);
      else waiting.resolve(message);
    }
  }

  #fail(closed: Closed): void {
    if (this.#failed) return;
    this.#failed = true;
    this.#incoming = [];
    this.#next = 0;
    this.#waiting?.reject(this.broken);
    this.#closed.resolve(closed);
  }
}

/**
 * The release of an answer (of a capability it would have a negative number) only makes room on the other side: it
 * can wait for whatever is sent next.
 */
function isRelease(message: unknown): boolean {
  return Array.isArray(message) && message[0] === "release" && Number(message[1]) > 0;
}
