import { diff_core } from "fast-myers-diff";

export interface MyersBudget {
  readonly comparisons: number;
  /** Asked now and then, not at every comparison. */
  expired(): boolean;
}

const comparisonsBetweenClockReadings = 16_384;
const spent = Symbol("the budget is spent");

/** The equal stretches [old, new, length], or null when the budget was spent before the end. */
export function myersPairs(
  oldLength: number,
  newLength: number,
  equal: (oldAt: number, newAt: number) => boolean,
  budget: MyersBudget,
): [number, number, number][] | null {
  let comparisons = 0;
  const counted = (oldAt: number, newAt: number): boolean => {
    comparisons++;
    if (comparisons > budget.comparisons) throw spent;
    if (comparisons % comparisonsBetweenClockReadings === 0 && budget.expired()) throw spent;
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
  }
  if (oldLength > oldAt) stretches.push([oldAt, newAt, oldLength - oldAt]);
  return stretches;
}
