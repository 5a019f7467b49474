import { firstNotBelow } from "../first-not-below.ts";
import { type LineIndex, type Form, inForm } from "./line-index.ts";
import type { OldSide } from "./old-side.ts";
import { drops, type Tolerance, tolerances } from "./tolerance.ts";

export interface Place {
  /** The text line of the first old line. Negative when dropped context would stand before the text. */
  readonly start: number;
  readonly tolerance: Tolerance;
  /** The larger number of context lines dropped at one end. */
  readonly fuzz: number;
}

export interface Search {
  /** No line before this may be compared: earlier hunks changed them. */
  readonly from: number;
  /** Where the hunk is expected, best guess first; empty when it has no number. */
  readonly expected: readonly number[];
  readonly fuzz: number;
}

/** Places listed in an ambiguity; more than these say nothing new. */
const listed = 20;

/**
 * All places that fit equally well, under the first tolerance under which any does: one is the answer,
 * several are an ambiguity. A number decides between exact places by nearness; between loose ones it
 * decides only where it is met exactly.
 */
export function findPlaces(index: LineIndex, old: OldSide, search: Search): Place[] {
  for (const tolerance of tolerances(search.fuzz)) {
    const places = placesUnder(index, old, search, tolerance);
    if (places.length > 0) return places;
  }
  return [];
}

function placesUnder(
  index: LineIndex,
  old: OldSide,
  search: Search,
  tolerance: Tolerance,
): Place[] {
  const ways = drops(tolerance.dropped, search.fuzz, old.leadingContext, old.trailingContext)
    .map((way) => new Comparison(index, old, tolerance, way.leading, way.trailing, search.from))
    .filter((comparison) => comparison.meaningful);
  const placeOf = (comparison: Comparison, start: number): Place => ({
    start,
    tolerance,
    fuzz: Math.max(comparison.first, old.texts.length - comparison.end),
  });
  for (const start of search.expected) {
    const way = ways.find((comparison) => comparison.fits(start));
    if (way !== undefined) return [placeOf(way, start)];
  }
  const found = new Map<number, Place>();
  const nearest = isLoose(tolerance) ? undefined : search.expected[0];
  for (const way of ways) {
    if (tolerance.dropped > 0 && !way.keepsContext) continue;
    const starts = nearest === undefined ? way.all(listed + 1) : way.nearest(nearest);
    for (const start of starts) if (!found.has(start)) found.set(start, placeOf(way, start));
  }
  return [...found.values()].toSorted((a, b) => a.start - b.start);
}

/** More than line endings may differ. */
function isLoose(tolerance: Tolerance): boolean {
  const { context, removed, dropped } = tolerance;
  return dropped > 0 || removed === "stripped" || context === "trailing" || context === "around";
}

/** One hunk's compared lines [first, end), and where in the text they stand. */
class Comparison {
  readonly first: number;
  readonly end: number;
  readonly #index: LineIndex;
  readonly #old: OldSide;
  readonly #tolerance: Tolerance;
  readonly #from: number;

  constructor(
    index: LineIndex,
    old: OldSide,
    tolerance: Tolerance,
    leading: number,
    trailing: number,
    from: number,
  ) {
    this.#index = index;
    this.#old = old;
    this.#tolerance = tolerance;
    this.#from = from;
    this.first = leading;
    this.end = old.texts.length - trailing;
  }

  /** Blank lines alone say nothing about the place once anything may differ. */
  get meaningful(): boolean {
    if (this.first >= this.end) return false;
    if (!isLoose(this.#tolerance)) return true;
    if (this.#tolerance.removed === "stripped") return this.keepsContext;
    return this.#old.texts.slice(this.first, this.end).some((text) => text.trim() !== "");
  }

  /** Removed lines alone, with all context ignored, are believed only where the hunk says it is. */
  get keepsContext(): boolean {
    for (let at = this.first; at < this.end; at++) {
      if (!this.#old.removed[at] && this.#old.texts[at]!.trim() !== "") return true;
    }
    return false;
  }

  fits(start: number): boolean {
    const { lines } = this.#index;
    if (start + this.first < this.#from || start + this.end > lines.length) return false;
    if (this.#old.atEnd && start + this.#old.texts.length !== lines.length) return false;
    for (let at = this.first; at < this.end; at++) {
      if (!this.#sameLine(lines[start + at]!, at)) return false;
    }
    return true;
  }

  #sameLine(line: string, at: number): boolean {
    const wanted = this.#old.texts[at]!;
    if (line === wanted) return true;
    const { context, removed } = this.#tolerance;
    if (!this.#old.removed[at]) return inForm(context, line) === inForm(context, wanted);
    if (removed === "exact") return false;
    if (removed === "ending") return inForm("ending", line) === inForm("ending", wanted);
    const stripped = inForm("ending", wanted);
    return line.startsWith(stripped) && line.trimEnd() === stripped.trimEnd();
  }

  /** Starts that fit, rising, at most `limit`. */
  all(limit: number): number[] {
    const { candidates, shift } = this.#candidates();
    const fitting: number[] = [];
    for (const line of candidates) {
      if (fitting.length === limit) break;
      if (this.fits(line - shift)) fitting.push(line - shift);
    }
    return fitting;
  }

  /** The start that fits nearest to `expected`; two when they are equally near. */
  nearest(expected: number): number[] {
    const { candidates, shift } = this.#candidates();
    let above = firstNotBelow(candidates, expected + shift);
    let below = above - 1;
    let distance = Number.POSITIVE_INFINITY;
    const fitting: number[] = [];
    while (below >= 0 || above < candidates.length) {
      const down = below >= 0 ? expected - (candidates[below]! - shift) : Number.POSITIVE_INFINITY;
      const up =
        above < candidates.length
          ? candidates[above]! - shift - expected
          : Number.POSITIVE_INFINITY;
      const near = Math.min(down, up);
      if (near > distance) break;
      const start = down <= up ? candidates[below--]! - shift : candidates[above++]! - shift;
      if (!this.fits(start)) continue;
      distance = near;
      fitting.push(start);
    }
    return fitting;
  }

  /** Where the rarest compared line stands; its own place within the hunk is `shift`. */
  #candidates(): { candidates: Int32Array; shift: number } {
    let best: { candidates: Int32Array; shift: number } | null = null;
    for (let at = this.first; at < this.end; at++) {
      const form = this.#indexForm(at);
      const index = this.#index.in(form);
      const id = index.idOf(inForm(form, this.#old.texts[at]!));
      if (id < 0) return { candidates: new Int32Array(0), shift: 0 };
      const candidates = index.positionsOf(id);
      if (best === null || candidates.length < best.candidates.length)
        best = { candidates, shift: at };
    }
    return best ?? { candidates: new Int32Array(0), shift: 0 };
  }

  #indexForm(at: number): Form {
    const { context, removed } = this.#tolerance;
    if (!this.#old.removed[at]) return context;
    return removed === "stripped" ? "trailing" : removed;
  }
}
