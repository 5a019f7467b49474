import { parseBlockId } from "../../base/index.ts";
import type {
  Batch,
  BatchOutcome,
  BlockRow,
  CallRow,
  ChildrenQuery,
  Keyframe,
  Lease,
  NewBlockRow,
  Rewrite,
  SnapshotRow,
  StoredCommit,
} from "../../kernel/ports.ts";
import {
  aheadOfStore,
  checkBatch,
  checkRewrite,
  type CommitsByBlock,
  rowElsewhere,
  versionMissing,
} from "../contract.ts";
import { MemoryEdits } from "./memory-edits.ts";
import { SortedNames } from "./sorted-names.ts";

/**
 * What stays when a MemoryStore is closed or its process dies. Any number of stores may stand on one disk;
 * each change is made in one synchronous step, after it counts as written and fsynced.
 */
export class MemoryDisk {
  readonly journal: StoredCommit[] = [];
  readonly commitsByBlock = new Map<string, StoredCommit[]>();
  readonly rows = new SortedNames<BlockRow>();
  readonly #rowsByContext = new Map<string, SortedNames<BlockRow>>();
  readonly #rowsByParent = new Map<string, SortedNames<BlockRow>>();
  readonly #rowsByStatus = new Map<string, SortedNames<BlockRow>>();
  readonly sequences = new Map<string, number>();
  readonly calls = new Map<string, CallRow>();
  readonly edits = new MemoryEdits();
  readonly keyframes = new Map<string, Keyframe>();
  readonly snapshots = new Map<string, SnapshotRow>();
  readonly values = new Map<string, SortedNames<string>>();
  /** A released lease stays with its token and no holder. */
  readonly leases = new Map<string, Lease & { readonly held: boolean }>();

  /** The same answer as a committed batch gets, or why it cannot be one. Changes nothing. */
  refusal(batch: Batch): BatchOutcome | undefined {
    const byBlock = checkBatch(batch);
    for (const { actor, call } of batch.calls) {
      const answered = this.calls.get(pair(actor, call));
      if (answered !== undefined) return { kind: "answered", call: answered };
    }
    if (batch.fence !== undefined) {
      const lease = this.leases.get(batch.fence.lease);
      if (lease === undefined || !lease.held || lease.token !== batch.fence.token) {
        return { kind: "fenced" };
      }
    }
    const missing = this.#missing(byBlock);
    if (missing.length > 0) return { kind: "moved", missing };
    const occupant = this.#occupant(batch.rows);
    if (occupant !== undefined) return { kind: "occupied", row: occupant };
    // Only to throw for what cannot be applied.
    this.edits.after(batch.commits, this.journal.length + 1);
    return undefined;
  }

  /** Writes a batch that `refusal` let pass. */
  apply(batch: Batch): BatchOutcome {
    this.edits.apply(batch.commits, this.journal.length + 1);
    const positions = batch.commits.map((made) => {
      const { expectedVersion, undo: _, ...commit } = made;
      const position = this.journal.length + 1;
      const stored = {
        ...commit,
        body: commit.body.slice(),
        position,
        version: expectedVersion + 1,
      };
      this.journal.push(stored);
      listIn(this.commitsByBlock, commit.block).push(stored);
      this.#noteSequence(commit.block);
      return position;
    });
    const created = new Map(batch.rows.map(({ block }) => [block, this.rows.get(block)?.created]));
    for (const row of batch.rows) this.#removeRow(row.block);
    for (const row of batch.rows) {
      const { version, position } = this.commitsByBlock.get(row.block)!.at(-1)!;
      this.#addRow({ ...row, version, position, created: created.get(row.block) ?? position });
    }
    for (const call of batch.calls) this.calls.set(pair(call.actor, call.call), { ...call });
    return { kind: "committed", positions };
  }

  /** Throws for a rewrite that cannot be made. Changes nothing. */
  checkRewrite(rewrite: Rewrite): void {
    checkRewrite(rewrite);
    const stored = this.commitsByBlock.get(rewrite.block) ?? [];
    for (const { version } of rewrite.commits) {
      if (version > stored.length) throw versionMissing(rewrite.block, version, stored.length);
    }
    const { row } = rewrite;
    if (row === undefined) return;
    const occupant = this.#occupant([row]);
    if (!this.rows.get(row.block) || occupant) throw rowElsewhere(row.block, occupant?.block);
  }

