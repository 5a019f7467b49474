import { Worker } from "node:worker_threads";
import { KumikoError } from "../../base/errors.ts";
import { closedStore } from "../contract.ts";
import {
  errorOf,
  type FromWriter,
  type ToWriter,
  type WriteAnswer,
  type WriteRequest,
} from "./requests.ts";

interface Waiting {
  readonly resolve: (answer: WriteAnswer) => void;
  readonly reject: (error: KumikoError) => void;
}

/** The main thread's side of worker.ts. Keeps the process alive only while something waits for it. */
export class WriterThread implements AsyncDisposable {
  readonly #file: string;
  #worker: Worker | undefined;
  #scrubbing = false;
  readonly #waiting = new Map<number, Waiting>();
  readonly #exited = Promise.withResolvers<void>();
  #outbox: { number: number; request: WriteRequest }[] = [];
  #acknowledged = 0;
  #count = 0;
  #ended: KumikoError | undefined;
  #checkpoint: "beside" | "alone" | undefined;

  constructor(file: string) {
    this.#file = file;
  }

  /** Whether it may be writing, or has to be alone. While it only starts, for a checkpoint, nobody waits for it. */
  get busy(): boolean {
    return this.#waiting.size > 0 || this.#checkpoint === "alone" || this.#scrubbing;
  }

  /** It scrubs what is left to scrub as soon as it has opened the database, and is alone meanwhile. */
  scrub(): void {
    this.#scrubbing = true;
    this.#start();
  }

  #start(): Worker {
    if (this.#worker !== undefined) return this.#worker;
    // Beside this file, compiled or not.
    const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
    const script = new URL(`./worker.${extension}`, import.meta.url);
    // Options such as a test runner's loaders are not for this thread.
    const worker = new Worker(script, {
      execArgv: [],
      name: "kumiko-store",
      workerData: this.#file,
    });
    worker.on("message", (message: FromWriter) => this.#receive(message));
    worker.on("error", (error: unknown) => this.#lost(error));
    worker.on("exit", (code) => {
      this.#lost(new Error(`it ended with ${code}`));
      this.#exited.resolve();
    });
    worker.unref();
    this.#worker = worker;
    return worker;
  }

  /**
   * Moves the WAL into the database: first beside whoever writes, then what came meanwhile, alone. Only a WAL of which
   * nothing is left begins anew; otherwise it would grow for as long as somebody writes, and a file that grows takes
   * twice as long to fsync as one that is written over.
   */
  checkpoint(): void {
    if (this.#ended !== undefined || this.#checkpoint !== undefined) return;
    this.#start();
    this.#checkpoint = "beside";
    this.#send({ checkpoint: true });
  }

  #checkpointed(): void {
    this.#checkpoint = this.#checkpoint === "beside" ? "alone" : undefined;
    if (this.#checkpoint === "alone") this.#send({ checkpoint: true });
  }

  /**
   * Resolves after fsync. What is asked for in one turn of the event loop travels together, with the end of the
   * journal as others have acknowledged it.
   */
  ask(request: WriteRequest, acknowledged: number): Promise<WriteAnswer> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    this.#acknowledged = acknowledged;
    const { promise, resolve, reject } = Promise.withResolvers<WriteAnswer>();
    const number = (this.#count += 1);
    if (this.#waiting.size === 0) this.#start().ref();
    this.#waiting.set(number, { resolve, reject });
    this.#outbox.push({ number, request });
    if (this.#outbox.length === 1) queueMicrotask(() => this.#flush());
    return promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const worker = this.#worker;
    if (this.#ended === undefined) {
      this.#flush();
      this.#ended = closedStore();
    }
    if (worker === undefined) return;
    worker.ref();
    // Also one that could not open the database waits for it: without, this process would never end.
    this.#send({ close: true });
    // It ends by itself, when it has closed the database: ended by force inside SQLite, it would take the
    // process with it.
    await this.#exited.promise;
  }

  #flush(): void {
    if (this.#outbox.length === 0) return;
    this.#send({ requests: this.#outbox, acknowledged: this.#acknowledged });
    this.#outbox = [];
  }

  #send(message: ToWriter): void {
    this.#worker?.postMessage(message);
  }

  #receive(message: FromWriter): void {
    if ("failed" in message) this.#end(errorOf(message.failed));
    if ("ready" in message) this.#scrubbing = false;
    if ("checkpointed" in message) this.#checkpointed();
    if (!("results" in message)) return;
    for (const result of message.results) {
      const waiting = this.#waiting.get(result.number)!;
      this.#waiting.delete(result.number);
      if ("answer" in result) waiting.resolve(result.answer);
      else waiting.reject(errorOf(result.refusal));
    }
    if (this.#waiting.size === 0 && this.#ended === undefined) this.#worker?.unref();
  }

  /** The thread is gone: what it was doing may or may not be there. */
  #lost(error: unknown): void {
    const cause = error instanceof Error ? error.message : String(error);
    const lost = new KumikoError(
      "journal_unwritable",
      `The thread that writes the journal is gone (${cause}): open the store again. Whether the last writes are there is known then; a retry with the same call id is safe.`,
      { cause, outcome: "unknown", resumed: false },
    );
    this.#end(lost);
  }

  #end(error: KumikoError): void {
    this.#ended ??= error;
    this.#checkpoint = undefined;
    for (const waiting of this.#waiting.values()) waiting.reject(error);
    this.#waiting.clear();
  }
}
