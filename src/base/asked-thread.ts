import type { Timers } from "./clock.ts";
import { type ErrorCode, type Facts, KumikoError } from "./errors.ts";
import type { WorkerLike } from "./worker-thread.ts";

type Asked = { readonly number: number; readonly question: unknown } | { readonly close: true };

type Answered =
  | { readonly number: number; readonly answer: unknown }
  | {
      readonly number: number;
      readonly refused: {
        readonly code: ErrorCode;
        readonly sentence: string;
        readonly facts: Facts;
      };
    };

interface Waiting {
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: KumikoError) => void;
}

interface Alive {
  readonly worker: WorkerLike;
  readonly exited: Promise<void>;
}

/**
 * The near side of a worker that answers questions, one after the other. It starts with the first one, keeps the
 * process alive only while somebody waits, and ends when nobody has asked for a while. One that dies fails what it was
 * asked; the next question starts another.
 */
export class AskedThread implements AsyncDisposable {
  readonly #start: () => WorkerLike;
  readonly #timers: Timers;
  readonly #patience: () => number;
  readonly #waiting = new Map<number, Waiting>();
  #alive: Alive | undefined;
  #idle: { cancel(): void } | undefined;
  readonly #ending = new Set<Promise<void>>();
  #count = 0;
  #closed = false;

  /** `patience`: milliseconds without a question after which the thread is given back, with the memory it takes. */
  constructor(start: () => WorkerLike, timers: Timers, patience: () => number) {
    this.#start = start;
    this.#timers = timers;
    this.#patience = patience;
  }

  /** Whoever asks knows what is answered. */
  ask<Answer>(question: unknown): Promise<Answer> {
    if (this.#closed) return Promise.reject(gone("it was closed"));
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const { worker } = (this.#alive ??= this.#begin());
    const number = (this.#count += 1);
    this.#idle?.cancel();
    if (this.#waiting.size === 0) worker.ref();
    this.#waiting.set(number, { resolve, reject });
    worker.postMessage({ number, question } satisfies Asked);
    return promise as Promise<Answer>;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    this.#idle?.cancel();
    if (this.#alive !== undefined) this.#end(this.#alive);
    await Promise.all(this.#ending);
  }

  /** It answers what it was asked, then ends by itself: ended by force inside native code, it would end the process. */
  #end({ worker, exited }: Alive): void {
    const ended = exited.then(() => void this.#ending.delete(ended));
    this.#ending.add(ended);
    worker.ref();
    worker.postMessage({ close: true } satisfies Asked);
  }

  #rest(): void {
    const alive = this.#alive;
    if (alive === undefined) return;
    // Whoever asks now starts another.
    this.#alive = undefined;
    this.#end(alive);
  }

  #begin(): Alive {
    const worker = this.#start();
    const exited = Promise.withResolvers<void>();
    worker.on("message", (message) => this.#receive(message as Answered));
    worker.on("error", (error) => this.#lost(worker, error));
    worker.on("exit", (code) => {
      this.#lost(worker, `it ended with ${String(code)}`);
      exited.resolve();
    });
    worker.unref();
    return { worker, exited: exited.promise };
  }

  #receive(message: Answered): void {
    const waiting = this.#waiting.get(message.number);
    this.#waiting.delete(message.number);
    if (this.#waiting.size === 0 && !this.#closed) {
      this.#alive?.worker.unref();
      this.#idle = this.#timers.after(this.#patience(), () => this.#rest());
    }
    if ("answer" in message) {
      waiting?.resolve(message.answer);
      return;
    }
    const { code, sentence, facts } = message.refused;
    waiting?.reject(new KumikoError(code, sentence, facts));
  }

  #lost(worker: WorkerLike, why: unknown): void {
    // Another one may be at work by the time it is gone.
    if (this.#alive?.worker !== worker) return;
    this.#alive = undefined;
    this.#idle?.cancel();
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of waiting) reject(gone(why));
  }
}

/** What is used of the port to the other side. */
interface PortLike {
  on(event: "message", listener: (message: Asked) => void): unknown;
  postMessage(message: Answered): void;
  close(): void;
}

/** The far side: answers in the order of the questions. What it throws is told to whoever asked. */
export function answerQuestions(
  port: PortLike,
  answer: (question: unknown) => unknown,
  close: () => void,
): void {
  const answerOne = async (asked: Asked): Promise<void> => {
    if ("close" in asked) {
      close();
      port.close();
      return;
    }
    const { number, question } = asked;
    try {
      port.postMessage({ number, answer: await answer(question) });
    } catch (error) {
      const { code, message, facts } = error instanceof KumikoError ? error : gone(error);
      port.postMessage({ number, refused: { code, sentence: message, facts } });
    }
  };
  let before = Promise.resolve();
  port.on("message", (asked) => {
    before = before.then(() => answerOne(asked));
  });
}

function gone(why: unknown): KumikoError {
  const reason = why instanceof Error ? why.message : String(why);
  return new KumikoError(
    "search_failed",
    `The thread that was asked could not answer (${reason}). Nothing else is affected; try again.`,
    { why: reason },
  );
}
