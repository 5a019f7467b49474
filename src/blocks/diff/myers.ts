import { diff_core } from "fast-myers-diff";
import type { Effort } from "./effort.ts";

const spent = Symbol("the effort is spent");

/** The equal stretches [old, new, length], or null when it takes more than `most` comparisons, or effort, to find them. */
export function myersPairs(
  oldLength: number,
  newLength: number,
  equal: (oldAt: number, newAt: number) => boolean,
  effort: Effort,
  most: number,
): [number, number, number][] | null {
  const limit = Math.min(most, effort.left);
  // What is only longer is walked along the edge of the other, where nothing is compared and so nothing counted.
  const uncounted = (Math.abs(oldLength - newLength) * Math.min(oldLength, newLength)) / 2;
  if (uncounted > limit) return null;
  let comparisons = 0;
  const counted = (oldAt: number, newAt: number): boolean => {
    if (++comparisons > limit) throw spent;
    return equal(oldAt, newAt);
  };
  const stretches: [number, number, number][] = [];
  let oldAt = 0;
  let newAt = 0;
  try {
    for (const [oldStart, oldEnd, , newEnd] of diff_core(0, oldLength, 0, newLength, counted)) {
      if (oldStart > oldAt) stretches.push([oldAt, newAt, oldStart - oldAt]);
      oldAt = oldEnd;
      newAt = newEnd;
    }
  } catch (error) {
    // Thrown through the library on purpose: it has no other way to be stopped.
    if (error === spent) return null;
    throw error;
  } finally {
    effort.spend(comparisons);
  }
  if (oldLength > oldAt) stretches.push([oldAt, newAt, oldLength - oldAt]);
  return stretches;
}
