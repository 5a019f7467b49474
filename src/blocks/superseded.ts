import { type Deletion, Holds } from "./holds.ts";
import { COUNTER, LENGTH, type RunLeaf, STRIDE } from "./run-leaf.ts";
import { deathsOf, type IndexState, piecesOf } from "./run-pieces.ts";
import type { Replacement, SpliceRecord } from "./splice-record.ts";

/** A replacement by an Edit that is undone. */
interface Candidate extends Replacement {
  /** For each part of what it inserted: the candidates that removed it, one of which has to hold. */
  readonly needs: (readonly number[])[];
  /** Part of what it inserted is what nobody else removed. */
  stands: boolean;
}

/**
 * The deletions that begin or cease to hold when an Edit becomes active or inactive, by their first death numbers.
 *
 * A replacement that is undone brings back what it removed, unless others removed all that it inserted: they decided what
 * stands there. So it is as long as what they did is active, or holds itself.
 */
export function toggledHolds(state: IndexState, edit: number, active: boolean): number[] {
  const { record, activity } = state;
  const undone = new Set(activity.undone);
  if (active) undone.delete(edit);
  else undone.add(edit);
  const before = new Set(activity.holds.held);
  const after = superseded(state, candidatesOf(record, undone), (other) =>
    other === edit ? active : activity.isActive(other),
  );
  return [...before.symmetricDifference(after)].toSorted((a, b) => a - b);
}

function candidatesOf(record: SpliceRecord, edits: ReadonlySet<number>): Candidate[] {
  const candidates: Candidate[] = [];
  for (const edit of edits) {
    const [from, to] = record.editSpan(edit);
    for (let version = from; version <= to; version++) {
      if (record.editOf(version) !== edit) continue;
      for (const replacement of record.replacementsOf(version)) {
        candidates.push({ ...replacement, needs: [], stands: false });
      }
    }
  }
  return candidates.toSorted((a, b) => a.first - b.first);
}

function superseded(
  state: IndexState,
  candidates: readonly Candidate[],
  isActive: (edit: number) => boolean,
): Set<number> {
  const holding = new Set<number>();
  if (candidates.length === 0) return holding;
  const { record, index } = state;
  const cuts = Holds.cuttingAt(candidates);
  // Nearly all runs lie outside of these bounds, and are not looked at any closer.
  const lowest = candidates[0]!.counterFrom;
  const highest = candidates.at(-1)!.counterTo;
  for (
    let leaf: RunLeaf | null = index.tree.first;
    leaf !== null;
    leaf = leaf.next as RunLeaf | null
  ) {
    for (let at = 0; at < leaf.count * STRIDE; at += STRIDE) {
      const counter = leaf.runs[at + COUNTER]!;
      if (counter >= highest) continue;
      const end = counter + leaf.runs[at + LENGTH]!;
      if (end <= lowest) continue;
      let next = firstEndingBehind(candidates, counter);
      if (next === candidates.length || candidates[next]!.counterFrom >= end) continue;
      const pieces = piecesOf(state, leaf, at, cuts);
      for (; next < candidates.length && candidates[next]!.counterFrom < end; next++) {
        const candidate = candidates[next]!;
        for (const piece of pieces) {
          if (piece.counter >= candidate.counterTo) continue;
          if (piece.counter + piece.length <= candidate.counterFrom) continue;
          const removers = deathsOf(piece);
          if (removers.some((death) => isActive(record.editOfDeath(death)))) continue;
          const needs = removers
            .map((death) => candidateOf(candidates, death))
            .filter((found) => found !== -1);
          if (needs.length === 0) candidate.stands = true;
          else candidate.needs.push(needs);
        }
      }
    }
  }
  // What removed the text of a replacement came behind it.
  for (let at = candidates.length - 1; at >= 0; at--) {
    const { first, needs, stands } = candidates[at]!;
    const isHeld = (other: number): boolean => holding.has(candidates[other]!.first);
    if (!stands && needs.every((any) => any.some(isHeld))) holding.add(first);
  }
  return holding;
}

/** Candidates are in the order of death numbers, which is that of the counters as well. */
function firstEndingBehind(candidates: readonly Candidate[], counter: number): number {
  let low = 0;
  let high = candidates.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (candidates[middle]!.counterTo > counter) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The candidate whose deletion gave a death number; -1 without one. */
function candidateOf(candidates: readonly Deletion[], death: number): number {
  return candidates.findIndex(({ first, end }) => first <= death && death < end);
}
