import type { Timers } from "./clock.ts";
import { KumikoError } from "./errors.ts";
import type { PooledThread } from "./thread-pool.ts";

/** What is used of a worker of Node's. */
export interface WorkerLike {
  postMessage(message: unknown): void;
  on(event: "message" | "error" | "exit", listener: (value: unknown) => void): unknown;
  terminate(): Promise<unknown>;
  ref(): void;
  unref(): void;
}

/** A worker that does not answer in time is given this much longer to say what it has. */
const GRACE = 250;

/** Deadlines of threads are in real time: a thread does not see an injected clock. */
export const realTimers: Timers = {
  after(milliseconds, run) {
    const timer = setTimeout(run, milliseconds);
    return { cancel: () => clearTimeout(timer) };
  },
};

export interface Conversation<Result> {
  /** How long the worker may take; it is ended by force soon after. */
  readonly milliseconds: number;
  readonly timers: Timers;
  readonly signal?: AbortSignal | undefined;
  /** Told of each message; the conversation is over when it gives a result. */
  receive(message: unknown): Result | undefined;
  /** Asked every so many milliseconds; true means that time is up now. What the worker says then is not heard. */
  isStuck?(): boolean;
  readonly every?: number | undefined;
}

/**
 * The near side of a worker that does one task at a time and may never come back from it. The worker says
 * `{ ready: true }` when it can begin.
 */
export class WorkerThread implements PooledThread {
  readonly #worker: WorkerLike;
  readonly #ready = Promise.withResolvers<void>();
  #receive: (message: unknown) => void = () => undefined;
  #fail: (error: KumikoError) => void = () => undefined;
  #ended = false;
  readonly #beforeEnd: () => Promise<void>;

  /** `beforeEnd` is awaited before the thread is ended by force. */
  constructor(worker: WorkerLike, beforeEnd: () => Promise<void> = () => Promise.resolve()) {
    this.#worker = worker;
    this.#beforeEnd = beforeEnd;
    this.#ready.promise.catch(() => undefined);
    worker.on("message", (message) => {
      if (typeof message === "object" && message !== null && "ready" in message) {
        this.#ready.resolve();
      } else {
        this.#receive(message);
      }
    });
    worker.on("error", (error) => this.#lost(error instanceof Error ? error.message : error));
    worker.on("exit", (code) => this.#lost(`it ended with ${String(code)}`));
    worker.unref();
  }

  get ended(): boolean {
    return this.#ended;
  }

  post(message: unknown): void {
    this.#worker.postMessage(message);
  }

  /** Hands a task over. When time is up the thread is ended and the answer is undefined. */
  async converse<Result>(task: unknown, talk: Conversation<Result>): Promise<Result | undefined> {
    const over = Promise.withResolvers<Result | undefined>();
    // It may be decided when nobody waits for it any more.
    over.promise.catch(() => undefined);
    this.#fail = over.reject;
    this.#receive = (message) => {
      try {
        const result = talk.receive(message);
        if (result !== undefined) over.resolve(result);
      } catch (error) {
        over.reject(error);
      }
    };
    const abort = () => over.reject(aborted());
    talk.signal?.addEventListener("abort", abort);
    let timer: { cancel(): void } | undefined;
    let looking: { cancel(): void } | undefined;
    const giveUp = (): void => {
      timer?.cancel();
      looking?.cancel();
      this.#receive = () => undefined;
      over.resolve(undefined);
    };
    const lookLater = (every: number): void => {
      looking = talk.timers.after(every, () => {
        if (talk.isStuck?.() === true) giveUp();
        else lookLater(every);
      });
    };
    this.#worker.ref();
    try {
      if (talk.signal?.aborted === true) throw aborted();
      await Promise.race([this.#ready.promise, over.promise]);
      timer = talk.timers.after(talk.milliseconds + GRACE, giveUp);
      if (talk.every !== undefined) lookLater(talk.every);
      this.post(task);
      const result = await over.promise;
      if (result === undefined) await this.end();
      return result;
    } catch (error) {
      await this.end();
      throw error;
    } finally {
      timer?.cancel();
      looking?.cancel();
      talk.signal?.removeEventListener("abort", abort);
      this.#receive = () => undefined;
      this.#fail = () => undefined;
      if (!this.#ended) this.#worker.unref();
    }
  }

  async end(): Promise<void> {
    this.#ended = true;
    await this.#beforeEnd();
    await this.#worker.terminate();
  }

  #lost(why: unknown): void {
    this.#ended = true;
    const error = new KumikoError(
      "search_failed",
      `The thread that searched is gone (${String(why)}). Nothing else is affected; try a narrower search.`,
      { why: String(why) },
    );
    this.#ready.reject(error);
    this.#fail(error);
  }
}

function aborted(): KumikoError {
  return new KumikoError("aborted", "The caller gave up; the search was ended.");
}
