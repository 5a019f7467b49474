import { lineStart } from "../base/index.ts";
import type { EditTarget } from "../blocks/index.ts";
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

/**
 * Tells who wrote in the block what a conflict is about: they are told of it. When no version can be named it is all who wrote
 * since: whose text does not stand must be told, and others need not be.
 */
export function writersIn(
  target: EditTarget,
  { base, known, except }: Since,
): (conflict: MergeConflict) => string[] {
  const past = base === undefined ? undefined : target.past(base);
  const authors = (versions: readonly number[]): string[] => {
    const actors = target.authors(versions).map(({ actor }) => actor);
    return [...new Set(actors)].filter((actor) => actor !== except);
  };
  let all: string[] | undefined;
  const sinceThen = (): string[] => {
    const count = Math.max(0, target.version - known);
    return authors(Array.from({ length: count }, (_, index) => known + 1 + index));
  };
  return (conflict) => {
    const own = past === undefined ? [] : changesOf(target, past, base!, conflict);
    return own.length > 0 ? authors(own) : (all ??= sinceThen());
  };
}

/** The versions that took away some of the lines as they were, or wrote some of those that are there now. */
function changesOf(
  target: EditTarget,
  past: NonNullable<ReturnType<EditTarget["past"]>>,
  version: number,
  { base, memory }: MergeConflict,
): number[] {
  const before = offsets(past, base);
  const written = target.blame(...offsets(target.current, memory)).map((entry) => entry.version);
  const inside = [...past.changedBy(...before), ...written.filter((each) => each > version)];
  return inside.length > 0 ? inside : past.changedBeside(...before);
}

function offsets(text: EditTarget["current"], { start, end }: LineRange): [number, number] {
  return [lineStart(text, start), lineStart(text, end)];
}
