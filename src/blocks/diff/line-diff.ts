import { firstNotBelow } from "../first-not-below.ts";
import { Effort } from "./effort.ts";
import { intern, type Interned } from "./intern.ts";
import { myersPairs } from "./myers.ts";
import { risingPairs } from "./patience.ts";

/** Lines [oldStart, oldEnd) became lines [newStart, newEnd); everything between ranges is equal. */
export interface ChangedRange {
  readonly oldStart: number;
  readonly oldEnd: number;
  readonly newStart: number;
  readonly newEnd: number;
}

export interface LineDiff {
  readonly ranges: readonly ChangedRange[];
  /** The diff is correct but larger than it need be: the input was too costly for the effort given. */
  readonly coarse: boolean;
}

/** Line numbers still to be matched. Kept apart from the lines, so that lines without a partner can be dropped. */
interface Gap {
  readonly old: Int32Array;
  readonly new: Int32Array;
  /** A window of a gap that proved too costly: small, so matched whatever it costs. */
  readonly window: boolean;
}

/** Some 500 ms. */
const defaultSteps = 40_000_000;
/** A comparison is one step. What stands once on each side is matched whatever is left: to look at all lines once counts last. */
const stepsPerLine = 10;
const comparisonsPerGap = 4_000_000;
const windowLines = 400;

export function diffLines<Line extends string | number>(
  oldLines: readonly Line[],
  newLines: readonly Line[],
  effort: Effort = new Effort(defaultSteps),
): LineDiff {
  const { start, oldEnd, newEnd } = differing(oldLines, newLines);
  const whole = { oldStart: start, oldEnd, newStart: start, newEnd };
  if (start === oldEnd || start === newEnd)
    return { ranges: oldEnd === newEnd ? [] : [whole], coarse: false };
  const ids = intern(oldLines.slice(start, oldEnd), newLines.slice(start, newEnd));
  const matching = new Matching(ids, effort);
  matching.run();
  effort.spend(stepsPerLine * (ids.old.length + ids.new.length));
  const ranges = rangesOf(matching.partner, newEnd - start).map((range) => moved(range, start));
  return { ranges, coarse: matching.coarse };
}

/** Where the two differ, at most: most edits are small, and what is equal around them is not worth a number each. */
function differing<Line>(
  oldLines: readonly Line[],
  newLines: readonly Line[],
): { readonly start: number; readonly oldEnd: number; readonly newEnd: number } {
  let start = 0;
  let oldEnd = oldLines.length;
  let newEnd = newLines.length;
  while (start < oldEnd && start < newEnd && oldLines[start] === newLines[start]) start++;
  while (oldEnd > start && newEnd > start && oldLines[oldEnd - 1] === newLines[newEnd - 1]) {
    oldEnd--;
    newEnd--;
  }
  return { start, oldEnd, newEnd };
}

function moved({ oldStart, oldEnd, newStart, newEnd }: ChangedRange, by: number): ChangedRange {
  return {
    oldStart: oldStart + by,
    oldEnd: oldEnd + by,
    newStart: newStart + by,
    newEnd: newEnd + by,
  };
}

/**
 * Patience: lines that stand once on each side anchor the gaps between them, again and again; what
 * holds no such line goes to Myers. Invariant: `partner` rises, so any state of it is a correct diff.
 */
class Matching {
  /** For each old line the equal new line it is matched with, or -1. */
  readonly partner: Int32Array;
  coarse = false;
  readonly #ids: Interned;
  readonly #effort: Effort;
  readonly #oldCount: Int32Array;
  readonly #newCount: Int32Array;
  readonly #newAt: Int32Array;
  readonly #open: Gap[] = [];

  constructor(ids: Interned, effort: Effort) {
    this.#ids = ids;
    this.#effort = effort;
    this.partner = new Int32Array(ids.old.length).fill(-1);
    this.#oldCount = new Int32Array(ids.distinct);
    this.#newCount = new Int32Array(ids.distinct);
    this.#newAt = new Int32Array(ids.distinct);
  }

  run(): void {
    this.#open.push({
      old: upTo(this.#ids.old.length),
      new: upTo(this.#ids.new.length),
      window: false,
    });
    for (let gap = this.#open.pop(); gap !== undefined; gap = this.#open.pop()) this.#match(gap);
  }

  #match(whole: Gap): void {
    let gap = this.#trim(whole);
    if (gap.old.length === 0 || gap.new.length === 0) return;
    if (this.#effort.left === 0) {
      this.coarse = true;
      return;
    }
    this.#count(gap, 1);
    const shared = this.#onlyShared(gap);
    const anchored = this.#anchor(shared);
    this.#count(gap, -1);
    if (anchored) return;
    gap =
      shared.old.length === gap.old.length && shared.new.length === gap.new.length
        ? gap
        : this.#trim(shared);
    if (gap.old.length > 0 && gap.new.length > 0) this.#matchByMyers(gap);
  }

