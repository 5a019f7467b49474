import type { Holds } from "./holds.ts";
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
import { deathsOf, type IndexState, type Piece, piecesOf } from "./run-pieces.ts";
import type { SpliceRecord } from "./splice-record.ts";
import type { Splice } from "./types.ts";

export interface FlipResult {
  /** Sequential, from the beginning of the text to its end. */
  readonly splices: Splice[];
  /** Units of the Edit that stay as they are, because of what another Edit did. */
  readonly stayed: number;
}

/** An Edit that becomes active or inactive, and the deletions that begin or cease to hold with it. */
export interface Flip {
  readonly edit: number;
  readonly active: boolean;
  readonly held: readonly number[];
}

/** Finds what a flip shows and hides. With a version it also does it; without one nothing is changed. */
export function flipEdit(
  state: IndexState,
  { edit, active, held }: Flip,
  version: number | undefined,
): FlipResult {
  const { record, index, activity } = state;
  const spans = spansOf(record, edit, held);
  const [, ...toggled] = spans;
  const deletions = held.map((death) => record.deletionOf(death));
  const holds = activity.holds.toggled(deletions, version ?? record.version + 1);
  const diff = new SpliceBuilder(record);
  let stayed = 0;
  let next: RunLeaf | null = null;
  for (let leaf: RunLeaf | null = index.tree.first; leaf !== null; leaf = next) {
    next = leaf.next as RunLeaf | null;
    if (!mayConcern(state, leaf, spans, edit)) {
      diff.keep(leaf.sums[0]!);
      continue;
    }
    const rewritten: number[] = [];
    for (let at = 0; at < leaf.count * STRIDE; at += STRIDE) {
      const bits = leaf.runs[at + BITS]!;
      const wasVisible = (bits & VISIBLE) !== 0;
      const firstOfRun = rewritten.length;
      for (const piece of piecesOf(state, leaf, at, holds)) {
        const own = concerns(record, piece, edit);
        const concerned = own || deathsOf(piece).some((death) => isWithin(toggled, death));
        const isVisible = concerned ? visibleIf(state, piece, { edit, active, holds }) : wasVisible;
        if (own && isVisible === wasVisible) stayed += piece.length;
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

/** Bounds on counters and deaths: what lies outside all of them cannot be concerned. */
interface Span {
  readonly counterFrom: number;
  readonly counterTo: number;
  readonly deathFrom: number;
  readonly deathTo: number;
}

/** Of the Edit first, then of the deletions. */
function spansOf(record: SpliceRecord, edit: number, held: readonly number[]): [Span, ...Span[]] {
  const [first, last] = record.editSpan(edit);
  const deletions = held.map((death): Span => {
    const { first: deathFrom, end: deathTo } = record.deletionOf(death);
    return { counterFrom: 0, counterTo: 0, deathFrom, deathTo };
  });
  const own: Span = {
    counterFrom: record.counterEnd(first - 1),
    counterTo: record.counterEnd(last),
    deathFrom: record.deathEnd(first - 1),
    deathTo: record.deathEnd(last),
  };
  return [own, ...deletions];
}

function mayConcern(
  { record, index }: IndexState,
  leaf: RunLeaf,
  spans: readonly Span[],
  edit: number,
): boolean {
  const runs = leaf.runs;
  const own = spans[0]!;
  for (let at = 0; at < leaf.count * STRIDE; at += STRIDE) {
    const counter = runs[at + COUNTER]!;
    const length = runs[at + LENGTH]!;
    if (counter < own.counterTo && counter + length > own.counterFrom) return true;
    const death = runs[at + DEATH]!;
    if (death === NO_DEATH) continue;
    const bits = runs[at + BITS]!;
    const low = bits & DESCENDING ? death - length + 1 : death;
    for (let i = 0; i < spans.length; i++) {
      if (low < spans[i]!.deathTo && low + length > spans[i]!.deathFrom) return true;
    }
    if (bits >> LATER_DEATHS_SHIFT === 0) continue;
    const later = index.laterDeaths[bits >> LATER_DEATHS_SHIFT]!;
    if (later.some((each) => record.editOfDeath(each) === edit || isWithin(spans, each)))
      return true;
  }
  return false;
}

function isWithin(spans: readonly Span[], death: number): boolean {
  return spans.some(({ deathFrom, deathTo }) => deathFrom <= death && death < deathTo);
}

function concerns(record: SpliceRecord, piece: Piece, edit: number): boolean {
  if (piece.birthEdit === edit || piece.deathEdit === edit) return true;
  return piece.laterDeaths.some((death) => record.editOfDeath(death) === edit);
}

/** Visibility now, were the Edit's flag what is asked. */
function visibleIf(
  { record, activity }: IndexState,
  piece: Piece,
  { edit, active, holds }: { edit: number; active: boolean; holds: Holds },
): boolean {
  const isActive = (other: number): boolean => (other === edit ? active : activity.isActive(other));
  if (!isActive(piece.birthEdit)) return false;
  return !deathsOf(piece).some(
    (death) => isActive(record.editOfDeath(death)) || holds.holds(death),
  );
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
