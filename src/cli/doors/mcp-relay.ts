import type { IncomingMessage } from "node:http";
import { randomUUID } from "node:crypto";
import type { Readable, Writable } from "node:stream";
import { setTimeout as later } from "node:timers/promises";
import { isSilent } from "../../app/running.ts";
import { KumikoError, LineReader } from "../../base/index.ts";
import { eventsOf } from "./event-stream.ts";
import {
  asAnswer,
  asRefusal,
  callOf,
  clientOf,
  headersOf,
  type Message,
  type Session,
  sessionHeaders,
  withCall,
} from "./relayed-message.ts";
import {
  isGivenUp,
  isLost,
  isStopping,
  RelayRequests,
  type RequestPorts,
  textOf,
} from "./relay-requests.ts";

interface RelayPorts extends RequestPorts {
  readonly input: Readable;
  readonly output: Writable;
  readonly signal: AbortSignal;
  actorOf(client: string): string;
  /** Throws when the server does not say a word. */
  answers(): Promise<void>;
  /** Whether nobody will start a server that is gone again: then it is not waited for until there is something to send. */
  isLeftToUs(): Promise<boolean>;
  failed(error: unknown): void;
  /** Milliseconds before whoever broke off, or is stopping, is asked again. */
  readonly retry?: number | undefined;
  /** Milliseconds after which whoever has not answered is asked whether it is there. */
  readonly patience?: number | undefined;
}

const RETRY = 1_000;
const PATIENCE = 5_000;
const TRIES = 3;
/** As much as a request may have, and some air. */
const LONGEST_LINE = 8 * 1024 * 1024;

/**
 * Lines on one side, requests to the server's `/mcp` on the other. It understands no more of the protocol than how
 * the two carry it. A server that went away is found again, the session begun anew and the call made again; each
 * call has an id of ours, so that one that was answered is not made twice.
 */
export class McpRelay {
  readonly #ports: RelayPorts;
  readonly #requests: RelayRequests;
  readonly #stopping = new AbortController();
  /** Requests under way, by their id: what 2026-07-28 cancels by hanging up. */
  readonly #open = new Map<string | number, AbortController>();
  /** Those of them that the client has given up: they need no answer. */
  readonly #givenUp = new Set<string | number>();
  /** Calls under way, by the ids of ours. */
  readonly #callsUnderWay = new Set<string>();
  readonly #subscribed = new Set<string>();
  readonly #calls = randomUUID();
  #called = 0;
  #initialize: Message | undefined;
  #session: Session | undefined;
  #reopening: Promise<void> | undefined;
  /** What must have been answered before anything else goes. */
  #opening: Promise<void> = Promise.resolve();

  constructor(ports: RelayPorts) {
    this.#ports = ports;
    this.#requests = new RelayRequests(ports);
  }

