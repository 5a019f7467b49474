import { damaged, SumTree } from "../base/index.ts";
import {
  BITS,
  COUNTER,
  DEATH,
  HIDDEN_UNITS,
  LATER_DEATHS_SHIFT,
  LENGTH,
  NO_DEATH,
  RunLeaf,
  STRIDE,
  VISIBLE,
  VISIBLE_UNITS,
} from "./run-leaf.ts";
import type { SpliceRecord } from "./splice-record.ts";

interface NewUnits {
  readonly counter: number;
  readonly length: number;
  readonly version: number;
}

/** Behind how many hidden units at an offset text belongs, when the counter of the visible unit before is this. */
export type Place = (at: number, before: number | undefined) => number;

/** A hidden run: its leaf, and where its numbers begin there. */
export interface HiddenRun {
  readonly leaf: RunLeaf;
  readonly at: number;
}

/**
 * Every run of text ever inserted, in document order, visible or hidden: undo, redo, blame and past
 * versions are read from it.
 *
 * Invariants
 * - Visible runs, in order, are the current text.
 * - It is a function of the recorded splices and flips in version order.
 * - New text goes directly behind the visible unit before it, so that typing extends one run, or behind as many of the
 *   hidden units that follow as its record says.
 * - The stamp of a leaf is the last version that changed anything in it.
 */
export class RunIndex {
  /** Room in a leaf; tests make it small so that leaves divide all the time. */
  static leafRuns = 48;
  readonly tree: SumTree<RunLeaf>;
  /**
   * Deaths after the first, by list number; only text deleted again after an undo has any. Of each deletion one number,
   * which tells it from others: not those of the single units.
   */
  readonly laterDeaths: (readonly number[])[] = [[]];
  #leaf: RunLeaf;
  #leafStart = 0;
  readonly #capacity = RunIndex.leafRuns;

