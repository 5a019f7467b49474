import { SumLeaf } from "../base/index.ts";

/**
 * A leaf of the run index. A run is units with successive counters that share their fate, kept in four
 * numbers: counter and length; the death number of its first unit (or NO_DEATH); and bits.
 *
 * Death numbers go up along a run that was deleted forwards or at once, and down (DESCENDING) along one
 * that was backspaced away, so a word typed and erased key by key is still one run.
 */
export const STRIDE = 4;
export const COUNTER = 0;
export const LENGTH = 1;
export const DEATH = 2;
export const BITS = 3;

export const NO_DEATH = -1;
export const VISIBLE = 1;
export const DESCENDING = 2;
/** An Edit that inserted or deleted it was flipped: its visibility is no longer read off the numbers. */
export const FLIPPED = 4;
/** Bits above these hold the number of a list of later deaths (0: none). */
export const LATER_DEATHS_SHIFT = 3;

/** The sums of a leaf: how many of its units are visible, and how many are not. */
export const VISIBLE_UNITS = 0;
export const HIDDEN_UNITS = 1;

export class RunLeaf extends SumLeaf {
  readonly runs: Int32Array;
  count = 0;

  constructor(capacity: number) {
    super([0, 0]);
    this.runs = new Int32Array(capacity * STRIDE);
  }

  get capacity(): number {
    return this.runs.length / STRIDE;
  }

  /** Makes room for `added` runs before run `index`. The caller has checked the capacity. */
  open(index: number, added: number): void {
    const from = index * STRIDE;
    this.runs.copyWithin(from + added * STRIDE, from, this.count * STRIDE);
    this.count += added;
  }

  close(index: number): void {
    const from = index * STRIDE;
    this.runs.copyWithin(from, from + STRIDE, this.count * STRIDE);
    this.count -= 1;
  }

  set(index: number, counter: number, length: number, death: number, bits: number): void {
    const runs = this.runs;
    const at = index * STRIDE;
    runs[at + COUNTER] = counter;
    runs[at + LENGTH] = length;
    runs[at + DEATH] = death;
    runs[at + BITS] = bits;
  }

  /** Cuts run `index` so that its first `units` stay and the rest becomes run `index + 1`. */
  split(index: number, units: number): void {
    this.open(index + 1, 1);
    const runs = this.runs;
    const at = index * STRIDE;
    const death = runs[at + DEATH]!;
    const bits = runs[at + BITS]!;
    this.set(
      index + 1,
      runs[at + COUNTER]! + units,
      runs[at + LENGTH]! - units,
      death === NO_DEATH ? NO_DEATH : bits & DESCENDING ? death - units : death + units,
      bits,
    );
    runs[at + LENGTH] = units;
  }

  /** Joins run `index` with the next one if both are plainly hidden and their numbers go on. */
  join(index: number): boolean {
    if (index < 0 || index + 1 >= this.count) return false;
    const runs = this.runs;
    const left = index * STRIDE;
    const right = left + STRIDE;
    const leftLength = runs[left + LENGTH]!;
    const rightLength = runs[right + LENGTH]!;
    if (runs[left + COUNTER]! + leftLength !== runs[right + COUNTER]!) return false;
    const leftBits = runs[left + BITS]!;
    const rightBits = runs[right + BITS]!;
    if ((leftBits | rightBits) & ~DESCENDING) return false;
    const leftDeath = runs[left + DEATH]!;
    const rightDeath = runs[right + DEATH]!;
    const upward =
      rightDeath === leftDeath + leftLength &&
      (leftLength === 1 || leftBits === 0) &&
      (rightLength === 1 || rightBits === 0);
    const downward =
      rightDeath === leftDeath - leftLength &&
      (leftLength === 1 || leftBits === DESCENDING) &&
      (rightLength === 1 || rightBits === DESCENDING);
    if (!upward && !downward) return false;
    this.close(index + 1);
    runs[left + LENGTH] = leftLength + rightLength;
    runs[left + BITS] = upward ? 0 : DESCENDING;
    return true;
  }
}
