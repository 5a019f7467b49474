import {
  BITS,
  COUNTER,
  DEATH,
  DESCENDING,
  FLIPPED,
  LATER_DEATHS_SHIFT,
  LENGTH,
  NO_DEATH,
  type RunLeaf,
  STRIDE,
  VISIBLE,
} from "./run-leaf.ts";
import { type IndexState, NO_EDIT, type Piece, piecesOf } from "./run-pieces.ts";
import type { SpliceRecord } from "./splice-record.ts";
import type { Splice } from "./types.ts";

export interface FlipResult {
  /** Sequential, from the beginning of the text to its end. */
  readonly splices: Splice[];
  /** Units of the Edit that stay as they are, because another Edit hides them too. */
  readonly stayed: number;
}

/**
 * Finds what shows and hides when an Edit becomes active or inactive. With a version it also does it;
 * without one nothing is changed.
 */
export function flipEdit(
  state: IndexState,
  edit: number,
  active: boolean,
  version: number | undefined,
): FlipResult {
  const { record, index } = state;
  const span = spanOf(record, edit);
  const diff = new SpliceBuilder(record);
  let stayed = 0;
  let next: RunLeaf | null = null;
  for (let leaf: RunLeaf | null = index.tree.first; leaf !== null; leaf = next) {
    next = leaf.next as RunLeaf | null;
    if (!mayConcern(state, leaf, span, edit)) {
      diff.keep(leaf.sums[0]!);
      continue;
    }
    const rewritten: number[] = [];
    for (let at = 0; at < leaf.count * STRIDE; at += STRIDE) {
      const bits = leaf.runs[at + BITS]!;
      const wasVisible = (bits & VISIBLE) !== 0;
      const firstOfRun = rewritten.length;
      for (const piece of piecesOf(state, leaf, at)) {
        const concerned = concerns(record, piece, edit);
        const isVisible = concerned ? visibleIf(state, piece, edit, active) : wasVisible;
        if (concerned && isVisible === wasVisible) stayed += piece.length;
        diff.unit(piece.counter, piece.length, wasVisible, isVisible);
        const newBits = (bits & ~VISIBLE) | (isVisible ? VISIBLE : 0) | (concerned ? FLIPPED : 0);
        if (rewritten.length > firstOfRun && rewritten.at(BITS - STRIDE) === newBits) {
          rewritten[rewritten.length - STRIDE + LENGTH]! += piece.length;
        } else {
          rewritten.push(piece.counter, piece.length, piece.death, newBits);
        }
      }
    }
    if (version !== undefined) index.rewrite(leaf, rewritten, version);
  }
  return { splices: diff.finish(), stayed };
}

interface Span {
  readonly counterFrom: number;
  readonly counterTo: number;
  readonly deathFrom: number;
  readonly deathTo: number;
}

/** Bounds on the counters and deaths of an Edit: what lies outside cannot be concerned. */
function spanOf(record: SpliceRecord, edit: number): Span {
  const [first, last] = record.editSpan(edit);
  return {
    counterFrom: record.counterEnd(first - 1),
    counterTo: record.counterEnd(last),
    deathFrom: record.deathEnd(first - 1),
    deathTo: record.deathEnd(last),
  };
}

function mayConcern(
  { record, index }: IndexState,
  leaf: RunLeaf,
  span: Span,
  edit: number,
): boolean {
  const runs = leaf.runs;
  for (let at = 0; at < leaf.count * STRIDE; at += STRIDE) {
    const counter = runs[at + COUNTER]!;
    const length = runs[at + LENGTH]!;
    if (counter < span.counterTo && counter + length > span.counterFrom) return true;
    const death = runs[at + DEATH]!;
    if (death === NO_DEATH) continue;
    const bits = runs[at + BITS]!;
    const low = bits & DESCENDING ? death - length + 1 : death;
    if (low < span.deathTo && low + length > span.deathFrom) return true;
    const later = index.laterDeaths[bits >> LATER_DEATHS_SHIFT]!;
    if (later.some((version) => record.editOf(version) === edit)) return true;
  }
  return false;
}

function concerns(record: SpliceRecord, piece: Piece, edit: number): boolean {
  if (piece.birthEdit === edit || piece.deathEdit === edit) return true;
  return piece.laterDeaths.some((death) => record.editOf(death) === edit);
}

/** Visibility now, were the Edit's flag what is asked. */
function visibleIf(
  { record, activity }: IndexState,
  piece: Piece,
  edit: number,
  flag: boolean,
): boolean {
  const isActive = (other: number): boolean => (other === edit ? flag : activity.isActive(other));
  if (!isActive(piece.birthEdit)) return false;
  if (piece.deathEdit !== NO_EDIT && isActive(piece.deathEdit)) return false;
  return !piece.laterDeaths.some((death) => isActive(record.editOf(death)));
}

/** Turns the walk over runs into as few sequential splices as there are places that change. */
class SpliceBuilder {
  readonly #record: SpliceRecord;
  readonly #splices: Splice[] = [];
  #offset = 0;
  #removed = 0;
  #inserted = "";

  constructor(record: SpliceRecord) {
    this.#record = record;
  }

  keep(units: number): void {
    if (units === 0) return;
    this.#flush();
    this.#offset += units;
  }

  unit(counter: number, length: number, was: boolean, is: boolean): void {
    if (was && is) this.keep(length);
    else if (was) this.#removed += length;
    else if (is) this.#inserted += this.#record.inserted.slice(counter, counter + length);
  }

  finish(): Splice[] {
    this.#flush();
    return this.#splices;
  }

  #flush(): void {
    if (this.#removed === 0 && this.#inserted === "") return;
    this.#splices.push({ at: this.#offset, remove: this.#removed, insert: this.#inserted });
    this.#offset += this.#inserted.length;
    this.#removed = 0;
    this.#inserted = "";
  }
}
