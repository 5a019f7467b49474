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
import { type IndexState, lastTouch, type Piece, piecesOf, visibleRange } from "./run-pieces.ts";

/** A stretch of text as two versions see it, in document order. */
export type Stretch =
  /** In both. */
  | { readonly kind: "kept"; readonly length: number }
  /** In the earlier one only; `counter` finds the text. */
  | { readonly kind: "gone"; readonly length: number; readonly counter: number; readonly by: By }
  /** In the later one only. */
  | { readonly kind: "fresh"; readonly length: number; readonly counter: number; readonly by: By };

/** The versions that made a difference: those from first to last that did such a thing at all. */
export interface By {
  readonly from: number;
  readonly to: number;
  readonly cause: "inserted" | "deleted" | "flipped";
}

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
  const difference = (kind: "gone" | "fresh", counter: number, length: number, by: By): void => {
    if (length <= 0) return;
    flush();
    stretches.push({ kind, length, counter, by });
  };
  const visitPiece = (piece: Piece, visible: boolean): void => {
    const { low, high } = visibleRange(state, piece, base);
    const touched = lastTouch(state, piece);
    const by: By = { from: touched, to: touched, cause: "flipped" };
    if (visible) {
      difference("fresh", piece.counter, low, by);
      kept += high - low;
      difference("fresh", piece.counter + high, piece.length - high, by);
    } else {
      difference("gone", piece.counter + low, high - low, by);
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
      if (known < length) {
        difference("fresh", counter + known, length - known, {
          from: record.versionOfCounter(counter + known),
          to: record.versionOfCounter(counter + length - 1),
          cause: "inserted",
        });
      }
      return;
    }
    const death = runs[at + DEATH]!;
    if (death === NO_DEATH) return;
    const descending = (bits & DESCENDING) !== 0;
    const low = descending ? 0 : Math.max(0, deathEnd - death);
    const high = descending ? Math.min(known, death - deathEnd + 1) : known;
    if (low < high) {
      const first = record.versionOfDeath(descending ? death - low : death + low);
      const last = record.versionOfDeath(descending ? death - high + 1 : death + high - 1);
      difference("gone", counter + low, high - low, {
        from: Math.min(first, last),
        to: Math.max(first, last),
        cause: "deleted",
      });
    }
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
