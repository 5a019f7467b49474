import { KumikoError } from "../../base/index.ts";
import { isDamage, type Quarantine } from "../quarantine.ts";
import type { Batch, CallRow, NewBlockRow, NewCommit, Store } from "../ports.ts";

/** Everything one Edit changed, applied in memory and waiting for the disk. */
export interface Pending {
  readonly commits: readonly NewCommit[];
  readonly rows: readonly NewBlockRow[];
  readonly call: CallRow | undefined;
  /** Runs as soon as it is durable, in the order of positions, before anyone is answered. */
  durable(positions: readonly number[]): void;
}

export interface GroupWriterPorts {
  readonly store: Store;
  readonly quarantine: Quarantine;
  /** Every write is made only while this lease is held. */
  fence(): NonNullable<Batch["fence"]>;
  /** A write failed: memory must forget what is not on disk. */
  unwritten(): void;
}

/**
 * Writes what is waiting, all of it at once, whenever the store is idle: under load many Edits share one
 * fsync, and without load nobody waits for company.
 *
 * When a write fails, everything in it fails, and everything that was applied on top of it.
 */
export class GroupWriter {
  readonly #ports: GroupWriterPorts;
  #waiting: Waiting[] = [];
  #running: Promise<void> | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(ports: GroupWriterPorts) {
    this.#ports = ports;
  }

  /** Resolves when it is on disk. */
  write(pending: Pending): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.push({ pending, resolve, reject });
    this.#running ??= this.#run();
    this.#last = promise.catch(() => undefined);
    return promise;
  }

  /** Resolves when all that was handed over before is on disk or has failed. */
  async decided(): Promise<void> {
    await this.#last;
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
        await this.#writeGroup(group);
      } catch (error) {
        if (isDamage(error)) {
          await this.#writeApart(group);
          continue;
        }
        const lost = [...group, ...this.#waiting];
        this.#waiting = [];
        this.#ports.unwritten();
        for (const { reject } of lost) reject(error);
      }
    }
    this.#running = undefined;
  }

  async #writeGroup(group: readonly Waiting[]): Promise<void> {
    const positions = await this.#commit({
      ...batchOf(group.map(({ pending }) => pending)),
      fence: this.#ports.fence(),
    });
    let from = 0;
    for (const { pending, resolve } of group) {
      const to = from + pending.commits.length;
      pending.durable(positions.slice(from, to));
      from = to;
      resolve();
    }
  }

  /**
   * One block of the group is damaged at rest: its Edits fail, and those that were built on them; nobody
   * else's do.
   */
  async #writeApart(group: readonly Waiting[]): Promise<void> {
    const lost = new Map<string, unknown>();
    const built = ({ pending }: Waiting): unknown =>
      lost.get(pending.commits.find(({ block }) => lost.has(block))?.block ?? "");
    const lose = ({ pending, reject }: Waiting, error: unknown): void => {
      for (const { block } of pending.commits) lost.set(block, error);
      this.#ports.unwritten();
      reject(error);
    };
    for (const each of group) {
      const reason = built(each);
      try {
        if (reason !== undefined) throw reason;
        await this.#writeGroup([each]);
      } catch (error) {
        lose(each, isDamage(error) ? this.#damaged(each.pending, error) : error);
      }
    }
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const each of waiting) {
      const reason = built(each);
      if (reason === undefined) this.#waiting.push(each);
      else lose(each, reason);
    }
  }

  /** Damage to a row of somebody else's is told as it is and takes nobody with it. */
  #damaged({ commits }: Pending, error: KumikoError): KumikoError {
    const whose = commits.find(({ block }) => block === error.facts["block"]);
    return whose === undefined ? error : this.#ports.quarantine.put(whose.block, error);
  }

  async #commit(batch: Batch): Promise<readonly number[]> {
    let why: string;
    try {
      const outcome = await this.#ports.store.commit(batch);
      if (outcome.kind === "committed") return outcome.positions;
      if (outcome.kind === "fenced") throw fenced();
      why = `the store answered "${outcome.kind}"`;
    } catch (cause) {
      if (cause instanceof KumikoError && cause.code !== "journal_unwritable") throw cause;
      throw unwritable(cause instanceof Error ? cause.message : String(cause), cause);
    }
    throw unwritable(why, undefined);
  }
}

interface Waiting {
  readonly pending: Pending;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

function fenced(): KumikoError {
  return new KumikoError(
    "fenced",
    "Another process has taken over this kernel's work, so nothing of this edit was kept. Reading goes on; " +
      "open the kernel again to write.",
  );
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
