import type { StoredCommit } from "../../kernel/ports.ts";
import { missingCommit } from "./journal.ts";
import { rawSize } from "./segment-codec.ts";
import type { Tables } from "./tables.ts";

const SEGMENT = 128 * 1024;
/** A last segment below this is written anew with what follows; above, a new one is begun. */
const REFILL = SEGMENT / 2;
/** Fewer commits than this are no smaller together than apart. */
const WORTH_PACKING = 8;
const PAGE = 256;

/**
 * Moves one segment's worth of a block's commits out of the rows and says whether more may be left. Inside
 * one transaction: nobody sees a commit twice or not at all.
 */
export function compactStep({ journal, names }: Tables, block: string, upTo: number): boolean {
  const id = names.id(block);
  const blockHead = id === undefined ? undefined : journal.headOf(block, id);
  if (id === undefined || blockHead === undefined) return false;
  const last = journal.segments.last(id);
  const packed = last?.lastVersion ?? 0;
  const head = journal.head();
  const page = (after: number) => {
    const end = Math.min(upTo, after + PAGE, blockHead.version);
    if (end <= after) return [];
    const commits = journal.rows.ofBlock(id, blockHead, after, end);
    if (commits.length !== end - after) throw missingCommit(block, end - commits.length);
    // The last commit of all stays: it says where the journal ends.
    return commits.filter((commit) => commit.position < head);
  };
  const rows = page(packed);
  if (rows.length === 0) return false;
  const refilled = last !== undefined && last.raw < REFILL ? last : undefined;
  if (refilled === undefined && rows.length < WORTH_PACKING) return false;
  const { moved, raw } = fitting(rows, page, refilled?.raw ?? 0);
  // What fits nowhere beside the old segment begins a new one.
  if (moved.length === 0) {
    moved.push(rows[0]!);
    journal.segments.insert(id, moved, rawSize(moved[0]!));
  } else {
    if (refilled !== undefined) journal.segments.delete(id, refilled.firstVersion);
    journal.segments.insert(id, [...(refilled?.commits() ?? []), ...moved], raw);
  }
  journal.rows.delete(moved);
  journal.places.note(
    moved.map((commit) => commit.position),
    id,
  );
  return true;
}

/** Commits in order, as many as a segment has room for that holds `raw` bytes already. */
function fitting(
  first: readonly StoredCommit[],
  page: (after: number) => readonly StoredCommit[],
  raw: number,
): { moved: StoredCommit[]; raw: number } {
  const moved: StoredCommit[] = [];
  for (let rows = first; rows.length > 0; rows = page(rows.at(-1)!.version)) {
    for (const commit of rows) {
      const size = rawSize(commit);
      if (raw > 0 && raw + size > SEGMENT) return { moved, raw };
      raw += size;
      moved.push(commit);
    }
  }
  return { moved, raw };
}