  constructor(leaves?: readonly RunLeaf[]) {
    this.tree = new SumTree(leaves ?? [new RunLeaf(this.#capacity)], 2);
    this.#leaf = this.tree.first;
  }

  get length(): number {
    return this.tree.total(VISIBLE_UNITS);
  }

  /**
   * Puts new units with counters from `counter` on at a visible offset. When something hidden may follow there, `place`
   * says behind how much of it, and so does what is returned.
   */
  insert(at: number, counter: number, length: number, version: number, place?: Place): number {
    let leaf = this.#seek(at, true);
    if (leaf.count + 2 > leaf.capacity) {
      this.divide(leaf);
      leaf = this.#seek(at, true);
    }
    const runs = leaf.runs;
    let rest = at - this.#leafStart;
    let index = 0;
    if (rest > 0) {
      for (; ; index++) {
        if ((runs[index * STRIDE + BITS]! & VISIBLE) === 0) continue;
        const runLength = runs[index * STRIDE + LENGTH]!;
        if (rest <= runLength) break;
        rest -= runLength;
      }
      const run = index * STRIDE;
      if (rest < runs[run + LENGTH]!) leaf.split(index, rest);
      else if (place !== undefined && !isVisible(leaf, index + 1)) {
        const hidden = place(at, runs[run + COUNTER]! + rest - 1);
        if (hidden > 0) return this.insertBehind(at, { counter, length, version }, hidden);
      }
      const goesOn = counter === runs[run + COUNTER]! + runs[run + LENGTH]!;
      index += 1;
      if (goesOn && runs[run + DEATH] === NO_DEATH && runs[run + BITS] === VISIBLE) {
        runs[run + LENGTH]! += length;
        this.tree.add(leaf, VISIBLE_UNITS, length);
        this.tree.touch(leaf, version);
        return 0;
      }
    } else if (place !== undefined && !isVisible(leaf, 0)) {
      const hidden = place(at, undefined);
      if (hidden > 0) return this.insertBehind(at, { counter, length, version }, hidden);
    }
    leaf.open(index, 1);
    leaf.set(index, counter, length, NO_DEATH, VISIBLE);
    this.tree.add(leaf, VISIBLE_UNITS, length);
    this.tree.touch(leaf, version);
    return 0;
  }

  /** Puts new units on behind so many of the hidden ones that follow the visible unit before an offset. */
  insertBehind(at: number, { counter, length, version }: NewUnits, hidden: number): number {
    let { leaf, at: run, rest } = this.#hiddenAt(at, hidden);
    if (leaf.count + 2 > leaf.capacity) {
      this.divide(leaf);
      ({ leaf, at: run, rest } = this.#hiddenAt(at, hidden));
    }
    const index = run / STRIDE;
    if (rest < leaf.runs[run + LENGTH]!) leaf.split(index, rest);
    leaf.open(index + 1, 1);
    leaf.set(index + 1, counter, length, NO_DEATH, VISIBLE);
    this.tree.add(leaf, VISIBLE_UNITS, length);
    this.tree.touch(leaf, version);
    return hidden;
  }

  /** The hidden run in which the last of so many hidden units stands, and how many of them stand in it. */
  #hiddenAt(at: number, hidden: number): HiddenRun & { rest: number } {
    if (hidden > this.hiddenUnits(at))
      throw damaged("a text stands behind deleted text that is not there");
    const end = this.#hiddenBehind(at) + hidden;
    const leaf = this.tree.find(HIDDEN_UNITS, end, true);
    let rest = end - this.tree.before[HIDDEN_UNITS]!;
    for (let run = 0; ; run += STRIDE) {
      if (leaf.runs[run + BITS]! & VISIBLE) continue;
      const length = leaf.runs[run + LENGTH]!;
      if (rest <= length) return { leaf, at: run, rest };
      rest -= length;
    }
  }

  /** How many units are hidden between the visible unit before an offset and the next visible one. */
  hiddenUnits(at: number): number {
    const before = this.#seek(at, true);
    // Nearly always there are none, and this is asked for each text that takes the place of another.
    if (isVisible(before, this.#runBehind(before, at) / STRIDE)) return 0;
    const { leaf, run } = this.#nextVisible(at);
    return this.tree.before[HIDDEN_UNITS]! + hiddenUnits(leaf, run) - this.#hiddenBehind(at);
  }

  /** How many units are hidden before an offset: before the visible unit that stands before it. */
  #hiddenBehind(at: number): number {
    const leaf = this.#seek(at, true);
    return this.tree.startOf(leaf, HIDDEN_UNITS) + hiddenUnits(leaf, this.#runBehind(leaf, at));
  }

  /** Where in a leaf the runs behind the visible unit before an offset begin. */
  #runBehind(leaf: RunLeaf, at: number): number {
    let rest = at - this.#leafStart;
    if (rest === 0) return 0;
    for (let run = 0; ; run += STRIDE) {
      if ((leaf.runs[run + BITS]! & VISIBLE) === 0) continue;
      rest -= leaf.runs[run + LENGTH]!;
      if (rest <= 0) return run + STRIDE;
    }
  }

  /** Where the first visible run is that does not end before an offset or there, with the sums before its leaf. */
  #nextVisible(at: number): { leaf: RunLeaf; run: number; rest: number } {
    // Not by `#seek`: where the leaf that it keeps begins would be wrong as soon as the one before has grown.
    const leaf = this.tree.find(VISIBLE_UNITS, at, false);
    let rest = at - this.tree.before[VISIBLE_UNITS]!;
    let run = 0;
    for (; run < leaf.count * STRIDE; run += STRIDE) {
      if ((leaf.runs[run + BITS]! & VISIBLE) === 0) continue;
      const length = leaf.runs[run + LENGTH]!;
      if (rest < length) break;
      rest -= length;
    }
    return { leaf, run, rest };
  }

  /** The hidden runs between the visible unit before an offset and the next visible one. */
  gap(at: number): Iterable<HiddenRun> {
    // Inside a visible run nothing is hidden.
    if (this.hiddenUnits(at) === 0) return [];
    const leaf = this.#seek(at, true);
    return hiddenFrom(leaf, this.#runBehind(leaf, at));
  }

  /** The same hidden runs as those of `gap`, the last one first. */
  gapFromBehind(at: number): Iterable<HiddenRun> {
    const { leaf, run, rest } = this.#nextVisible(at);
    return rest > 0 ? [] : hiddenBefore(leaf, run);
  }

  /** Hides visible units, giving them death numbers from `death` on. */
  remove(at: number, length: number, death: number, version: number): void {
    while (length > 0) {
      let leaf = this.#seek(at, false);
      if (leaf.count + 2 > leaf.capacity) {
        this.divide(leaf);
        leaf = this.#seek(at, false);
      }
      const runs = leaf.runs;
      let rest = at - this.#leafStart;
      let index = 0;
      for (; ; index++) {
        if ((runs[index * STRIDE + BITS]! & VISIBLE) === 0) continue;
        const runLength = runs[index * STRIDE + LENGTH]!;
        if (rest < runLength) break;
        rest -= runLength;
      }
      if (rest > 0) leaf.split(index++, rest);
      const run = index * STRIDE;
      if (runs[run + LENGTH]! > length) leaf.split(index, length);
      const hidden = runs[run + LENGTH]!;
      if (runs[run + DEATH] === NO_DEATH) {
        runs[run + DEATH] = death;
        runs[run + BITS]! &= ~VISIBLE;
        leaf.join(index);
        leaf.join(index - 1);
      } else {
        runs[run + BITS] = this.#withLaterDeath(runs[run + BITS]!, death) & ~VISIBLE;
      }
      this.tree.add(leaf, VISIBLE_UNITS, -hidden);
      this.tree.add(leaf, HIDDEN_UNITS, hidden);
      this.tree.touch(leaf, version);
      death += hidden;
      length -= hidden;
    }
  }

  #withLaterDeath(bits: number, death: number): number {
    const known = this.laterDeaths[bits >> LATER_DEATHS_SHIFT]!;
    this.laterDeaths.push([...known, death]);
    const low = bits & ((1 << LATER_DEATHS_SHIFT) - 1);
    return low | ((this.laterDeaths.length - 1) << LATER_DEATHS_SHIFT);
  }

  /** Moves the second half of a full leaf to a new one. */
  divide(leaf: RunLeaf): void {
    const half = leaf.count >> 1;
    const added = new RunLeaf(this.#capacity);
    added.runs.set(leaf.runs.subarray(half * STRIDE, leaf.count * STRIDE));
    added.count = leaf.count - half;
    leaf.count = half;
    added.stamp = leaf.stamp;
    // Of none, `-moved` would be minus zero, which is no small integer to V8: all sums became slower ones, once and for all.
    for (const [sum, moved] of sumsOf(added).entries()) {
      this.tree.add(leaf, sum, 0 - moved);
      added.sums[sum] = moved;
    }
    this.tree.insertAfter(leaf, added);
    this.#leaf = this.tree.first;
    this.#leafStart = 0;
  }

  /** Puts other runs (numbers, STRIDE to a run) in place of all runs of a leaf. */
  rewrite(leaf: RunLeaf, runs: readonly number[], version: number): void {
    const perLeaf = this.#capacity - 2;
    fill(leaf, runs, 0, perLeaf);
    for (const [sum, units] of sumsOf(leaf).entries())
      this.tree.add(leaf, sum, units - leaf.sums[sum]!);
    this.tree.touch(leaf, version);
    let last = leaf;
    for (let from = perLeaf * STRIDE; from < runs.length; from += perLeaf * STRIDE) {
      const added = new RunLeaf(this.#capacity);
      fill(added, runs, from, perLeaf);
      added.sums = sumsOf(added);
      added.stamp = version;
      this.tree.insertAfter(last, added);
      last = added;
    }
    this.#leaf = this.tree.first;
    this.#leafStart = 0;
  }

  /** The leaf at a visible offset and where it begins. */
  seek(at: number): { leaf: RunLeaf; start: number } {
    return { leaf: this.#seek(at, false), start: this.#leafStart };
  }

  #seek(at: number, leftward: boolean): RunLeaf {
    const local = at - this.#leafStart;
    const length = this.#leaf.sums[VISIBLE_UNITS]!;
    const inside = leftward ? local > 0 && local <= length : local >= 0 && local < length;
    if (!inside) {
      this.#leaf = this.tree.find(VISIBLE_UNITS, at, leftward);
      this.#leafStart = this.tree.before[VISIBLE_UNITS]!;
    }
    return this.#leaf;
  }
}

function isVisible(leaf: RunLeaf, index: number): boolean {
  return index < leaf.count && (leaf.runs[index * STRIDE + BITS]! & VISIBLE) !== 0;
}

function* hiddenFrom(first: RunLeaf, run: number): Generator<HiddenRun> {
  let from = run;
  for (let leaf: RunLeaf | null = first; leaf !== null; leaf = leaf.next as RunLeaf | null) {
    for (let at = from; at < leaf.count * STRIDE; at += STRIDE) {
      if (leaf.runs[at + BITS]! & VISIBLE) return;
      yield { leaf, at };
    }
    from = 0;
  }
}

function* hiddenBefore(last: RunLeaf, run: number): Generator<HiddenRun> {
  let until = run;
  for (let leaf: RunLeaf | null = last; leaf !== null;) {
    for (let at = until - STRIDE; at >= 0; at -= STRIDE) {
      if (leaf.runs[at + BITS]! & VISIBLE) return;
      yield { leaf, at };
    }
    leaf = leaf.previous as RunLeaf | null;
    until = leaf === null ? 0 : leaf.count * STRIDE;
  }
}

function fill(leaf: RunLeaf, runs: readonly number[], from: number, most: number): void {
  const part = runs.slice(from, from + most * STRIDE);
  leaf.runs.set(part);
  leaf.count = part.length / STRIDE;
}

function sumsOf(leaf: RunLeaf): [visible: number, hidden: number] {
  const hidden = hiddenUnits(leaf, leaf.count * STRIDE);
  let units = 0;
  for (let at = 0; at < leaf.count * STRIDE; at += STRIDE) units += leaf.runs[at + LENGTH]!;
  return [units - hidden, hidden];
}

/** How many hidden units a leaf has in its runs before `until`. */
function hiddenUnits(leaf: RunLeaf, until: number): number {
  let units = 0;
  for (let at = 0; at < until; at += STRIDE) {
    if ((leaf.runs[at + BITS]! & VISIBLE) === 0) units += leaf.runs[at + LENGTH]!;
  }
  return units;
}

/**
 * Brings an index up to date with one recorded version that is not a flip. With `place` it is a new one: where its text
 * stands among what is hidden is found, and recorded.
 */
export function indexVersion(
  index: RunIndex,
  record: SpliceRecord,
  version: number,
  place?: Place,
): void {
  let counter = record.counterEnd(version - 1);
  let death = record.deathEnd(version - 1);
  const end = record.spliceEnd(version);
  for (let i = record.spliceEnd(version - 1); i < end; i++) {
    const at = record.spliceAt(i);
    const removed = record.spliceRemove(i);
    const length = record.spliceInsertLength(i);
    let hidden = place === undefined ? record.placeOf(i) : 0;
    if (removed > 0) {
      // Directly before the first unit that it removes.
      if (place !== undefined && length > 0) hidden = index.hiddenUnits(at);
      index.remove(at, removed, death, version);
    }
    if (hidden > 0) index.insertBehind(at, { counter, length, version }, hidden);
    else if (length > 0) {
      const placed = removed > 0 ? undefined : place;
      hidden = index.insert(at, counter, length, version, placed);
    }
    if (place !== undefined && hidden > 0) record.place(i, hidden);
    death += removed;
    counter += length;
  }
}
