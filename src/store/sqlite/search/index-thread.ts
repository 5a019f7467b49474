import { Worker } from "node:worker_threads";
import type { FromIndexer, ToIndexer } from "./search-messages.ts";

interface IndexEvents {
  /** What was there could not be used: another one is being built in its place. */
  dropped(why: string): void;
  /** It cannot go on. */
  failed(why: string): void;
}

/** The near side of indexer.ts. Keeps the process alive only while somebody waits for it. */
export class IndexThread implements AsyncDisposable {
  readonly #worker: Worker;
  readonly #events: IndexEvents;
  readonly #waiting = new Map<number, () => void>();
  readonly #exited = Promise.withResolvers<void>();
  #count = 0;
  ended = false;

  constructor(file: string, events: IndexEvents) {
    const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
    const script = new URL(`./indexer.${extension}`, import.meta.url);
    this.#worker = new Worker(script, { workerData: { file }, execArgv: [], name: "kumiko-index" });
    this.#events = events;
    this.#worker.on("message", (message: FromIndexer) => this.#receive(message));
    this.#worker.on("error", (error: unknown) => this.#fail(String(error)));
    this.#worker.on("exit", () => {
      this.#end();
      this.#exited.resolve();
    });
    this.#worker.unref();
  }

  /** Resolves when it is done, or never will be: searches do without what is missing. */
  index(blocks: readonly string[] | undefined): Promise<void> {
    if (this.ended) return Promise.resolve();
    const number = (this.#count += 1);
    this.#post({ index: blocks, number });
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.set(number, resolve);
    return promise;
  }

  /** Whoever waits keeps the process alive. */
  async wait(done: Promise<void>): Promise<void> {
    if (!this.ended) this.#worker.ref();
    await done;
    if (!this.ended && this.#waiting.size === 0) this.#worker.unref();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // It stops between two batches: what is committed of them stays, the rest comes next time. Ended by
    // force inside SQLite, it would take the process with it.
    if (!this.ended) {
      this.#worker.ref();
      this.#post({ close: true });
    }
    await this.#exited.promise;
  }

  #post(message: ToIndexer): void {
    this.#worker.postMessage(message);
  }

  #receive(message: FromIndexer): void {
    if ("indexed" in message) {
      this.#waiting.get(message.indexed)?.();
      this.#waiting.delete(message.indexed);
    }
    if ("dropped" in message) this.#events.dropped(message.dropped);
    if ("failed" in message) this.#fail(message.failed);
  }

  #fail(why: string): void {
    if (!this.ended) this.#events.failed(why);
    this.#end();
  }

  #end(): void {
    this.ended = true;
    for (const resolve of this.#waiting.values()) resolve();
    this.#waiting.clear();
  }
}
