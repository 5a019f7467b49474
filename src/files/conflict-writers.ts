import { lineStart } from "../base/index.ts";
import { diffLines, type EditTarget, Effort, splitText } from "../blocks/index.ts";
import type { LineRange } from "./clash.ts";
import type { MergeConflict } from "./merge.ts";

export interface Since {
  /** The version that the conflict's base is; undefined when no version says what it says. */
  readonly base: number | undefined;
  /** The version up to which the other side knew what was written. */
  readonly known: number;
  /** Whose text it is not, whatever they wrote. */
  readonly except: string;
}

type Past = NonNullable<ReturnType<EditTarget["past"]>>;

/** Lines as a version says them. */
interface OldLines {
  readonly past: Past;
  readonly version: number;
  readonly range: readonly [start: number, end: number];
}

/** In how many versions lines are looked for that a text has which no version says. */
const LOOKED_THROUGH = 64;
/** How many characters they are looked for in, over all conflicts, some 100 ms; and how many a place in a version counts as. */
const SEARCH_CHARACTERS = 20_000_000;
const CHARACTERS_PER_PLACE = 100;

/**
 * Tells who wrote in the block what a conflict is about: they are told of it. When nobody can be named it is all who wrote
 * since: whose text does not stand must be told, and others need not be.
 */
export function writersIn(
  target: EditTarget,
  { base, known, except }: Since,
): (conflict: MergeConflict) => string[] {
  const authors = (versions: readonly number[]): string[] => {
    const actors = target.authors(versions).map(({ actor }) => actor);
    return [...new Set(actors)].filter((actor) => actor !== except);
  };
  let all: string[] | undefined;
  const sinceThen = (): string[] => {
    const count = Math.max(0, target.version - known);
    return authors(Array.from({ length: count }, (_, index) => known + 1 + index));
  };
  const past = base === undefined ? undefined : target.past(base);
  const said = new LastSaid(target, known);
  const changesIn = (conflict: MergeConflict): number[] => {
    if (base === undefined) return said.changes(conflict);
    if (past === undefined) return [];
    const range = offsets(past, conflict.base);
    return changesOf(target, { past, version: base, range }, conflict);
  };
  return (conflict) => {
    const own = changesIn(conflict);
    return own.length > 0 ? authors(own) : (all ??= sinceThen());
  };
}

/** What happened to lines of a text that no version is known to have said as a whole. */
class LastSaid {
  readonly #target: EditTarget;
  readonly #oldest: number;
  /** Of each version once, for as many conflicts as there are: it costs all that was written since. */
  readonly #pasts = new Map<number, Past>();
  readonly #effort = new Effort(SEARCH_CHARACTERS);

  constructor(target: EditTarget, known: number) {
    this.#target = target;
    this.#oldest = Math.max(known, 1, target.version - LOOKED_THROUGH);
  }

  /** The versions that made the change; none when it took too long to find out. */
  changes(conflict: MergeConflict): number[] {
    const before = this.#find(conflict);
    if (before !== undefined) return changesOf(this.#target, before, conflict);
    return this.#effort.left === 0 ? [] : newLines(this.#target, conflict);
  }

  /** The newest version that said the lines, where what is there now has come from. */
  #find({ base, memory }: MergeConflict): OldLines | undefined {
    if (base.text === "") return undefined;
    const now = offsets(this.#target.current, memory);
    for (let version = this.#target.version - 1; version >= this.#oldest; version--) {
      if (this.#effort.left === 0) return undefined;
      const past = this.#past(version);
      const range = this.#findIn(past, base.text, now);
      if (range !== undefined) return { past, version, range };
    }
    return undefined;
  }

  #findIn(
    past: Past,
    lines: string,
    [start, end]: [number, number],
  ): OldLines["range"] | undefined {
    // Only where they would have become all that is there now, which is nearly always about one place.
    const first = firstWhere(past.length, (at) => past.carry(at, "right") >= end) - lines.length;
    const last = firstWhere(past.length, (at) => past.carry(at, "left") > start) - 1;
    const from = Math.max(0, first - 1);
    const until = Math.min(past.length, last + lines.length + 1);
    this.#effort.spend(CHARACTERS_PER_PLACE + Math.max(0, until - from));
    if (until - from < lines.length) return undefined;
    const text = past.slice(from, until);
    for (let at = text.indexOf(lines); at !== -1; at = text.indexOf(lines, at + 1)) {
      const [begin, finish] = [from + at, from + at + lines.length];
      const isThere = begin >= first && begin <= last;
      if (isThere && areLines(past, begin, finish)) return [begin, finish];
    }
    return undefined;
  }

  #past(version: number): Past {
    const known = this.#pasts.get(version) ?? this.#target.past(version)!;
    this.#pasts.set(version, known);
    return known;
  }
}

/** The first offset of which something holds that holds of all behind it too; behind the last when it holds of none. */
function firstWhere(length: number, holds: (offset: number) => boolean): number {
  let [low, high] = [0, length + 1];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

function areLines(text: Past, start: number, end: number): boolean {
  const isNewline = (at: number): boolean => text.slice(at, at + 1) === "\n";
  if (start > 0 && !isNewline(start - 1)) return false;
  return end === text.length || isNewline(end - 1) || isNewline(end);
}

/** The versions that wrote lines of the one side which the other did not have. */
function newLines(target: EditTarget, { base, memory }: MergeConflict): number[] {
  const [old, now] = [splitText(base.text).lines, splitText(memory.text).lines];
  return diffLines(old, now).ranges.flatMap(({ newStart, newEnd }) => {
    const lines = { start: memory.start + newStart, end: memory.start + newEnd };
    return target.blame(...offsets(target.current, lines)).map(({ version }) => version);
  });
}

/** The versions that took away some of the lines as they were, or wrote some of those that are there now. */
function changesOf(
  target: EditTarget,
  { past, version, range }: OldLines,
  { memory }: MergeConflict,
): number[] {
  const written = target.blame(...offsets(target.current, memory)).map((entry) => entry.version);
  const inside = [...past.changedBy(...range), ...written.filter((each) => each > version)];
  return inside.length > 0 ? inside : past.changedBeside(...range);
}

function offsets(text: EditTarget["current"], { start, end }: LineRange): [number, number] {
  return [lineStart(text, start), lineStart(text, end)];
}
