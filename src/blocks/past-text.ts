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
import type { Stretch } from "./changes-since.ts";
import type { InsertStore } from "./insert-store.ts";

interface Part {
  readonly stretch: Stretch;
  /** Offset of its beginning in the past text. */
  readonly past: number;
  /** Offset of its beginning in the current text. */
  readonly now: number;
  /** By how much the measures of the past text are ahead of the current one's here. */
  readonly ahead: readonly number[];
}

const LEVEL: readonly number[] = [0, 0, 0, 0];

/**
 * A past version of a text, seen through what changed since: positions in it are answered and carried
 * to the current text without building it. Only what changed is measured; the rest is known.
 */
export class PastText implements PositionedText {
  readonly #parts: Part[] = [];
  readonly #end: Part;
  readonly #rope: TextRope;
  readonly #inserted: InsertStore;

  constructor(rope: TextRope, inserted: InsertStore, stretches: readonly Stretch[]) {
    this.#rope = rope;
    this.#inserted = inserted;
    let past = 0;
    let now = 0;
    let ahead = LEVEL;
    for (const stretch of stretches) {
      this.#parts.push({ stretch, past, now, ahead });
      if (stretch.kind !== "kept") {
        const text = inserted.slice(stretch.counter, stretch.counter + stretch.length);
        const sign = stretch.kind === "gone" ? 1 : -1;
        ahead = measureText(text).map((value, m) => ahead[m]! + sign * value);
      }
      if (stretch.kind !== "fresh") past += stretch.length;
      if (stretch.kind !== "gone") now += stretch.length;
    }
    this.#end = { stretch: { kind: "kept", length: 0 }, past, now, ahead };
  }

  get length(): number {
    return this.#end.past;
  }

  total(unit: Unit): number {
    return this.#before(this.#end, unit);
  }

  slice(start: number, end: number): string {
    checkRange(start, end, this.length);
    let result = "";
    for (let i = this.#find(start); i < this.#parts.length; i++) {
      const part = this.#parts[i]!;
      if (part.stretch.kind === "fresh") continue;
      if (part.past >= end) break;
      const low = Math.max(0, start - part.past);
      const high = Math.min(part.stretch.length, end - part.past);
      if (low < high) result += this.#textOf(part, low, high);
    }
    return result;
  }

  count(unit: Unit, offset: number): number {
    this.#checkBoundary(offset);
    if (offset === this.length) return this.total(unit);
    const part = this.#parts[this.#find(offset)]!;
    const local = offset - part.past;
    if (part.stretch.kind === "kept") {
      return this.#rope.count(unit, part.now + local) + part.ahead[Measure[unit]]!;
    }
    return this.#before(part, unit) + measureText(this.#textOf(part, 0, local))[Measure[unit]]!;
  }

  locate(unit: Unit, value: number): number {
    checkPosition(unit, value, this.total(unit));
    if (unit === "utf16") {
      this.#checkBoundary(value);
      return value;
    }
    // The smallest offset with `value` before it: the part in which the value is reached.
    let low = 0;
    let high = this.#parts.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#before(this.#parts[middle]!, unit) >= value) high = middle;
      else low = middle + 1;
    }
    if (low === 0) return 0;
    const part = this.#parts[low - 1]!;
    if (part.stretch.kind === "kept") {
      const now = this.#rope.locate(unit, value - part.ahead[Measure[unit]]!);
      return part.past + now - part.now;
    }
    const text = this.#textOf(part, 0, part.stretch.length);
    const local = locateInText(text, value - this.#before(part, unit), Measure[unit]);
    if (local === undefined) throw splitCharacter(unit, value);
    return part.past + local;
  }

  /** The offset in the current text before a past offset: before (`left`) or behind what was inserted there. */
  carry(offset: number, side: "left" | "right"): number {
    if (side === "left") {
      // Behind the past unit before the offset.
      if (offset === 0) return 0;
      const part = this.#parts[this.#find(offset - 1)]!;
      const local = offset - part.past;
      return part.stretch.kind === "kept" ? part.now + local : part.now;
    }
    const part = this.#parts[this.#find(offset)];
    if (part === undefined || part.stretch.kind === "fresh") return this.#rope.length;
    const local = offset - part.past;
    return part.stretch.kind === "kept" ? part.now + local : part.now;
  }

  /** Whether the past unit at an offset is still there. */
  survives(offset: number): boolean {
    return this.#parts[this.#find(offset)]?.stretch.kind === "kept";
  }

  /** Whether a past range is still there in one piece. */
  intact(start: number, end: number): boolean {
    if (start >= end) return true;
    const part = this.#parts[this.#find(start)]!;
    return part.stretch.kind === "kept" && end - part.past <= part.stretch.length;
  }

  /** The versions that changed a past range: what was in it, or what came into it. */
  changedBy(start: number, end: number): number[] {
    return this.#touching(start, end, false);
  }

  /** The versions that changed what stands directly before or behind a past range. */
  changedBeside(start: number, end: number): number[] {
    return this.#touching(start, end, true);
  }

  #touching(start: number, end: number, beside: boolean): number[] {
    const versions = new Set<number>();
    const [from, to] = beside ? [start - 1, end + 1] : [start, end];
    for (const { stretch, past } of this.#parts) {
      if (stretch.kind === "kept") continue;
      if (stretch.kind === "fresh") {
        if (past > from && past < to)
          for (const by of stretch.by(0, stretch.length)) versions.add(by);
        continue;
      }
      const low = Math.max(0, from - past);
      const high = Math.min(stretch.length, to - past);
      if (low < high) for (const by of stretch.by(low, high)) versions.add(by);
    }
    return [...versions];
  }

  /** The part that holds the past unit at `offset`; beyond the end, the last part there is. */
  #find(offset: number): number {
    let low = 0;
    let high = this.#parts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (this.#parts[middle]!.past <= offset) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** How many of `unit` the past text has before a part. */
  #before(part: Part, unit: Unit): number {
    return this.#rope.count(unit, part.now) + part.ahead[Measure[unit]]!;
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
}