  readonly #newCall = (): string => {
    this.#called += 1;
    return `${this.#calls}-${this.#called}`;
  };

  readonly #failed = (error: unknown): void => this.#ports.failed(error);

  async run(): Promise<void> {
    const { input, signal } = this.#ports;
    const stop = (): void => void input.destroy();
    signal.addEventListener("abort", stop, { once: true });
    const underWay = new Set<Promise<void>>();
    try {
      const lines = new LineReader(LONGEST_LINE);
      for await (const chunk of input as AsyncIterable<Buffer>) {
        for (const line of lines.read(chunk)) {
          if (line.trim() === "") continue;
          const task = this.#forward(line).catch(this.#failed);
          underWay.add(task);
          void task.finally(() => underWay.delete(task));
        }
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      signal.removeEventListener("abort", stop);
      if (!signal.aborted) await Promise.all(underWay);
      await this.#leave();
      this.#stopping.abort();
      this.#requests[Symbol.dispose]();
    }
  }

  async #forward(line: string): Promise<void> {
    let message: Message;
    try {
      message = JSON.parse(line) as Message;
    } catch {
      await this.#write({
        jsonrpc: "2.0",
        id: null,
        error: { code: -32_700, message: "This line is not JSON." },
      });
      return;
    }
    if (typeof message !== "object" || message === null || Array.isArray(message)) {
      const error = { code: -32_600, message: "This line is not one message." };
      await this.#write({ jsonrpc: "2.0", id: null, error });
      return;
    }
    const before = this.#opening;
    if (message.method === "initialize") {
      const opened = Promise.withResolvers<void>();
      this.#opening = opened.promise;
      await before;
      this.#initialize = message;
      await this.#deliver(message).finally(opened.resolve);
      return;
    }
    await before;
    if (message.method === "notifications/cancelled") {
      const id = message.params?.["requestId"] as string | number;
      const open = this.#open.get(id);
      if (open !== undefined) this.#givenUp.add(id);
      if (this.#session === undefined) return open?.abort();
    }
    this.#remember(message);
    const delivered = this.#deliverOnce(message);
    // It ends when somebody ends it: nobody waits for that.
    if (message.method === "subscriptions/listen") return void delivered.catch(this.#failed);
    await delivered;
    if (message.method === "notifications/initialized") void this.#listen();
  }

  async #deliverOnce(message: Message): Promise<void> {
    const sent = withCall(message, this.#newCall, this.#callsUnderWay);
    const call = callOf(sent);
    if (call !== undefined) this.#callsUnderWay.add(call);
    try {
      await this.#deliver(sent);
    } finally {
      if (call !== undefined) this.#callsUnderWay.delete(call);
    }
  }

  /** Sends a message and writes what comes back; a refusal of the way there is an answer too. */
  async #deliver(message: Message): Promise<void> {
    for (let tries = 1; ; tries++) {
      await this.#reopening?.catch(() => undefined);
      const session = this.#session;
      try {
        if (await this.#post(message, tries)) return;
      } catch (error) {
        if (this.#stopping.signal.aborted || isGivenUp(error)) return;
        this.#requests.lookAgain();
        if (isStopping(error) && tries < TRIES) await this.#later();
        if (!isLost(error) || tries >= TRIES) {
          await this.#refuse(message, error);
          return;
        }
      }
      // A server that is not found again is found missing by the next try.
      await this.#again(session).catch(this.#failed);
    }
  }

  /** False when the server does not know the session or the token any more. */
  async #post(message: Message, tries: number): Promise<boolean> {
    const { id, method } = message;
    const stopping = new AbortController();
    const waits = id !== undefined && method !== undefined;
    if (waits) this.#open.set(id, stopping);
    // What is listened to goes on when the server does.
    using _ = method === "subscriptions/listen" ? undefined : this.#attend(stopping);
    try {
      const response = await this.#requests.send(
        "POST",
        this.#headersFor(message),
        message,
        stopping.signal,
      );
      if (response.statusCode === 404 && this.#session !== undefined) {
        response.resume();
        return false;
      }
      // The owner's token was revoked: there may be a new one.
      if (response.statusCode === 401 && tries === 1) {
        response.resume();
        this.#requests.lookAgain();
        return false;
      }
      if (method === "initialize") await this.#begun(message, response);
      else await this.#relay(response, message);
      return true;
    } catch (error) {
      const { reason } = stopping.signal as { reason: unknown };
      throw reason instanceof KumikoError ? reason : error;
    } finally {
      if (waits) {
        this.#open.delete(id);
        this.#givenUp.delete(id);
      }
    }
  }

  /** An answer may be long in coming. From a server whose process was stopped, it would be waited for without an end. */
  #attend(stopping: AbortController): Disposable {
    const timer = setInterval(() => {
      this.#ports.answers().catch((error: unknown) => {
        if (error instanceof KumikoError && isSilent(error)) stopping.abort(unfinished(error));
      });
    }, this.#ports.patience ?? PATIENCE);
    return { [Symbol.dispose]: () => clearInterval(timer) };
  }

  async #begun(message: Message, response: IncomingMessage): Promise<void> {
    const id = response.headers["mcp-session-id"];
    const answer = await this.#relay(response, message);
    const { protocolVersion } = (answer?.["result"] ?? {}) as { protocolVersion?: unknown };
    if (typeof id === "string" && typeof protocolVersion === "string")
      this.#session = { id, version: protocolVersion };
  }

  async #again(lost: Session | undefined): Promise<void> {
    if (lost !== undefined && this.#session === lost && this.#reopening === undefined) {
      this.#session = undefined;
      this.#reopening = this.#reopen().catch((error: unknown) => {
        // Whoever comes next finds it lost as well, and tries again.
        this.#session = lost;
        throw error;
      });
      this.#reopening.finally(() => (this.#reopening = undefined)).catch(() => undefined);
    }
    await this.#reopening;
  }

  /** Begins the session anew, with what the client said when it began, and what it listens to. */
  async #reopen(): Promise<void> {
    const initialize = this.#initialize!;
    const response = await this.#requests.send("POST", this.#headersFor(initialize), initialize);
    const id = response.headers["mcp-session-id"];
    for await (const { data } of eventsOf(response)) {
      if (data === "") continue;
      const { result } = JSON.parse(data) as { result?: { protocolVersion?: string } };
      if (typeof id === "string" && result?.protocolVersion !== undefined)
        this.#session = { id, version: result.protocolVersion };
    }
    if (this.#session === undefined)
      throw new KumikoError("unreachable", "The server does not begin a session again.", {});
    const quietly = async (each: Message): Promise<void> =>
      void (
        await this.#requests.send("POST", this.#headersFor(each), { jsonrpc: "2.0", ...each })
      ).resume();
    await quietly({ method: "notifications/initialized" });
    for (const uri of this.#subscribed) {
      await quietly({ id: randomUUID(), method: "resources/subscribe", params: { uri } });
      // Of what changed meanwhile nobody has told it.
      const method = "notifications/resources/updated";
      await this.#write({ jsonrpc: "2.0", method, params: { uri } });
    }
    void this.#listen();
  }

  /** What the server says unasked, for as long as the session lasts. */
  async #listen(): Promise<void> {
    const session = this.#session;
    if (session === undefined) return;
    let last: string | undefined;
    while (this.#session === session && !this.#stopping.signal.aborted) {
      try {
        const headers = {
          accept: "text/event-stream",
          ...sessionHeaders(session),
          ...(last !== undefined && { "last-event-id": last }),
        };
        const response = await this.#requests.send(
          "GET",
          headers,
          undefined,
          this.#stopping.signal,
        );
        if (response.statusCode !== 200) {
          response.resume();
          // Another server, which does not know the session.
          if (response.statusCode === 404) await this.#again(session).catch(this.#failed);
          return;
        }
        for await (const { id, data } of eventsOf(response)) {
          last = id ?? last;
          if (data !== "") await this.#writeLine(data);
        }
      } catch (error) {
        if (this.#stopping.signal.aborted || !isLost(error)) return;
        if (await this.#ports.isLeftToUs()) this.#requests.lookAgain();
      }
      await this.#later();
    }
  }

  /** Or as soon as this stops. */
  async #later(): Promise<void> {
    const { signal } = this.#stopping;
    await later(this.#ports.retry ?? RETRY, undefined, { signal }).catch(() => undefined);
  }

  /** Writes everything that a response holds; gives the last of it. A question that it leaves open is lost. */
  async #relay(
    response: IncomingMessage,
    message: Message,
  ): Promise<{ readonly [name: string]: unknown } | undefined> {
    const type = response.headers["content-type"] ?? "";
    let last: { readonly [name: string]: unknown } | undefined;
    if (type.startsWith("text/event-stream")) {
      let answered = false;
      for await (const { data } of eventsOf(response)) {
        if (data === "") continue;
        last = JSON.parse(data) as { readonly [name: string]: unknown };
        answered ||= last["id"] === message.id && last["method"] === undefined;
        await this.#writeLine(data);
      }
      if (!answered) this.#unanswered(message, response);
      return last;
    }
    const body = await textOf(response);
    if (body === "") return this.#unanswered(message, response);
    // Plain answers pass as they are: nothing of them has to be read.
    if (response.statusCode === 200 && message.method !== "initialize") {
      await this.#writeLine(body);
      return undefined;
    }
    const answer = parsed(body);
    if (answer === undefined || response.statusCode === 503)
      return this.#unanswered(message, response);
    if (message.id === undefined) return undefined;
    await this.#write(
      "jsonrpc" in answer
        ? { ...answer, id: answer["id"] ?? message.id }
        : asAnswer(message.id, answer),
    );
    return answer;
  }

  #unanswered({ id, method }: Message, { statusCode = 0 }: IncomingMessage): undefined {
    if (id === undefined || method === undefined || this.#givenUp.has(id)) return undefined;
    throw statusCode === 503
      ? new KumikoError("closing", "The server is stopping. Try again in a moment.", {})
      : new KumikoError(
          "unreachable",
          `The server did not answer this ${method} (its status was ${statusCode}). Try again.`,
          { method, status: statusCode },
        );
  }

  #headersFor(message: Message): { [name: string]: string } {
    const client = clientOf(message);
    if (client !== undefined) this.#requests.actor = this.#ports.actorOf(client);
    return headersOf(message, this.#session);
  }

  #remember({ method, params }: Message): void {
    const uri = params?.["uri"];
    if (typeof uri !== "string") return;
    if (method === "resources/subscribe") this.#subscribed.add(uri);
    if (method === "resources/unsubscribe") this.#subscribed.delete(uri);
  }

  async #refuse({ id }: Message, error: unknown): Promise<void> {
    this.#ports.failed(error);
    if (id === undefined) return;
    await this.#write(asRefusal(id, error));
  }

  /** The server need not wait until the session expires. */
  async #leave(): Promise<void> {
    const session = this.#session;
    if (session === undefined) return;
    this.#session = undefined;
    await this.#requests
      .send("DELETE", sessionHeaders(session), undefined, AbortSignal.timeout(RETRY))
      .then(
        (response) => response.resume(),
        () => undefined,
      );
  }

  #write(message: unknown): Promise<void> {
    return this.#writeLine(JSON.stringify(message));
  }

  async #writeLine(line: string): Promise<void> {
    const { output } = this.#ports;
    if (output.write(`${line}\n`)) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    output.once("drain", resolve);
    output.once("close", resolve);
    await promise;
    output.off("drain", resolve);
    output.off("close", resolve);
  }
}

function unfinished({ code, message, facts, cause }: KumikoError): KumikoError {
  const sentence = `${message} (What was asked for may still be done when it goes on.)`;
  return new KumikoError(code, sentence, facts, { cause });
}

function parsed(body: string): { readonly [name: string]: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === "object" && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
