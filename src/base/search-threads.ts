import type { Timers } from "./clock.ts";
import { LOOKS_PER_SLICE, ScanWatch } from "./search/scan-watch.ts";
import type { SearchPart } from "./search/watched-scan.ts";
import { ThreadPool } from "./thread-pool.ts";
import type { WorkerThread } from "./worker-thread.ts";

const THREADS = 4;
const THREADS_PER_CALLER = 2;
/** A search that was too slow in so many texts looks at no more. */
const MOST_SLOW = 4;

/** Whose search it is and how long it may take. */
export interface SearchCall {
  readonly caller: string;
  readonly milliseconds: number;
  readonly signal: AbortSignal | undefined;
}

export interface PartedSearch<Done> {
  /** How long it may take in one text. */
  readonly slice: number;
  /** The texts that were given up, in order; those that a thread gives up by itself are added by `receive`. */
  readonly slow: string[];
  task(part: SearchPart): unknown;
  receive(message: unknown, thread: WorkerThread): Done | undefined;
}

/**
 * The threads on which other people's patterns run. A pattern that does not come back from a text costs its
 * caller that text: the thread is ended, and another one goes on behind it. Owns its threads.
 */
export class SearchThreads implements AsyncDisposable {
  readonly #timers: Timers;
  readonly #pool: ThreadPool<WorkerThread>;

  constructor(timers: Timers, start: () => WorkerThread) {
    this.#timers = timers;
    this.#pool = new ThreadPool({ threads: THREADS, perCaller: THREADS_PER_CALLER, start });
  }

  /** One task on one thread; undefined when time was up. */
  run<Result>(
    { caller, milliseconds, signal }: SearchCall,
    task: unknown,
    receive: (message: unknown) => Result | undefined,
  ): Promise<Result | undefined> {
    const talk = { milliseconds, signal, timers: this.#timers, receive };
    return this.#pool.run(caller, (thread) => thread.converse(task, talk));
  }

  /** Part by part, until one comes to an end; undefined when time was up or too many texts were slow. */
  search<Done>(call: SearchCall, search: PartedSearch<Done>): Promise<Done | undefined> {
    const { slice, slow } = search;
    const every = slice / LOOKS_PER_SLICE;
    return this.#pool.run(call.caller, async (first, another) => {
      let left = call.milliseconds;
      let behind: string | undefined;
      for (let thread = first; ; thread = another()) {
        const watch = new ScanWatch();
        let stuck: string | undefined;
        const mayBeSlow = MOST_SLOW - slow.length;
        const part = { milliseconds: left, slice, mayBeSlow, behind, watch: watch.shared };
        const done = await thread.converse(search.task(part), {
          milliseconds: left,
          signal: call.signal,
          timers: this.#timers,
          receive: (message) => search.receive(message, thread),
          every,
          isStuck: () => {
            left -= every;
            stuck = watch.look();
            return stuck !== undefined;
          },
        });
        if (stuck === undefined) return done;
        slow.push(stuck);
        behind = stuck;
        if (left <= 0 || slow.length >= MOST_SLOW) return undefined;
      }
    });
  }

  /** Ends every thread, the busy ones when they have finished; later work begins on new ones. */
  retire(): Promise<void> {
    return this.#pool.retire();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool[Symbol.asyncDispose]();
  }
}
