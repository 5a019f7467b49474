import { KumikoError } from "../../base/index.ts";
import type { Batch, CallRow, NewBlockRow, NewCommit, Store } from "../ports.ts";

/** Everything one Edit changed, applied in memory and waiting for the disk. */
export interface Pending {
  readonly commits: readonly NewCommit[];
  readonly rows: readonly NewBlockRow[];
  readonly call: CallRow | undefined;
  /** Runs as soon as it is durable, in the order of positions, before anyone is answered. */
  durable(positions: readonly number[]): void;
}

/**
 * Writes what is waiting, all of it at once, whenever the store is idle: under load many Edits share one
 * fsync, and without load nobody waits for company.
 *
 * When a write fails, everything in it fails, and everything that was applied on top of it.
 */
export class GroupWriter {
  readonly #store: Store;
  readonly #failed: () => void;
  #waiting: { pending: Pending; resolve: () => void; reject: (error: unknown) => void }[] = [];
  #running: Promise<void> | undefined;

  constructor(store: Store, failed: () => void) {
    this.#store = store;
    this.#failed = failed;
  }

  /** Resolves when it is on disk. */
  write(pending: Pending): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.push({ pending, resolve, reject });
    this.#running ??= this.#run();
    return promise;
  }

  /** Resolves when nothing is waiting any more. */
  async idle(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  async #run(): Promise<void> {
    // Whoever comes in the same moment shares the first write.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const group = this.#waiting;
      this.#waiting = [];
      try {
        const positions = await this.#commit(batchOf(group.map(({ pending }) => pending)));
        let from = 0;
        for (const { pending, resolve } of group) {
          const to = from + pending.commits.length;
          pending.durable(positions.slice(from, to));
          from = to;
          resolve();
        }
      } catch (error) {
        const lost = [...group, ...this.#waiting];
        this.#waiting = [];
        this.#failed();
        for (const { reject } of lost) reject(error);
      }
    }
    this.#running = undefined;
  }

  async #commit(batch: Batch): Promise<readonly number[]> {
    let why: string;
    try {
      const outcome = await this.#store.commit(batch);
      if (outcome.kind === "committed") return outcome.positions;
      why = `the store answered "${outcome.kind}"`;
    } catch (cause) {
      if (cause instanceof KumikoError && cause.code !== "journal_unwritable") throw cause;
      throw unwritable(cause instanceof Error ? cause.message : String(cause), cause);
    }
    throw unwritable(why, undefined);
  }
}

function unwritable(why: string, cause: unknown): KumikoError {
  return new KumikoError(
    "journal_unwritable",
    `The journal could not be written (${why}); nothing of this edit was kept. Reading goes on; try again when the cause is gone.`,
    { why },
    { cause },
  );
}

function batchOf(group: readonly Pending[]): Batch {
  return {
    commits: group.flatMap(({ commits }) => commits),
    rows: group.flatMap(({ rows }) => rows),
    calls: group.flatMap(({ call }) => (call === undefined ? [] : [call])),
  };
}
