import type { StoredCommit } from "../../kernel/ports.ts";
import { rawSize } from "./segment-codec.ts";
import type { Tables } from "./tables.ts";

const SEGMENT = 64 * 1024;
/** A last segment below this is written anew with what follows; above, a new one is begun. */
const REFILL = SEGMENT / 2;
/** Fewer commits than this are no smaller together than apart. */
const WORTH_PACKING = 8;
const ROWS = 4096;

/**
 * Moves one segment's worth of a block's commits out of the rows and says whether more may be left. Inside
 * one transaction: nobody sees a commit twice or not at all.
 */
export function compactStep({ journal, names }: Tables, block: string, upTo: number): boolean {
  const id = names.id(block);
  if (id === undefined) return false;
  const last = journal.segments.last(id);
  const packed = last?.lastVersion ?? 0;
  const head = journal.head();
  const rows = journal.rows
    .ofBlock(id, packed, upTo, ROWS)
    // The last commit of all stays: it says where the journal ends.
    .filter((commit) => commit.position < head);
  if (rows.length === 0) return false;
  const refilled = last !== undefined && last.raw < REFILL ? last : undefined;
  if (refilled === undefined && rows.length < WORTH_PACKING) return false;
  let raw = refilled?.raw ?? 0;
  const moved: StoredCommit[] = [];
  for (const commit of rows) {
    const size = rawSize(commit);
    if (raw > 0 && raw + size > SEGMENT) break;
    raw += size;
    moved.push(commit);
  }
  // What fits nowhere beside the old segment begins a new one.
  if (moved.length === 0) {
    moved.push(rows[0]!);
    journal.segments.insert(id, moved, rawSize(moved[0]!));
  } else {
    if (refilled !== undefined) journal.segments.delete(id, refilled.firstVersion);
    journal.segments.insert(id, [...(refilled?.commits ?? []), ...moved], raw);
  }
  journal.rows.delete(id, moved[0]!.version, moved.at(-1)!.version);
  journal.places.note(
    moved.map((commit) => commit.position),
    id,
  );
  return true;
}
