import { SumLeaf, SumTree } from "./sum-tree.ts";
import {
  Measure,
  type PositionedText,
  type Unit,
  checkPosition,
  checkRange,
  locateInText,
  measureOf,
  measureText,
  splitCharacter,
} from "./text-positions.ts";

/** Typing is gathered up to here before it goes into its leaf. */
const TYPED_UNITS = 128;
/** Long enough to keep the tree flat, short enough that rewriting one leaf costs less than finding it. */
const LEAF_UNITS = 768;
const SURROGATE = /[\ud800-\udfff]/;

class TextLeaf extends SumLeaf {
  text: string;
  /** Whether its sums, but for UTF-16 units, are still those of an earlier text. */
  stale = true;

  constructor(text: string) {
    super([text.length, 0, 0, 0]);
    this.text = text;
  }
}

/**
 * A text that is edited while positions in it are looked up in any unit.
 *
 * Invariants: leaves hold no lone surrogate (a pair is never cut), none is empty unless it is the
 * only one, none is longer than the limit. The remembered leaf and its start are always current.
 * Text that is being typed waits beside the tree, and is in it before anyone looks at more than the length.
 * Lines, bytes and code points of changed leaves are counted when somebody asks: most edits come by offset.
 */
export class TextRope implements PositionedText {
  #tree: SumTree<TextLeaf>;
  #leaf: TextLeaf;
  #leafStart = 0;
  #whole: string | undefined;
  #stale: TextLeaf[];
  /** Whether a surrogate pair ever came in: without one every offset is between characters. */
  #pairs: boolean;
  #typed = "";
  #typedAt = 0;
  readonly #limit: number;

  constructor(text = "", leafUnits = LEAF_UNITS) {
    this.#limit = leafUnits;
    this.#stale = cut(text, leafUnits).map((piece) => new TextLeaf(piece));
    this.#tree = new SumTree(this.#stale, Measure.count);
    this.#pairs = SURROGATE.test(text);
    this.#leaf = this.#tree.first;
    this.#whole = text;
  }

  get length(): number {
    return this.#tree.total(Measure.utf16) + this.#typed.length;
  }

  total(unit: Unit): number {
    this.#measure();
    return this.#tree.total(Measure[unit]);
  }

  toString(): string {
    this.#settle();
    if (this.#whole === undefined) {
      let whole = "";
      for (let leaf: TextLeaf | null = this.#tree.first; leaf !== null; leaf = nextOf(leaf)) {
        whole += leaf.text;
      }
      this.#whole = whole;
    }
    return this.#whole;
  }

  slice(start: number, end: number): string {
    checkRange(start, end, this.length);
    if (start === end) return "";
    this.#settle();
    let leaf: TextLeaf | null = this.#seek(start, false);
    let from = start - this.#leafStart;
    let rest = end - start;
    let result = "";
    while (rest > 0 && leaf !== null) {
      const piece = leaf.text.slice(from, from + rest);
      result += piece;
      rest -= piece.length;
      from = 0;
      leaf = nextOf(leaf);
    }
    return result;
  }

