import { KumikoError } from "../../base/index.ts";
import type {
  Batch,
  BatchOutcome,
  BlockRow,
  CallRow,
  ChildrenQuery,
  Damage,
  EditRow,
  Keyframe,
  Lease,
  Rewrite,
  SearchIndex,
  SnapshotRow,
  Store,
  StoredCommit,
} from "../../kernel/ports.ts";
import { checkTexts, closedStore, compareNames, fittingCommits } from "../contract.ts";
import type { Fault, FaultHook, WriteStep } from "./faults.ts";
import { MemoryDisk, namesIn, pair } from "./memory-disk.ts";
import { MemorySearch } from "./memory-search.ts";

export interface MemoryStoreOptions {
  /** Two stores on one disk are two writers; a store on a used disk is the same after a restart. */
  readonly disk?: MemoryDisk;
  readonly faults?: FaultHook;
}

/** The Store without files, timers or chance: same calls, same faults, same answers. */
export class MemoryStore implements Store {
  readonly disk: MemoryDisk;
  readonly search: SearchIndex = new MemorySearch(() => this.#readable());
  readonly #faults: FaultHook;
  #steps = 0;
  #line: Promise<unknown> = Promise.resolve();
  #ended: KumikoError | undefined;

  constructor({ disk = new MemoryDisk(), faults = () => "pass" }: MemoryStoreOptions = {}) {
    this.disk = disk;
    this.#faults = faults;
  }

  async head(): Promise<number> {
    return this.#readable().journal.length;
  }

  commit(batch: Batch): Promise<BatchOutcome> {
    return this.#write("commit", (disk) => {
      const refusal = disk.refusal(batch);
      return refusal === undefined ? { effect: () => disk.apply(batch) } : { answer: refusal };
    });
  }

  async changesSince(position: number, limit: number, bytes?: number): Promise<StoredCommit[]> {
    const page = this.#readable().journal.slice(position, position + limit);
    return bytes === undefined ? page : page.slice(0, fittingCommits(page, bytes));
  }

  async commitsOf(
    block: string,
    afterVersion: number,
    upToVersion?: number,
  ): Promise<StoredCommit[]> {
    return this.#readable().commitsByBlock.get(block)?.slice(afterVersion, upToVersion) ?? [];
  }

  async versionAt(block: string, position: number): Promise<number> {
    const commits = this.#readable().commitsByBlock.get(block) ?? [];
    let [reached, beyond] = [0, commits.length + 1];
    while (beyond - reached > 1) {
      const middle = Math.floor((reached + beyond) / 2);
      if (commits[middle - 1]!.position <= position) reached = middle;
      else beyond = middle;
    }
    return reached;
  }

  async row(block: string): Promise<BlockRow | undefined> {
    return this.#readable().rows.get(block);
  }

  async children(query: ChildrenQuery): Promise<BlockRow[]> {
    return this.#readable().children(query);
  }

  async rows(query: { context?: string; after?: string; limit: number }): Promise<BlockRow[]> {
    return this.#readable().rowsOf(query.context)?.page(query.after, query.limit) ?? [];
  }

  async rowsWithStatus(status: string): Promise<BlockRow[]> {
    return this.#readable().rowsWithStatus(status);
  }

  async lastSequence(context: string, actor: string): Promise<number> {
    return this.#readable().sequences.get(pair(context, actor)) ?? 0;
  }

  async call(actor: string, call: string): Promise<CallRow | undefined> {
    return this.#readable().calls.get(pair(actor, call));
  }

  async forgetCalls(which: { before: number } | { containing: string }): Promise<number> {
    if ("containing" in which) checkTexts(which);
    return this.#write("forget", (disk) => ({ effect: () => disk.forgetCalls(which) }));
  }

  async edit(edit: string): Promise<EditRow | undefined> {
    return this.#readable().edits.get(edit);
  }

  async newestEdit(actor: string, before?: EditRow): Promise<EditRow | undefined> {
    return this.#readable().edits.newest(actor, before);
  }

  async newestUndone(actor: string): Promise<EditRow | undefined> {
    return this.#readable().edits.newestUndone(actor);
  }

  async keyframe(block: string): Promise<Keyframe | undefined> {
    return this.#readable().keyframes.get(block);
  }

  async putKeyframe(block: string, keyframe: Keyframe): Promise<void> {
    checkTexts({ text: keyframe.text });
    await this.#write("keyframe", (disk) => ({
      effect: () => putNewer(disk.keyframes, block, { ...keyframe }),
    }));
  }

  async snapshot(block: string): Promise<SnapshotRow | undefined> {
    return this.#readable().snapshots.get(block);
  }

  async putSnapshot(block: string, { version, bytes }: SnapshotRow): Promise<void> {
    const snapshot = { version, bytes: bytes.slice() };
    await this.#write("snapshot", (disk) => ({
      effect: () => putNewer(disk.snapshots, block, snapshot),
    }));
  }

  async dropSnapshots(upToPosition: number): Promise<number> {
    return this.#write("drop_snapshots", (disk) => ({
      effect: () => disk.dropSnapshots(upToPosition),
    }));
  }

  async compact(): Promise<void> {
    await this.#write("compact", () => ({ effect: () => undefined }));
  }

  async rewrite(rewrite: Rewrite): Promise<void> {
    await this.#write("rewrite", (disk) => {
      disk.checkRewrite(rewrite);
      return { effect: () => disk.rewrite(rewrite) };
    });
  }

  async vacuum(): Promise<void> {
    await this.#write("vacuum", () => ({ effect: () => undefined }));
  }

  async get(space: string, key: string): Promise<string | undefined> {
    return this.#readable().values.get(space)?.get(key);
  }

  async list(
    space: string,
    { after, limit = Infinity }: { after?: string | undefined; limit?: number | undefined } = {},
  ): Promise<{ key: string; value: string }[]> {
    const values = this.#readable().values.get(space)?.entries() ?? [];
    return values
      .filter(({ name }) => after === undefined || compareNames(name, after) > 0)
      .slice(0, limit)
      .map(({ name, value }) => ({ key: name, value }));
  }

  async put(space: string, key: string, value: string | undefined): Promise<void> {
    checkTexts({ space, key, value });
    await this.#write("put", (disk) => ({
      effect: () => {
        const values = namesIn(disk.values, space);
        if (value === undefined) values.delete(key);
        else values.set(key, value);
      },
    }));
  }

  acquire(
    name: string,
    holder: string,
    now: number,
    milliseconds: number,
  ): Promise<{ granted: boolean; lease: Lease }> {
    return this.#write<{ granted: boolean; lease: Lease }>("acquire", (disk) => {
      const last = disk.leases.get(name);
      if (last !== undefined && last.held && last.expires > now) {
        return { answer: { granted: false, lease: bare(last) } };
      }
      const lease = { name, holder, token: (last?.token ?? 0) + 1, expires: now + milliseconds };
      return {
        effect: () => {
          disk.leases.set(name, { ...lease, held: true });
          return { granted: true, lease };
        },
      };
    });
  }

  renew(lease: Lease, now: number, milliseconds: number): Promise<Lease | undefined> {
    return this.#write<Lease | undefined>("renew", (disk) => {
      const last = disk.leases.get(lease.name);
      if (last === undefined || !last.held || last.token !== lease.token) {
        return { answer: undefined };
      }
      const renewed = { ...bare(last), expires: now + milliseconds };
      return {
        effect: () => {
          disk.leases.set(lease.name, { ...renewed, held: true });
          return renewed;
        },
      };
    });
  }

  async release(lease: Lease): Promise<void> {
    await this.#write("release", (disk) => {
      const last = disk.leases.get(lease.name);
      if (last?.token !== lease.token) return { answer: undefined };
      return { effect: () => void disk.leases.set(lease.name, { ...last, held: false }) };
    });
  }

  async verify(): Promise<Damage[]> {
    this.#readable();
    return [];
  }

  async size(): Promise<{ [kind: string]: number }> {
    return this.#readable().size();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#line.catch(() => undefined);
    this.#ended ??= closedStore();
  }

  #readable(): MemoryDisk {
    if (this.#ended !== undefined) throw this.#ended;
    return this.disk;
  }

  /** One write at a time; what it changes is seen by nobody before its fsync has passed. */
  #write<Answer>(
    what: string,
    plan: (disk: MemoryDisk) => { effect: () => Answer } | { answer: Answer },
  ): Promise<Answer> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    const done = this.#line.then(async () => {
      await this.#step("write", what);
      const fate = await this.#step("fsync", what);
      const planned = plan(this.#readable());
      const answer = "answer" in planned ? planned.answer : planned.effect();
      if (fate === "crash_after") throw this.#crash();
      return answer;
    });
    this.#line = done.catch(() => undefined);
    return done;
  }

  async #step(at: WriteStep["at"], what: string): Promise<Fault> {
    if (this.#ended !== undefined) throw this.#ended;
    this.#steps += 1;
    const fault = await this.#faults({ number: this.#steps, at, what });
    if (fault === "fail") {
      throw new KumikoError(
        "journal_unwritable",
        `The ${what} could not be written and nothing of it was kept: try again.`,
        { cause: `injected at ${at}`, outcome: "not_written", resumed: true },
      );
    }
    if (fault === "crash" || (fault === "crash_after" && at === "write")) throw this.#crash();
    return fault;
  }

  #crash(): KumikoError {
    this.#ended = new KumikoError("closed", "The store's process has crashed.", { crashed: true });
    return this.#ended;
  }
}

function putNewer<Kept extends { version: number }>(
  map: Map<string, Kept>,
  block: string,
  next: Kept,
): void {
  const last = map.get(block);
  if (last === undefined || last.version < next.version) map.set(block, next);
}

function bare({ name, holder, token, expires }: Lease): Lease {
  return { name, holder, token, expires };
}
