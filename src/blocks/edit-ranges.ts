import { checkWellFormed, KumikoError } from "../base/index.ts";
import { conflictError } from "./conflict.ts";
import { type Base, baseOf, type EditTarget, sequential, trimmed } from "./translation.ts";
import type { Splice } from "./types.ts";

/** A replacement of characters, in UTF-16 units of the base version. */
export interface RangeChange {
  readonly start: number;
  readonly end: number;
  readonly insert: string;
}

/**
 * Replacements by character position, made against a base version and carried to the current text.
 * What stands between them may have changed in any way.
 */
export function translateRanges(
  target: EditTarget,
  changes: readonly RangeChange[],
  baseVersion: number | undefined,
): Splice[] {
  const base = baseOf(target, baseVersion);
  checkRanges(base, changes);
  const ordered = [...changes.entries()].toSorted(
    ([, a], [, b]) => a.start - b.start || a.end - b.end,
  );
  return sequential(
    ordered.map(([operation, change]) => carryRange(target, base, change, operation)),
  );
}

function checkRanges(base: Base, changes: readonly RangeChange[]): void {
  for (const { start, end, insert } of changes) {
    base.text.count("codepoint", start);
    base.text.count("codepoint", end);
    if (end < start) {
      throw new KumikoError(
        "invalid_argument",
        `A range cannot end (${end}) before it starts (${start}).`,
        {
          start,
          end,
        },
      );
    }
    checkWellFormed(insert);
  }
  const ordered = changes.toSorted((a, b) => a.start - b.start || a.end - b.end);
  for (let i = 1; i < ordered.length; i++) {
    const [left, right] = [ordered[i - 1]!, ordered[i]!];
    if (right.start < left.end) {
      throw new KumikoError(
        "overlapping_operations",
        `The ranges ${left.start} to ${left.end} and ${right.start} to ${right.end} overlap; join them into one.`,
        { first: [left.start, left.end], second: [right.start, right.end] },
      );
    }
  }
}

export function carryRange(
  target: EditTarget,
  base: Base,
  { start, end, insert }: RangeChange,
  operation: number,
): Splice {
  const old = base.text.slice(start, end);
  const { past } = base;
  if (past === undefined) return trimmed(start, old, insert);
  const stands = start === end ? neighbourSurvives(base, start) : past.intact(start, end);
  if (!stands) {
    throw conflictError(target, base, {
      operation,
      expected: old,
      start: past.carry(start, "left"),
      end: past.carry(end, "right"),
      baseStart: start,
      baseEnd: end,
    });
  }
  return trimmed(past.carry(start, "right"), old, insert);
}

/** The beginning and the end of a text are neighbours that cannot be lost. */
function neighbourSurvives({ text, past }: Base, offset: number): boolean {
  if (past === undefined || offset === 0 || offset === text.length) return true;
  return past.survives(offset) || past.survives(offset - 1);
}
