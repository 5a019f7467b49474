import { parseBlockId } from "../../base/ids.ts";
import type { Batch, BatchOutcome, BlockRow, StoredCommit } from "../../kernel/ports.ts";
import { aheadOfStore, checkBatch, type CommitsByBlock } from "../contract.ts";
import { editsAfter } from "../edits.ts";
import type { Head } from "./heads.ts";
import type { Tables } from "./tables.ts";

/**
 * Writes a batch inside the caller's transaction, or says why not. Everything is checked before the first
 * write, so a refused batch leaves the transaction as it was and others in it are not touched.
 */
export function writeBatch(tables: Tables, batch: Batch): BatchOutcome {
  const byBlock = checkBatch(batch);
  for (const { actor, call } of batch.calls) {
    const answered = tables.calls.get(actor, call);
    if (answered !== undefined) return { kind: "answered", call: answered };
  }
  const { fence } = batch;
  if (fence !== undefined && !tables.leases.holds(fence.lease, fence.token)) {
    return { kind: "fenced" };
  }
  const heads = headsOf(tables, byBlock);
  const missing = missingCommits(tables, byBlock, heads);
  if (missing.length > 0) return { kind: "moved", missing };
  const occupant = occupantOf(tables, batch);
  if (occupant !== undefined) return { kind: "occupied", row: occupant };
  return { kind: "committed", positions: write(tables, batch, byBlock, heads) };
}

/** How far each block of a batch has come; nothing for a new one. */
type BatchHeads = ReadonlyMap<string, Head>;

function headsOf({ journal, names }: Tables, byBlock: CommitsByBlock): BatchHeads {
  const heads = new Map<string, Head>();
  for (const block of byBlock.keys()) {
    const id = names.id(block);
    const head = id === undefined ? undefined : journal.headOf(block, id);
    if (head !== undefined) heads.set(block, head);
  }
  return heads;
}

function missingCommits(
  { journal }: Tables,
  byBlock: CommitsByBlock,
  heads: BatchHeads,
): StoredCommit[] {
  const missing: StoredCommit[] = [];
  for (const [block, [first]] of byBlock) {
    const version = heads.get(block)?.version ?? 0;
    const expected = first!.expectedVersion;
    if (expected > version) throw aheadOfStore(block, expected, version);
    if (expected < version) missing.push(...journal.commitsOf(block, expected));
  }
  return missing.toSorted((left, right) => left.position - right.position);
}

function occupantOf({ rows }: Tables, batch: Batch): BlockRow | undefined {
  const moving = new Set(batch.rows.map((row) => row.block));
  for (const { context, parent, order } of batch.rows) {
    const there = rows.at(context, parent, order);
    if (there !== undefined && !moving.has(there.block)) return there;
  }
  return undefined;
}

function write(tables: Tables, batch: Batch, byBlock: CommitsByBlock, heads: BatchHeads): number[] {
  const { journal, names, rows, edits, sequences, calls } = tables;
  const head = journal.head();
  const changedEdits = editsAfter(batch.commits, head + 1, (edit) => edits.get(edit));
  const lastPositions = new Map<string, number>();
  const positions = batch.commits.map((commit, index) => {
    const position = head + 1 + index;
    const { block } = commit;
    const previous = lastPositions.get(block) ?? heads.get(block)?.position ?? 0;
    journal.rows.insert(commit, names.intern(block), position, previous);
    lastPositions.set(block, position);
    return position;
  });
  const withRows = new Set(batch.rows.map((row) => row.block));
  const newBlocks: string[] = [];
  const created = new Map<string, number>();
  for (const [block, commits] of byBlock) {
    const id = names.intern(block);
    const before = heads.get(block);
    if (before === undefined) newBlocks.push(block);
    if (before?.hasRow === true && withRows.has(block)) {
      created.set(block, rows.get(block)!.created);
      rows.delete(block);
    }
    journal.heads.put(id, block, {
      version: commits.at(-1)!.expectedVersion + 1,
      position: lastPositions.get(block)!,
      hasRow: withRows.has(block) || before?.hasRow === true,
    });
  }
  noteSequences(sequences, newBlocks);
  // Blocks may change places within one batch: all have left before any arrives.
  for (const row of batch.rows) {
    const version = byBlock.get(row.block)!.at(-1)!.expectedVersion + 1;
    const position = lastPositions.get(row.block)!;
    const since = created.get(row.block) ?? position;
    rows.insert({ ...row, version, position, created: since }, names.intern(row.block));
  }
  edits.put(changedEdits, head);
  for (const call of batch.calls) calls.insert(call);
  return positions;
}

/** The highest number per context and actor, however many blocks a batch makes. */
function noteSequences(sequences: Tables["sequences"], newBlocks: readonly string[]): void {
  const ids = newBlocks.map((block) => parseBlockId(block));
  const groups = Map.groupBy(ids, ({ context, actor }) => `${context}~${actor}`);
  for (const group of groups.values()) {
    const { context, actor } = group[0]!;
    const last = group.reduce((highest, { sequence }) => Math.max(highest, sequence), 0);
    sequences.note(context, actor, last);
  }
}
