import type { Form } from "./line-index.ts";

/** One way of comparing a hunk with a place. Tried in order: the first that fits anywhere decides. */
export interface Tolerance {
  /** How context lines are compared. */
  readonly context: Form;
  /** Removed lines are never compared loosely; "stripped" lets the text have trailing blanks the patch lost. */
  readonly removed: "exact" | "ending" | "stripped";
  /** Context lines not compared at the two ends. */
  readonly dropped: number;
}

/**
 * Without fuzz only line endings may differ. Whitespace comes before dropping lines, because a whole
 * context that differs in blanks says more about the place than half of an exact one.
 */
export function tolerances(fuzz: number): Tolerance[] {
  const list: Tolerance[] = [
    { context: "exact", removed: "exact", dropped: 0 },
    { context: "ending", removed: "ending", dropped: 0 },
  ];
  if (fuzz === 0) return list;
  list.push({ context: "trailing", removed: "ending", dropped: 0 });
  list.push({ context: "around", removed: "ending", dropped: 0 });
  list.push({ context: "ending", removed: "stripped", dropped: 0 });
  for (let dropped = 1; dropped <= 2 * fuzz; dropped++) {
    list.push({ context: "ending", removed: "ending", dropped });
    list.push({ context: "trailing", removed: "ending", dropped });
    list.push({ context: "around", removed: "ending", dropped });
  }
  return list;
}

/** The ways to leave out `dropped` lines, no more than `fuzz` at either end, none twice. */
export function drops(
  dropped: number,
  fuzz: number,
  leading: number,
  trailing: number,
): { leading: number; trailing: number }[] {
  const ways: { leading: number; trailing: number }[] = [];
  for (let atStart = 0; atStart <= dropped; atStart++) {
    const atEnd = dropped - atStart;
    if (atStart > Math.min(fuzz, leading) || atEnd > Math.min(fuzz, trailing)) continue;
    ways.push({ leading: atStart, trailing: atEnd });
  }
  return ways;
}
