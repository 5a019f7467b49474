import {
  BITS,
  COUNTER,
  DEATH,
  DESCENDING,
  FLIPPED,
  LENGTH,
  NO_DEATH,
  type RunLeaf,
  STRIDE,
  VISIBLE,
} from "./run-leaf.ts";
import { type IndexState, lastTouches, type Piece, piecesOf, visibleRange } from "./run-pieces.ts";

/** A stretch of text as two versions see it, in document order. */
export type Stretch =
  /** In both. */
  | { readonly kind: "kept"; readonly length: number }
  /** In the earlier one only, or in the later one only; `counter` finds the text. */
  | {
      readonly kind: "gone" | "fresh";
      readonly length: number;
      readonly counter: number;
      /** The versions that made the difference for the units [low, high) of the stretch. */
      readonly by: (low: number, high: number) => number[];
    };

/**
 * How the text of `base` became the current one, unit by unit and by identity, not by comparison.
 * Costs what was touched since, not what there is.
 */
export function changesSince(state: IndexState, base: number): Stretch[] {
  const { record, index } = state;
  const counterEnd = record.counterEnd(base);
  const deathEnd = record.deathEnd(base);
  const stretches: Stretch[] = [];
  let kept = 0;
  const flush = (): void => {
    if (kept > 0) stretches.push({ kind: "kept", length: kept });
    kept = 0;
  };
  const difference = (
    kind: "gone" | "fresh",
    counter: number,
    length: number,
    by: (low: number, high: number) => number[],
  ): void => {
    if (length <= 0) return;
    flush();
    stretches.push({ kind, length, counter, by });
  };
  const visitPiece = (piece: Piece, visible: boolean): void => {
    const { low, high } = visibleRange(state, piece, base);
    const from =
      (first: number) =>
      (start: number, end: number): number[] =>
        lastTouches(state, piece, first + start, first + end);
    if (visible) {
      difference("fresh", piece.counter, low, from(0));
      kept += high - low;
      difference("fresh", piece.counter + high, piece.length - high, from(high));
    } else {
      difference("gone", piece.counter + low, high - low, from(low));
    }
  };
  const visitRun = (leaf: RunLeaf, at: number): void => {
    const runs = leaf.runs;
    const counter = runs[at + COUNTER]!;
    const length = runs[at + LENGTH]!;
    const bits = runs[at + BITS]!;
    const visible = (bits & VISIBLE) !== 0;
    if (bits & FLIPPED) {
      for (const piece of piecesOf(state, leaf, at)) visitPiece(piece, visible);
      return;
    }
    const known = Math.max(0, Math.min(length, counterEnd - counter));
    if (visible) {
      kept += known;
      difference("fresh", counter + known, length - known, (start, end) =>
        record.versionsThat("inserted", counter + known + start, counter + known + end),
      );
      return;
    }
    const death = runs[at + DEATH]!;
    if (death === NO_DEATH) return;
    const descending = (bits & DESCENDING) !== 0;
    const low = descending ? 0 : Math.max(0, deathEnd - death);
    const high = descending ? Math.min(known, death - deathEnd + 1) : known;
    difference("gone", counter + low, high - low, (start, end) =>
      descending
        ? record.versionsThat("deleted", death - low - end + 1, death - low - start + 1)
        : record.versionsThat("deleted", death + low + start, death + low + end),
    );
  };
  index.tree.walkTouched(
    base,
    (leaf) => {
      for (let at = 0; at < leaf.count * STRIDE; at += STRIDE) visitRun(leaf, at);
    },
    (sums) => {
      kept += sums[0]!;
    },
  );
  flush();
  return stretches;
}
