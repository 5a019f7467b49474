import type { Readable, Writable } from "node:stream";
import {
  type JSONRPCMessage,
  parseJSONRPCMessage,
  type RequestId,
  type Transport,
} from "@modelcontextprotocol/server";
import { LineReader } from "../../base/index.ts";
import { JsonWriter } from "./json-bytes.ts";

/** As much as a request over HTTP may have, and some air. */
const LONGEST_LINE = 8 * 1024 * 1024;

interface WirePorts {
  readonly input: Readable;
  readonly output: Writable;
  /** Told once, when nothing more will come or go. */
  closed(): void;
  /** Sees each object before anyone has checked it; one that it answers goes no further. */
  heard(message: JSONRPCMessage): Promise<JSONRPCMessage | undefined> | undefined;
}

/**
 * Messages as lines. Who closes its end still gets the answers to what it asked before; only then the wire is
 * closed. Nothing but messages is ever written.
 */
export class StdioWire implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #ports: WirePorts;
  readonly #lines = new LineReader(LONGEST_LINE);
  readonly #writer = new JsonWriter();
  readonly #unanswered = new Set<RequestId>();
  readonly #answering = new Set<Promise<void>>();
  #ended = false;
  #closed = false;

  constructor(ports: WirePorts) {
    this.#ports = ports;
  }

  start(): Promise<void> {
    const { input, output } = this.#ports;
    input.on("data", this.#read);
    input.on("end", this.#end);
    input.on("close", this.#end);
    input.on("error", this.#fail);
    output.on("error", this.#fail);
    if (input.readableEnded || input.destroyed) setImmediate(this.#end);
    return Promise.resolve();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#closed) return;
    const { output } = this.#ports;
    const { id, method } = message as { id?: RequestId; method?: string };
    if (id !== undefined && method === undefined) this.#unanswered.delete(id);
    if (!output.write(this.#writer.line(message))) await drained(output);
    this.#closeWhenDone();
  }

  close(): Promise<void> {
    if (this.#closed) return Promise.resolve();
    this.#closed = true;
    const { input, output } = this.#ports;
    input.off("data", this.#read);
    input.off("end", this.#end);
    input.off("close", this.#end);
    input.off("error", this.#fail);
    output.off("error", this.#fail);
    // What is written after the peer is gone fails, and nobody minds any more.
    output.on("error", () => undefined);
    input.destroy();
    this.onclose?.();
    this.#ports.closed();
    return Promise.resolve();
  }

  readonly #read = (chunk: Buffer): void => {
    try {
      for (const line of this.#lines.read(chunk)) this.#hear(line);
    } catch (error) {
      this.#fail(error as Error);
    }
  };

  readonly #end = (): void => {
    this.#ended = true;
    this.#closeWhenDone();
  };

  readonly #fail = (error: Error): void => {
    this.onerror?.(error);
    void this.close();
  };

  #hear(line: string): void {
    if (line.trim() === "") return;
    let message: JSONRPCMessage;
    try {
      message = JSON.parse(line) as JSONRPCMessage;
    } catch {
      void this.#refuse(-32_700, "This line is not JSON.");
      return;
    }
    const answering = isRecord(message) ? this.#ports.heard(message) : undefined;
    if (answering === undefined) {
      this.#pass(message);
      return;
    }
    const done = this.#answer(message, answering);
    this.#answering.add(done);
    void done.finally(() => {
      this.#answering.delete(done);
      this.#closeWhenDone();
    });
  }

  #pass(unchecked: unknown): void {
    let message: JSONRPCMessage;
    try {
      message = parseJSONRPCMessage(unchecked);
    } catch {
      void this.#refuse(-32_600, "This line is not a JSON-RPC message.", idOf(unchecked));
      return;
    }
    const { id, method } = message as { id?: RequestId; method?: string };
    // What listens is answered when it ends, and it does not end by itself.
    if (id !== undefined && method !== undefined && method !== "subscriptions/listen")
      this.#unanswered.add(id);
    this.onmessage?.(message);
  }

  #refuse(code: number, message: string, id?: RequestId): Promise<void> {
    return this.send({ jsonrpc: "2.0", ...(id !== undefined && { id }), error: { code, message } });
  }

  async #answer(
    message: JSONRPCMessage,
    answering: Promise<JSONRPCMessage | undefined>,
  ): Promise<void> {
    try {
      const answer = await answering;
      if (answer !== undefined) await this.send(answer);
      else this.#pass(message);
    } catch (error) {
      this.#fail(error as Error);
    }
  }

  #closeWhenDone(): void {
    if (this.#ended && this.#unanswered.size === 0 && this.#answering.size === 0) void this.close();
  }
}

async function drained(output: Writable): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  output.once("drain", resolve);
  output.once("close", resolve);
  output.once("error", resolve);
  await promise;
  output.off("drain", resolve);
  output.off("close", resolve);
  output.off("error", resolve);
}

function isRecord(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whoever waits for an answer is told, whatever else is wrong with the message. */
function idOf(message: unknown): RequestId | undefined {
  const id = isRecord(message) ? (message as { id?: unknown }).id : undefined;
  return typeof id === "string" || typeof id === "number" ? id : undefined;
}
