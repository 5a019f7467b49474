/** Something that works on its own and can be ended at any moment, whatever it does. */
export interface PooledThread {
  /** True once it was ended or has died: it takes no more work. */
  readonly ended: boolean;
  end(): Promise<void>;
}

export interface ThreadPoolOptions<Thread> {
  start(): Thread;
  /** How many work at the same time. */
  readonly threads: number;
  /** How many of them work for one caller, so that nobody's work waits for one caller's alone. */
  readonly perCaller: number;
}

type Work<Thread, Result> = (thread: Thread, another: () => Thread) => Promise<Result>;

/**
 * Threads for work that may have to be ended by force. One stays when there is nothing to do. Of those who
 * wait, the caller with the fewest threads begins, and of equals the one whose turn is longest ago: however
 * much some callers ask for, another waits for one of their tasks to end, never for all of them.
 */
export class ThreadPool<Thread extends PooledThread> implements AsyncDisposable {
  readonly #options: ThreadPoolOptions<Thread>;
  readonly #working = new Map<string, number>();
  readonly #busy = new Set<Promise<unknown>>();
  #idle: Thread[] = [];
  /** By caller, whose turn is longest ago first; each caller's own in the order of coming. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #generation = 0;
  #total = 0;

  constructor(options: ThreadPoolOptions<Thread>) {
    this.#options = options;
  }

  /** Work whose thread was ended may go on with `another`, in the same place. */
  async run<Result>(caller: string, work: Work<Thread, Result>): Promise<Result> {
    if (this.#mayBegin(caller)) {
      this.#count(caller, 1);
    } else {
      const turn = Promise.withResolvers<void>();
      const line = this.#waiting.get(caller);
      if (line === undefined) this.#waiting.set(caller, [turn.resolve]);
      else line.push(turn.resolve);
      await turn.promise;
    }
    const done = this.#work(work);
    const settled = done.catch(() => undefined);
    this.#busy.add(settled);
    try {
      return await done;
    } finally {
      this.#busy.delete(settled);
      this.#count(caller, -1);
      this.#beginNext();
    }
  }

  /** Ends every thread, the busy ones when they have finished; later work begins on new ones. */
  async retire(): Promise<void> {
    this.#generation += 1;
    const idle = this.#idle;
    this.#idle = [];
    await Promise.all([...idle.map((thread) => thread.end()), ...this.#busy]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.retire();
  }

  async #work<Result>(work: Work<Thread, Result>): Promise<Result> {
    const generation = this.#generation;
    let thread = this.#idle.pop() ?? this.#options.start();
    const another = (): Thread => {
      if (!thread.ended) throw new Error("a thread is replaced only when it was ended");
      thread = this.#options.start();
      return thread;
    };
    try {
      return await work(thread, another);
    } finally {
      if (!thread.ended) {
        if (this.#idle.length > 0 || generation !== this.#generation) await thread.end();
        else this.#idle.push(thread);
      }
    }
  }

  #mayBegin(caller: string): boolean {
    const { threads, perCaller } = this.#options;
    return this.#total < threads && (this.#working.get(caller) ?? 0) < perCaller;
  }

  #beginNext(): void {
    const caller = this.#nextCaller();
    if (caller === undefined) return;
    const [begin, ...rest] = this.#waiting.get(caller)!;
    this.#waiting.delete(caller);
    if (rest.length > 0) this.#waiting.set(caller, rest);
    // Its place is taken before it begins, so that nobody who comes now gets it.
    this.#count(caller, 1);
    begin!();
  }

  #nextCaller(): string | undefined {
    let next: string | undefined;
    let fewest = Infinity;
    for (const caller of this.#waiting.keys()) {
      const threads = this.#working.get(caller) ?? 0;
      if (threads >= fewest || !this.#mayBegin(caller)) continue;
      next = caller;
      fewest = threads;
    }
    return next;
  }

  #count(caller: string, change: number): void {
    this.#total += change;
    const count = (this.#working.get(caller) ?? 0) + change;
    if (count === 0) this.#working.delete(caller);
    else this.#working.set(caller, count);
  }
}
