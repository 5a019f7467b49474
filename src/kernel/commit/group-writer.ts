import { KumikoError } from "../../base/index.ts";
import { isDamage, type Quarantine } from "../quarantine.ts";
import type { Batch, BatchOutcome, CallRow, NewBlockRow, NewCommit, Store } from "../ports.ts";
import type { OtherServers } from "./other-servers.ts";
import { outrun, type Refused } from "./outrun.ts";

/** Everything one Edit changed, applied in memory and waiting for the disk. */
export interface Pending {
  /** Every block it looked at, changed or not: it shares the fate of what is applied to them. */
  readonly blocks: readonly string[];
  readonly commits: readonly NewCommit[];
  readonly rows: readonly NewBlockRow[];
  readonly call: CallRow | undefined;
  /** Nobody waits for it. */
  readonly patient: boolean;
  /** Runs as soon as it is durable, in the order of positions, before anyone is answered. */
  durable(positions: readonly number[]): void;
}

export interface GroupWriterPorts {
  readonly store: Store;
  readonly quarantine: Quarantine;
  readonly others: OtherServers;
  /** Resolves when all that has already arrived was let in: it shares the write. */
  turn(): Promise<void> | undefined;
  /** Every write is made only while this lease is held. */
  fence(): NonNullable<Batch["fence"]>;
  /** A write failed: memory must forget what is not on disk. */
  unwritten(): void;
  /** Another server was faster: memory must forget these blocks. Nothing was written. */
  outrun(blocks: ReadonlySet<string>): void;
}

/**
 * Writes what is waiting, all of it at once, whenever the store is idle: under load many Edits share one
 * fsync, and without load nobody waits for company.
 *
 * When a write fails, everything in it fails, and everything that was applied on top of it. When another
 * server was faster, only what was built on what it changed.
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
    await this.#ports.turn();
    while (this.#waiting.length > 0) {
      const group = this.#waiting;
      this.#waiting = [];
      try {
        await this.#writeGroup(group);
      } catch (error) {
        if (error instanceof Outrun && this.#loseTo(error.refused, group)) continue;
        if (isDamage(error)) {
          await this.#writeApart(group);
          continue;
        }
        const lost = [...group, ...this.#waiting];
        this.#waiting = [];
        this.#ports.unwritten();
        for (const { reject } of lost)
          reject(error instanceof Outrun ? unwritable(error.message, error) : error);
      }
    }
    this.#running = undefined;
  }

  async #writeGroup(group: readonly Waiting[]): Promise<void> {
    const batch = batchOf(group.map(({ pending }) => pending));
    // Who changed nothing only waited for those before it.
    const positions = isEmpty(batch)
      ? []
      : await this.#commit({ ...batch, fence: this.#ports.fence() });
    const [first] = positions;
    if (first !== undefined && !this.#ports.others.heard(first - 1))
      await this.#ports.others.hear(first - 1);
    let from = 0;
    for (const { pending, resolve } of group) {
      const to = from + pending.commits.length;
      pending.durable(positions.slice(from, to));
      from = to;
      resolve();
    }
  }

  /**
   * What was built on what another server changed fails, and the rest is written again at once. False when
   * nobody in the group can have been meant: then trying again would change nothing.
   */
  #loseTo(refused: Refused, group: readonly Waiting[]): boolean {
    const all = [...group, ...this.#waiting];
    const blocks = new Set<string>();
    const lost = new Set<Waiting>();
    for (const each of all) {
      if (!isRefused(each.pending, refused) && !rests(each.pending, blocks)) continue;
      lost.add(each);
      for (const { block } of each.pending.commits) blocks.add(block);
    }
    if (lost.size === 0) return false;
    this.#waiting = all.filter((each) => !lost.has(each));
    this.#ports.outrun(blocks);
    for (const { reject } of lost) reject(outrun(refused));
    return true;
  }

  /**
   * One block of the group is damaged at rest: its Edits fail, and those that were built on them; nobody
   * else's do.
   */
  async #writeApart(group: readonly Waiting[]): Promise<void> {
    const lost = new Map<string, unknown>();
    const built = ({ pending }: Waiting): unknown =>
      lost.get(pending.blocks.find((block) => lost.has(block)) ?? "");
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
        if (error instanceof Outrun) lose(each, outrun(error.refused));
        else lose(each, isDamage(error) ? this.#damaged(each.pending, error) : error);
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
    let outcome: BatchOutcome;
    try {
      outcome = await this.#ports.store.commit(batch);
    } catch (cause) {
      if (cause instanceof KumikoError && cause.code !== "journal_unwritable") throw cause;
      throw unwritable(cause instanceof Error ? cause.message : String(cause), cause);
    }
    if (outcome.kind === "committed") return outcome.positions;
    if (outcome.kind === "fenced") throw fenced();
    await this.#ports.others.hearAll();
    throw new Outrun(outcome);
  }
}

/** The store refused a group because of another server. */
class Outrun extends Error {
  readonly refused: Refused;

  constructor(refused: Refused) {
    super(`the store answered "${refused.kind}"`);
    this.refused = refused;
  }
}

interface Waiting {
  readonly pending: Pending;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Whether an Edit is one of those because of which the store refused all of them. */
function isRefused({ commits, rows, call }: Pending, refused: Refused): boolean {
  if (refused.kind === "answered") {
    return call?.actor === refused.call.actor && call.call === refused.call.call;
  }
  if (refused.kind === "occupied") {
    const { context, parent, order } = refused.row;
    return rows.some(
      (row) => row.context === context && row.parent === parent && row.order === order,
    );
  }
  return refused.missing.some(({ block, version }) =>
    commits.some((commit) => commit.block === block && commit.expectedVersion < version),
  );
}

/** Whether an Edit is built on blocks whose changes are lost: it saw them, or put something below them. */
function rests({ blocks, rows }: Pending, lost: ReadonlySet<string>): boolean {
  return (
    blocks.some((block) => lost.has(block)) ||
    rows.some(({ parent }) => parent !== null && lost.has(parent))
  );
}

function isEmpty({ commits, calls }: Batch): boolean {
  return commits.length === 0 && calls.length === 0;
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
  const [only] = group;
  if (only !== undefined && group.length === 1) {
    const { commits, rows, call, patient } = only;
    return { commits, rows, calls: call === undefined ? [] : [call], patient };
  }
  return {
    commits: group.flatMap(({ commits }) => commits),
    rows: lastRows(group),
    calls: group.flatMap(({ call }) => (call === undefined ? [] : [call])),
    patient: group.some(({ patient }) => patient),
  };
}

/** A block has one row: of those that several Edits of a group gave it, the last was made of the others. */
function lastRows(group: readonly Pending[]): readonly NewBlockRow[] {
  const rows = group.flatMap((pending) => pending.rows);
  return [...new Map(rows.map((row) => [row.block, row])).values()];
}
