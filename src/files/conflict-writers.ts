import { lineStart } from "../base/index.ts";
import { diffLines, type EditTarget, splitText } from "../blocks/index.ts";
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
  const changesIn = (conflict: MergeConflict): number[] => {
    if (base === undefined) return changesSinceSaid(target, known, conflict);
    if (past === undefined) return [];
    const range = offsets(past, conflict.base);
    return changesOf(target, { past, version: base, range }, conflict);
  };
  return (conflict) => {
    const own = changesIn(conflict);
    return own.length > 0 ? authors(own) : (all ??= sinceThen());
  };
}

/** What happened to lines that no version is known to have said with all the others. */
function changesSinceSaid(target: EditTarget, known: number, conflict: MergeConflict): number[] {
  const before = lastSaid(target, known, conflict);
  return before === undefined ? newLines(target, conflict) : changesOf(target, before, conflict);
}

/** The newest version that said the lines, where what is there now has come from. */
function lastSaid(
  target: EditTarget,
  known: number,
  { base, memory }: MergeConflict,
): OldLines | undefined {
  if (base.text === "") return undefined;
  const [start, end] = offsets(target.current, memory);
  const oldest = Math.max(known, 1, target.version - LOOKED_THROUGH);
  for (let version = target.version - 1; version >= oldest; version--) {
    const past = target.past(version)!;
    const text = target.read(version);
    for (let at = text.indexOf(base.text); at !== -1; at = text.indexOf(base.text, at + 1)) {
      const until = at + base.text.length;
      const isThere = past.carry(at, "left") <= start && past.carry(until, "right") >= end;
      if (isThere && areLines(text, at, until)) return { past, version, range: [at, until] };
    }
  }
  return undefined;
}

function areLines(text: string, start: number, end: number): boolean {
  const begins = start === 0 || text[start - 1] === "\n";
  return begins && (end === text.length || text[end - 1] === "\n" || text[end] === "\n");
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