  rewrite({ block, commits, row, note }: Rewrite): void {
    const stored = this.commitsByBlock.get(block) ?? [];
    for (const { version, body, message } of commits) {
      const changed = { ...stored[version - 1]!, body: body.slice(), message };
      stored[version - 1] = changed;
      this.journal[changed.position - 1] = changed;
    }
    const before = this.rows.get(block);
    if (row !== undefined && before !== undefined) {
      const { version, position, created } = before;
      this.#removeRow(block);
      this.#addRow({ ...row, version, position, created });
    }
    this.keyframes.delete(block);
    this.snapshots.delete(block);
    namesIn(this.values, note.space).set(note.key, note.value);
  }

  forgetCalls(which: { before: number } | { containing: string }): number {
    const old = [...this.calls].filter(([, { time, answer }]) =>
      "before" in which ? time < which.before : answer.includes(which.containing),
    );
    for (const [key] of old) this.calls.delete(key);
    return old.length;
  }

  dropSnapshots(upToPosition: number): number {
    const idle = [...this.snapshots.keys()].filter((block) => {
      const last = this.commitsByBlock.get(block)?.at(-1);
      return last !== undefined && last.position <= upToPosition;
    });
    for (const block of idle) this.snapshots.delete(block);
    return idle.length;
  }

  children(query: ChildrenQuery): BlockRow[] {
    const siblings = this.#rowsByParent.get(pair(query.context, query.parent));
    return siblings?.page(query.after, query.limit, query.newestFirst) ?? [];
  }

  rowsOf(context: string | undefined): SortedNames<BlockRow> | undefined {
    return context === undefined ? this.rows : this.#rowsByContext.get(context);
  }

  rowsWithStatus(status: string): BlockRow[] {
    return this.#rowsByStatus.get(status)?.page(undefined, Infinity) ?? [];
  }

  size(): { [kind: string]: number } {
    return {
      journal: sum(this.journal.map((commit) => commit.body.length)),
      segments: 0,
      keyframes: sum([...this.keyframes.values()].map(({ text }) => Buffer.byteLength(text))),
      snapshots: sum([...this.snapshots.values()].map(({ bytes }) => bytes.length)),
      rows: 0,
      calls: 0,
      search: 0,
      other: 0,
    };
  }

  #missing(byBlock: CommitsByBlock): StoredCommit[] {
    const missing: StoredCommit[] = [];
    for (const [block, [first]] of byBlock) {
      const stored = this.commitsByBlock.get(block) ?? [];
      const expected = first!.expectedVersion;
      if (expected > stored.length) throw aheadOfStore(block, expected, stored.length);
      missing.push(...stored.slice(expected));
    }
    return missing.toSorted((left, right) => left.position - right.position);
  }

  #occupant(rows: readonly NewBlockRow[]): BlockRow | undefined {
    const moving = new Set(rows.map((row) => row.block));
    for (const { context, parent, order } of rows) {
      const there = this.#rowsByParent.get(pair(context, parent))?.get(order);
      if (there !== undefined && !moving.has(there.block)) return there;
    }
    return undefined;
  }

  #addRow(row: BlockRow): void {
    this.rows.set(row.block, row);
    namesIn(this.#rowsByContext, row.context).set(row.block, row);
    namesIn(this.#rowsByParent, pair(row.context, row.parent)).set(row.order, row);
    namesIn(this.#rowsByStatus, row.status).set(row.block, row);
  }

  #removeRow(block: string): void {
    const row = this.rows.get(block);
    if (row === undefined) return;
    this.rows.delete(block);
    this.#rowsByContext.get(row.context)?.delete(block);
    this.#rowsByParent.get(pair(row.context, row.parent))?.delete(row.order);
    this.#rowsByStatus.get(row.status)?.delete(block);
  }

  #noteSequence(block: string): void {
    const { context, actor, sequence } = parseBlockId(block);
    const key = pair(context, actor);
    if (sequence > (this.sequences.get(key) ?? 0)) this.sequences.set(key, sequence);
  }
}

export function pair(first: string, second: string | null): string {
  return JSON.stringify([first, second]);
}

export function namesIn<Value>(
  map: Map<string, SortedNames<Value>>,
  key: string,
): SortedNames<Value> {
  let names = map.get(key);
  if (names === undefined) map.set(key, (names = new SortedNames()));
  return names;
}

function listIn<Value>(map: Map<string, Value[]>, key: string): Value[] {
  let list = map.get(key);
  if (list === undefined) map.set(key, (list = []));
  return list;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
