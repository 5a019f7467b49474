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
 * Who wrote in the block what a conflict is about: they are told of it. When nobody can be named it is all who wrote since:
 * whose text does not stand must be told, and others need not be.
 */
export function writersOf(
  target: EditTarget,
  conflict: MergeConflict,
  { base, known, except }: Since,
): string[] {
  const authors = (versions: readonly number[]): string[] => {
    const actors = target.authors(versions).map(({ actor }) => actor);
    return [...new Set(actors)].filter((actor) => actor !== except);
  };
  const own = base === undefined ? [] : authors(changesOf(target, conflict, base));
  if (own.length > 0) return own;
  const count = Math.max(0, target.version - known);
  return authors(Array.from({ length: count }, (_, index) => known + 1 + index));
}

/** The versions that took away some of the lines as they were, or wrote some of those that are there now. */
function changesOf(target: EditTarget, { base, memory }: MergeConflict, version: number): number[] {
  const past = target.past(version);
  if (past === undefined) return [];
  const { current } = target;
  const offsets = (text: typeof current, { start, end }: LineRange): [number, number] => [
    lineStart(text, start),
    lineStart(text, end),
  ];
  const before = offsets(past, base);
  const written = target.blame(...offsets(current, memory)).map((entry) => entry.version);
  const inside = [...past.changedBy(...before), ...written.filter((each) => each > version)];
  return inside.length > 0 ? inside : past.changedBeside(...before);
}
