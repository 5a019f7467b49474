import { checkRange, checkWellFormed, type TextRope } from "../base/index.ts";
import type { Splice } from "./types.ts";

/** Makes splices in a text, or leaves it as it was. */
export function applySplices(rope: TextRope, splices: readonly Splice[]): void {
  if (splices.length === 1) {
    const { at, remove, insert } = splices[0]!;
    checkSplice(rope, at, remove, insert);
    rope.splice(at, remove, insert);
    return;
  }
  const done: Splice[] = [];
  try {
    for (const { at, remove, insert } of splices) {
      checkSplice(rope, at, remove, insert);
      done.push({ at, remove: insert.length, insert: rope.slice(at, at + remove) });
      rope.splice(at, remove, insert);
    }
  } catch (error) {
    for (const { at, remove, insert } of done.toReversed()) rope.splice(at, remove, insert);
    throw error;
  }
}

function checkSplice(rope: TextRope, at: number, remove: number, insert: string): void {
  rope.checkBoundary(at);
  if (remove !== 0) {
    checkRange(at, at + remove, rope.length);
    rope.checkBoundary(at + remove);
  }
  if (insert !== "") checkWellFormed(insert);
}
