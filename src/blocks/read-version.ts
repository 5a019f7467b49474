import {
  BITS,
  COUNTER,
  DEATH,
  DESCENDING,
  FLIPPED,
  LENGTH,
  NO_DEATH,
  STRIDE,
  type RunLeaf,
} from "./run-leaf.ts";
import { type IndexState, piecesOf, visibleRange } from "./run-pieces.ts";

/** The text of any version, in one pass over the index. */
export function readVersion(state: IndexState, version: number): string {
  const { record, index } = state;
  const counterEnd = record.counterEnd(version);
  const deathEnd = record.deathEnd(version);
  const parts: string[] = [];
  // Neighbouring pieces with successive counters are read from the store as one.
  let from = 0;
  let to = 0;
  const emit = (start: number, end: number): void => {
    if (start === to) {
      to = end;
      return;
    }
    if (to > from) parts.push(record.inserted.slice(from, to));
    from = start;
    to = end;
  };
  for (
    let leaf: RunLeaf | null = index.tree.first;
    leaf !== null;
    leaf = leaf.next as RunLeaf | null
  ) {
    const runs = leaf.runs;
    const limit = leaf.count * STRIDE;
    for (let at = 0; at < limit; at += STRIDE) {
      const counter = runs[at + COUNTER]!;
      if (counter >= counterEnd) continue;
      const bits = runs[at + BITS]!;
      if (bits & FLIPPED) {
        for (const piece of piecesOf(state, leaf, at)) {
          const { low, high } = visibleRange(state, piece, version);
          if (low < high) emit(piece.counter + low, piece.counter + high);
        }
        continue;
      }
      let low = 0;
      let high = Math.min(runs[at + LENGTH]!, counterEnd - counter);
      const death = runs[at + DEATH]!;
      if (death !== NO_DEATH) {
        if (bits & DESCENDING) high = Math.min(high, death - deathEnd + 1);
        else low = Math.max(0, deathEnd - death);
      }
      if (low < high) emit(counter + low, counter + high);
    }
  }
  if (to > from) parts.push(record.inserted.slice(from, to));
  return parts.join("");
}
