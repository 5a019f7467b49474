import {
  checkPosition,
  checkRange,
  locateInText,
  Measure,
  measureText,
  type PositionedText,
  splitCharacter,
  type TextRope,
  type Unit,
} from "../base/index.ts";
import type { By, Stretch } from "./changes-since.ts";
import type { InsertStore } from "./insert-store.ts";

interface Part {
  readonly stretch: Stretch;
  /** Measures of the past text before this part. */
  readonly past: readonly number[];
  /** Offset in the current text. */
  readonly now: number;
}

/**
 * A past version of a text, seen through what changed since: positions in it are answered and carried
 * to the current text without building it.
 */
export class PastText implements PositionedText {
  readonly #parts: Part[] = [];
  readonly #totals: readonly number[];
  readonly #rope: TextRope;
  readonly #inserted: InsertStore;

  constructor(rope: TextRope, inserted: InsertStore, stretches: readonly Stretch[]) {
    this.#rope = rope;
    this.#inserted = inserted;
    let past = [0, 0, 0, 0];
    let now = 0;
    for (const stretch of stretches) {
      this.#parts.push({ stretch, past, now });
      if (stretch.kind !== "fresh") past = add(past, this.#measure(stretch, now));
      if (stretch.kind !== "gone") now += stretch.length;
    }
    this.#totals = past;
  }

  get length(): number {
    return this.#totals[Measure.utf16]!;
  }

  total(unit: Unit): number {
    return this.#totals[Measure[unit]]!;
  }

  slice(start: number, end: number): string {
    checkRange(start, end, this.length);
    let result = "";
    for (let i = this.#find(Measure.utf16, start); i < this.#parts.length; i++) {
      const part = this.#parts[i]!;
      if (part.stretch.kind === "fresh") continue;
      const from = part.past[Measure.utf16]!;
      if (from >= end) break;
      const low = Math.max(0, start - from);
      const high = Math.min(part.stretch.length, end - from);
      if (low < high) result += this.#textOf(part, low, high);
    }
    return result;
  }

  count(unit: Unit, offset: number): number {
    this.#checkBoundary(offset);
    const part = this.#parts[this.#find(Measure.utf16, offset)];
    if (part === undefined || part.stretch.kind === "fresh") return this.total(unit);
    const measure = Measure[unit];
    const local = offset - part.past[Measure.utf16]!;
    if (part.stretch.kind === "kept") {
      const here = this.#rope.count(unit, part.now + local) - this.#rope.count(unit, part.now);
      return part.past[measure]! + here;
    }
    return part.past[measure]! + measureText(this.#textOf(part, 0, local))[measure]!;
  }

  locate(unit: Unit, value: number): number {
    const measure = Measure[unit];
    const total = this.#totals[measure]!;
    checkPosition(unit, value, total);
    // The smallest offset with `value` before it: the part in which the value is reached.
    let low = 0;
    let high = this.#parts.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#parts[middle]!.past[measure]! >= value) high = middle;
      else low = middle + 1;
    }
    if (low === 0) return 0;
    const part = this.#parts[low - 1]!;
    const start = part.past[Measure.utf16]!;
    if (unit === "utf16") return value;
    if (part.stretch.kind === "kept") {
      const before = this.#rope.count(unit, part.now);
      return start + this.#rope.locate(unit, before + value - part.past[measure]!) - part.now;
    }
    const text = this.#textOf(part, 0, part.stretch.length);
    const local = locateInText(text, value - part.past[measure]!, measure);
    if (local === undefined) throw splitCharacter(unit, value);
    return start + local;
  }

  /** The offset in the current text before a past offset: before (`left`) or behind what was inserted there. */
  carry(offset: number, side: "left" | "right"): number {
    if (side === "left") {
      // Behind the past unit before the offset.
      if (offset === 0) return 0;
      const part = this.#parts[this.#find(Measure.utf16, offset - 1)]!;
      const local = offset - part.past[Measure.utf16]!;
      return part.stretch.kind === "kept" ? part.now + local : part.now;
    }
    const part = this.#parts[this.#find(Measure.utf16, offset)];
    if (part === undefined || part.stretch.kind === "fresh") return this.#rope.length;
    const local = offset - part.past[Measure.utf16]!;
    return part.stretch.kind === "kept" ? part.now + local : part.now;
  }

  /** Whether the past unit at an offset is still there. */
  survives(offset: number): boolean {
    return this.#parts[this.#find(Measure.utf16, offset)]?.stretch.kind === "kept";
  }

  /** Whether a past range is still there in one piece. */
  intact(start: number, end: number): boolean {
    if (start >= end) return true;
    const part = this.#parts[this.#find(Measure.utf16, start)]!;
    return part.stretch.kind === "kept" && end - part.past[Measure.utf16]! <= part.stretch.length;
  }

  /** The versions that touched a past range or its two ends. */
  touching(start: number, end: number): By[] {
    const result: By[] = [];
    for (const { stretch, past } of this.#parts) {
      if (stretch.kind === "kept") continue;
      const from = past[Measure.utf16]!;
      const to = stretch.kind === "gone" ? from + stretch.length : from;
      if (from <= end && to >= start) result.push(stretch.by);
    }
    return result;
  }

  /** The part that holds the past unit at `offset`; beyond the end, the last part there is. */
  #find(measure: number, offset: number): number {
    let low = 0;
    let high = this.#parts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (this.#parts[middle]!.past[measure]! <= offset) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  #checkBoundary(offset: number): void {
    checkRange(offset, offset, this.length);
    if (offset === 0 || offset === this.length) return;
    if (this.slice(offset - 1, offset + 1).codePointAt(0)! > 0xffff) {
      throw splitCharacter("utf16", offset);
    }
  }

  #textOf(part: Part, low: number, high: number): string {
    const { stretch } = part;
    return stretch.kind === "kept"
      ? this.#rope.slice(part.now + low, part.now + high)
      : this.#inserted.slice(stretch.counter + low, stretch.counter + high);
  }

  #measure(stretch: Stretch, now: number): number[] {
    if (stretch.kind !== "kept") {
      return measureText(this.#inserted.slice(stretch.counter, stretch.counter + stretch.length));
    }
    const from = this.#rope.measures(now);
    const to = this.#rope.measures(now + stretch.length);
    return to.map((value, m) => value - from[m]!);
  }
}

function add(left: readonly number[], right: readonly number[]): number[] {
  return left.map((value, m) => value + right[m]!);
}