  /** How many of `unit` lie before a UTF-16 offset. */
  count(unit: Unit, offset: number): number {
    this.checkBoundary(offset);
    this.#measure();
    const leaf = this.#tree.find(Measure.utf16, offset, true);
    const measure = Measure[unit];
    const before = this.#tree.before[measure]!;
    return before + measureOf(leaf.text, offset - this.#tree.before[Measure.utf16]!, measure);
  }

  /** The UTF-16 offset before which exactly `value` of `unit` lie: the inverse of `count`. */
  locate(unit: Unit, value: number): number {
    this.#measure();
    const measure = Measure[unit];
    const total = this.#tree.total(measure);
    checkPosition(unit, value, total);
    if (unit === "utf16") {
      this.checkBoundary(value);
      return value;
    }
    const leaf = this.#tree.find(measure, value, true);
    const before = this.#tree.before;
    const local = locateInText(leaf.text, value - before[measure]!, measure);
    if (local === undefined) throw splitCharacter(unit, value);
    return before[Measure.utf16]! + local;
  }

  /** Refuses an offset outside the text or inside a surrogate pair. */
  checkBoundary(offset: number): void {
    checkPosition("utf16", offset, this.length);
    if (!this.#pairs) return;
    this.#settle();
    const leaf = this.#seek(offset, true);
    if (isLowSurrogate(leaf.text.charCodeAt(offset - this.#leafStart))) {
      throw splitCharacter("utf16", offset);
    }
  }

  /** The caller has checked both ends and that `insert` is well formed. */
  splice(at: number, remove: number, insert: string): void {
    this.#whole = undefined;
    if (!this.#pairs && SURROGATE.test(insert)) this.#pairs = true;
    if (this.#typed !== "" && this.#goesOnTyping(at - this.#typedAt, remove, insert)) return;
    this.#settle();
    if (remove === 0 && insert.length < TYPED_UNITS) {
      this.#typedAt = at;
      this.#typed = insert;
    } else {
      this.#spliceTree(at, remove, insert);
    }
  }

  /** Typing behind what was typed, or erasing the end of it. */
  #goesOnTyping(local: number, remove: number, insert: string): boolean {
    const typed = this.#typed;
    if (local < 0 || local + remove !== typed.length) return false;
    if (remove === 0 && typed.length + insert.length > TYPED_UNITS) return false;
    this.#typed = remove === 0 ? typed + insert : typed.slice(0, local) + insert;
    return true;
  }

  #settle(): void {
    const typed = this.#typed;
    if (typed === "") return;
    this.#typed = "";
    this.#spliceTree(this.#typedAt, 0, typed);
  }

  #spliceTree(at: number, remove: number, insert: string): void {
    const leaf = this.#seek(at, true);
    const local = at - this.#leafStart;
    const text = leaf.text;
    if (local + remove <= text.length) {
      const length = text.length - remove + insert.length;
      if (length <= this.#limit && length > 0) {
        this.#rewrite(leaf, text.slice(0, local) + insert + text.slice(local + remove));
        return;
      }
    }
    this.#spliceAcross(leaf, local, remove, insert);
  }

  #rewrite(leaf: TextLeaf, text: string): void {
    this.#tree.add(leaf, Measure.utf16, text.length - leaf.text.length);
    leaf.text = text;
    this.#markStale(leaf);
  }

  #markStale(leaf: TextLeaf): void {
    if (leaf.stale) return;
    leaf.stale = true;
    this.#stale.push(leaf);
  }

  /** Counts what changed since somebody asked last. */
  #measure(): void {
    this.#settle();
    for (const leaf of this.#stale) {
      leaf.stale = false;
      // A leaf that was taken out has no place any more; the sums above lost it then.
      if (leaf.parent === null) continue;
      const measured = measureText(leaf.text);
      for (let m = 1; m < Measure.count; m++) {
        const difference = measured[m]! - leaf.sums[m]!;
        if (difference !== 0) this.#tree.add(leaf, m, difference);
      }
    }
    this.#stale = [];
  }

  /** Gathers the leaves a splice touches, removes all but the first and lays the new text out again. */
  #spliceAcross(leaf: TextLeaf, local: number, remove: number, insert: string): void {
    let tail = leaf.text.slice(local);
    while (tail.length < remove) {
      const next = nextOf(leaf)!;
      tail += next.text;
      this.#tree.remove(next);
    }
    let text = leaf.text.slice(0, local) + insert + tail.slice(remove);
    const next = nextOf(leaf);
    if (next !== null && text.length + next.text.length <= this.#limit) {
      text += next.text;
      this.#tree.remove(next);
    }
    // A leaf is entered from its left only at the very beginning, so only the first can run empty.
    const after = nextOf(leaf);
    if (text === "" && after !== null) {
      this.#leaf = after;
      this.#tree.remove(leaf);
      return;
    }
    const pieces = cut(text, this.#limit);
    this.#rewrite(leaf, pieces[0]!);
    let last = leaf;
    for (let i = 1; i < pieces.length; i++) {
      const added = new TextLeaf(pieces[i]!);
      this.#tree.insertAfter(last, added);
      this.#stale.push(added);
      last = added;
    }
  }

  #seek(offset: number, leftward: boolean): TextLeaf {
    const local = offset - this.#leafStart;
    const length = this.#leaf.text.length;
    const inside = leftward
      ? (local > 0 || (local === 0 && offset === 0)) && local <= length
      : local >= 0 && local < length;
    if (!inside) {
      this.#leaf = this.#tree.find(Measure.utf16, offset, leftward);
      this.#leafStart = this.#tree.before[Measure.utf16]!;
    }
    return this.#leaf;
  }
}

function nextOf(leaf: TextLeaf): TextLeaf | null {
  return leaf.next as TextLeaf | null;
}

function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}

/** Pieces of half to full length, so that each has room to grow; a surrogate pair stays together. */
function cut(text: string, limit: number): string[] {
  if (text.length <= limit) return [text];
  const pieces: string[] = [];
  const size = Math.max(2, Math.ceil(limit * 0.66));
  let start = 0;
  while (start < text.length) {
    let end = Math.min(text.length, start + size);
    if (end < text.length && isLowSurrogate(text.charCodeAt(end))) end -= 1;
    pieces.push(text.slice(start, end));
    start = end;
  }
  return pieces;
}