  #trim(gap: Gap): Gap {
    const { old: oldIds, new: newIds } = this.#ids;
    let start = 0;
    let oldEnd = gap.old.length;
    let newEnd = gap.new.length;
    while (
      start < oldEnd &&
      start < newEnd &&
      oldIds[gap.old[start]!] === newIds[gap.new[start]!]
    ) {
      this.partner[gap.old[start]!] = gap.new[start]!;
      start++;
    }
    while (
      oldEnd > start &&
      newEnd > start &&
      oldIds[gap.old[oldEnd - 1]!] === newIds[gap.new[newEnd - 1]!]
    ) {
      oldEnd--;
      newEnd--;
      this.partner[gap.old[oldEnd]!] = gap.new[newEnd]!;
    }
    return {
      old: gap.old.subarray(start, oldEnd),
      new: gap.new.subarray(start, newEnd),
      window: gap.window,
    };
  }

  /** Called with 1 and then -1: the counters stay all zero between gaps, so no gap pays for clearing them. */
  #count(gap: Gap, step: 1 | -1): void {
    for (const line of gap.old) this.#oldCount[this.#ids.old[line]!]! += step;
    for (const line of gap.new) {
      const id = this.#ids.new[line]!;
      this.#newCount[id]! += step;
      this.#newAt[id] = line;
    }
  }

  #onlyShared(gap: Gap): Gap {
    const old = gap.old.filter((line) => this.#newCount[this.#ids.old[line]!]! > 0);
    const fresh = gap.new.filter((line) => this.#oldCount[this.#ids.new[line]!]! > 0);
    return { old, new: fresh, window: gap.window };
  }

  #anchor(gap: Gap): boolean {
    const oldLines: number[] = [];
    const newLines: number[] = [];
    for (const line of gap.old) {
      const id = this.#ids.old[line]!;
      if (this.#oldCount[id] !== 1 || this.#newCount[id] !== 1) continue;
      oldLines.push(line);
      newLines.push(this.#newAt[id]!);
    }
    const anchors = risingPairs(newLines);
    if (anchors.length === 0) return false;
    let oldFrom = 0;
    let newFrom = 0;
    for (const anchor of anchors) {
      const oldLine = oldLines[anchor]!;
      const newLine = newLines[anchor]!;
      this.partner[oldLine] = newLine;
      const oldTo = firstNotBelow(gap.old, oldLine, oldFrom);
      const newTo = firstNotBelow(gap.new, newLine, newFrom);
      this.#leave(gap, oldFrom, oldTo, newFrom, newTo);
      oldFrom = oldTo + 1;
      newFrom = newTo + 1;
    }
    this.#leave(gap, oldFrom, gap.old.length, newFrom, gap.new.length);
    return true;
  }

  #leave(
    gap: Gap,
    oldFrom: number,
    oldTo: number,
    newFrom: number,
    newTo: number,
    window = gap.window,
  ): void {
    if (oldFrom === oldTo || newFrom === newTo) return;
    this.#effort.spend(stepsPerLine * (oldTo - oldFrom + newTo - newFrom));
    this.#open.push({
      old: gap.old.subarray(oldFrom, oldTo),
      new: gap.new.subarray(newFrom, newTo),
      window,
    });
  }

  #matchByMyers(gap: Gap): void {
    const { old: oldIds, new: newIds } = this.#ids;
    const pairs = myersPairs(
      gap.old.length,
      gap.new.length,
      (at, other) => oldIds[gap.old[at]!] === newIds[gap.new[other]!],
      this.#effort,
      gap.window ? Number.POSITIVE_INFINITY : comparisonsPerGap,
    );
    if (pairs !== null) {
      for (const [at, other, length] of pairs) {
        for (let step = 0; step < length; step++)
          this.partner[gap.old[at + step]!] = gap.new[other + step]!;
      }
      return;
    }
    this.coarse = true;
    if (!gap.window) this.#cutIntoWindows(gap);
  }

  #cutIntoWindows(gap: Gap): void {
    const windows = Math.ceil(Math.max(gap.old.length, gap.new.length) / windowLines);
    const cut = (length: number, window: number): number => Math.floor((length * window) / windows);
    for (let window = 0; window < windows; window++) {
      this.#leave(
        gap,
        cut(gap.old.length, window),
        cut(gap.old.length, window + 1),
        cut(gap.new.length, window),
        cut(gap.new.length, window + 1),
        true,
      );
    }
  }
}

function upTo(length: number): Int32Array {
  const numbers = new Int32Array(length);
  for (let at = 0; at < length; at++) numbers[at] = at;
  return numbers;
}

function rangesOf(partner: Int32Array, newLength: number): ChangedRange[] {
  const ranges: ChangedRange[] = [];
  let oldAt = 0;
  let newAt = 0;
  for (let line = 0; line <= partner.length; line++) {
    const matched = line === partner.length ? newLength : partner[line]!;
    if (matched < 0) continue;
    if (line > oldAt || matched > newAt) {
      ranges.push({ oldStart: oldAt, oldEnd: line, newStart: newAt, newEnd: matched });
    }
    oldAt = line + 1;
    newAt = matched + 1;
  }
  return ranges;
}
