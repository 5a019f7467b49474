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

/** Long enough to keep the tree flat, short enough that rewriting one leaf costs less than finding it. */
const LEAF_UNITS = 768;

class TextLeaf extends SumLeaf {
  text: string;

  constructor(text: string) {
    super(measureText(text));
    this.text = text;
  }
}

/**
 * A text that is edited while positions in it are looked up in any unit.
 *
 * Invariants: leaves hold no lone surrogate (a pair is never cut), none is empty unless it is the
 * only one, none is longer than the limit. The remembered leaf and its start are always current:
 * typing goes on where it went on before.
 */
export class TextRope implements PositionedText {
  #tree: SumTree<TextLeaf>;
  #leaf: TextLeaf;
  #leafStart = 0;
  #whole: string | undefined;
  readonly #limit: number;

  constructor(text = "", leafUnits = LEAF_UNITS) {
    this.#limit = leafUnits;
    this.#tree = new SumTree(
      cut(text, leafUnits).map((piece) => new TextLeaf(piece)),
      Measure.count,
    );
    this.#leaf = this.#tree.first;
    this.#whole = text;
  }

  get length(): number {
    return this.#tree.total(Measure.utf16);
  }

  total(unit: Unit): number {
    return this.#tree.total(Measure[unit]);
  }

  toString(): string {
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
    const leaf = this.#tree.find(Measure.utf16, offset, true);
    const measure = Measure[unit];
    const before = this.#tree.before[measure]!;
    return before + measureOf(leaf.text, offset - this.#tree.before[Measure.utf16]!, measure);
  }

  /** The UTF-16 offset before which exactly `value` of `unit` lie: the inverse of `count`. */
  locate(unit: Unit, value: number): number {
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
    const length = this.length;
    checkPosition("utf16", offset, length);
    if (this.total("codepoint") === length) return;
    const leaf = this.#seek(offset, true);
    if (isLowSurrogate(leaf.text.charCodeAt(offset - this.#leafStart))) {
      throw splitCharacter("utf16", offset);
    }
  }

  /** The caller has checked both ends and that `insert` is well formed. */
  splice(at: number, remove: number, insert: string): void {
    this.#whole = undefined;
    const leaf = this.#seek(at, true);
    const local = at - this.#leafStart;
    const text = leaf.text;
    if (local + remove <= text.length) {
      const length = text.length - remove + insert.length;
      if (length <= this.#limit && length > 0) {
        const removed = remove === 0 ? "" : text.slice(local, local + remove);
        leaf.text = text.slice(0, local) + insert + text.slice(local + remove);
        this.#recount(leaf, removed, insert);
        return;
      }
    }
    this.#spliceAcross(leaf, local, remove, insert);
  }

  #recount(leaf: TextLeaf, removed: string, inserted: string): void {
    const tree = this.#tree;
    tree.add(leaf, Measure.utf16, inserted.length - removed.length);
    const plus = measureText(inserted);
    const minus = measureText(removed);
    for (let m = 1; m < Measure.count; m++) {
      const difference = plus[m]! - minus[m]!;
      if (difference !== 0) tree.add(leaf, m, difference);
    }
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
    const before = leaf.text;
    leaf.text = pieces[0]!;
    this.#recount(leaf, before, leaf.text);
    let last = leaf;
    for (let i = 1; i < pieces.length; i++) {
      const added = new TextLeaf(pieces[i]!);
      this.#tree.insertAfter(last, added);
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
