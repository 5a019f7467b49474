import { endsWithNewline, lineCount, lineStart } from "../base/index.ts";
import { joinTouching } from "./edit-lines.ts";
import { carryRange, type RangeChange } from "./edit-ranges.ts";
import { type LineHunk, placeHunks } from "./line-hunks.ts";
import { applyFilePatch } from "./patch/apply-file.ts";
import type { ApplyOptions, HunkReport, PatchOutcome } from "./patch/apply.ts";
import type { FilePatch } from "./patch/types.ts";
import { type Base, baseOf, type EditTarget, sequential } from "./translation.ts";
import type { Splice } from "./types.ts";

export interface TranslatedPatch {
  readonly splices: Splice[];
  readonly reports: readonly HunkReport[];
}

/**
 * One file of a unified diff, matched against the base version (the current one without) and carried
 * from there. Nothing is committed: translating is the dry run.
 */
export function translatePatch(
  target: EditTarget,
  patch: FilePatch,
  options: ApplyOptions & { base?: number } = {},
): TranslatedPatch {
  const outcome = applyFilePatch(target.read(options.base), patch, options);
  const base = baseOf(target, options.base);
  const hunks = joinTouching(
    outcome.changes.map(({ startLine, endLine, lines }, operation): LineHunk => {
      return { start: startLine, end: endLine, lines, operation };
    }),
  );
  const tail = changedFinalNewline(base, hunks, outcome);
  const whole = tail === undefined ? hunks : hunks.slice(0, tail.hunksBefore);
  const splices = placeHunks(target, base, whole);
  if (tail !== undefined) splices.push(carryRange(target, base, tail.change, tail.hunksBefore));
  return { splices: sequential(splices), reports: outcome.reports };
}

interface Tail {
  readonly change: RangeChange;
  readonly hunksBefore: number;
}

/**
 * Line edits keep the final newline as it is. A patch that adds or removes it rewrites the end of the
 * text, from the last line that stays.
 */
function changedFinalNewline(
  { text }: Base,
  hunks: readonly LineHunk[],
  { finalNewline }: PatchOutcome,
): Tail | undefined {
  const lines = lineCount(text);
  if (finalNewline === (lines === 0 || endsWithNewline(text))) return undefined;
  const last = hunks.at(-1);
  const touchesEnd = last !== undefined && last.end === lines;
  const changed = touchesEnd ? last.start : lines;
  const insertsOnly = changed === lines;
  const deletesOnly = touchesEnd && last.lines.length === 0;
  const from = Math.max(0, insertsOnly || deletesOnly ? changed - 1 : changed);
  if (deletesOnly && changed === 0) return undefined;
  const start = lineStart(text, from);
  const kept = text.slice(start, lineStart(text, changed)).replace(/\n$/, "");
  const ending = [...(from < changed ? [kept] : []), ...(touchesEnd ? last.lines : [])].join("\n");
  return {
    change: { start, end: text.length, insert: finalNewline ? `${ending}\n` : ending },
    hunksBefore: touchesEnd ? hunks.length - 1 : hunks.length,
  };
}
