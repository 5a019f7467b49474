import { parseBlockId } from "../../base/index.ts";
import type {
  Batch,
  BatchOutcome,
  BlockRow,
  CallRow,
  ChildrenQuery,
  Keyframe,
  Lease,
  SnapshotRow,
  StoredCommit,
} from "../../kernel/ports.ts";
import { aheadOfStore, checkBatch, type CommitsByBlock } from "../contract.ts";
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
    const occupant = this.#occupant(batch);
    return occupant === undefined ? undefined : { kind: "occupied", row: occupant };
  }

  /** Writes a batch that `refusal` let pass. */
  apply(batch: Batch): BatchOutcome {
    const positions = batch.commits.map(({ expectedVersion, ...commit }) => {
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
    for (const row of batch.rows) this.#removeRow(row.block);
    for (const row of batch.rows) {
      const { version, position } = this.commitsByBlock.get(row.block)!.at(-1)!;
      this.#addRow({ ...row, version, position });
    }
    for (const call of batch.calls) this.calls.set(pair(call.actor, call.call), { ...call });
    return { kind: "committed", positions };
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

  #occupant(batch: Batch): BlockRow | undefined {
    const moving = new Set(batch.rows.map((row) => row.block));
    for (const { context, parent, order } of batch.rows) {
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
