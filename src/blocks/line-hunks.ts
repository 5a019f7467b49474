import {
  endsWithNewline,
  lineAt,
  lineCount,
  lineEnd,
  lineStart,
  type PositionedText,
} from "../base/index.ts";
import { conflictError } from "./conflict.ts";
import { type Base, type EditTarget, trimmed } from "./translation.ts";
import type { Splice } from "./types.ts";

/** Whole lines [start, end) of the base text and the lines that take their place. */
export interface LineHunk {
  readonly start: number;
  readonly end: number;
  readonly lines: readonly string[];
  /** The first operation it came from, for errors. */
  readonly operation: number;
  /** What the lines must be; when the base has moved on, what they must be now. */
  readonly expected?: string | undefined;
}

/** Hunks that neither overlap nor touch, in order, as splices of the current text. */
export function placeHunks(target: EditTarget, base: Base, hunks: readonly LineHunk[]): Splice[] {
  return hunks.map((hunk) => {
    if (hunk.start === hunk.end) return placeInsert(target, base, hunk);
    return base.past === undefined
      ? replaceLines(target.current, hunk.start, hunk.end, hunk.lines)
      : carryLines(target, base, hunk);
  });
}

/** Lines [start, end) of a text replaced: the rules for final newlines live here. */
function replaceLines(
  text: PositionedText,
  start: number,
  end: number,
  lines: readonly string[],
): Splice {
  const from = lineStart(text, start);
  if (lines.length > 0) {
    const to = lineEnd(text, end - 1);
    return trimmed(from, text.slice(from, to), lines.join("\n"));
  }
  const to = lineStart(text, end);
  const takesNewlineBefore = to === text.length && from > 0 && !endsWithNewline(text);
  const at = takesNewlineBefore ? from - 1 : from;
  return { at, remove: to - at, insert: "" };
}

function insertLines(text: PositionedText, at: number, lines: readonly string[]): Splice {
  const content = lines.join("\n");
  const lacksNewline = at === text.length && at > 0 && !endsWithNewline(text);
  return { at, remove: 0, insert: lacksNewline ? `\n${content}` : `${content}\n` };
}

function placeInsert(target: EditTarget, base: Base, hunk: LineHunk): Splice {
  const now = target.current;
  const { text, past } = base;
  const boundary = lineStart(text, hunk.start);
  if (past === undefined) return insertLines(now, boundary, hunk.lines);
  // The end of the text cannot be lost: a line added there is added to the end there is now.
  if (hunk.start === lineCount(text)) return insertLines(now, now.length, hunk.lines);
  const earliest = past.carry(boundary, "left");
  const latest = past.carry(boundary, "right");
  const start = lineStart(now, lineAt(now, latest));
  const lost = boundary > 0 && !past.survives(boundary) && !past.survives(boundary - 1);
  if (start >= earliest && !lost) return insertLines(now, start, hunk.lines);
  throw conflictError(target, base, {
    operation: hunk.operation,
    expected: text.slice(boundary, lineStart(text, hunk.start + 1)),
    start: earliest,
    end: latest,
    baseStart: boundary,
    baseEnd: boundary,
  });
}

function carryLines(target: EditTarget, base: Base, hunk: LineHunk): Splice {
  const now = target.current;
  const { text } = base;
  const past = base.past!;
  const from = lineStart(text, hunk.start);
  const to = lineStart(text, hunk.end);
  const nowFrom = past.carry(from, "right");
  const nowTo = past.carry(to, "left");
  if (past.intact(from, to) && areWholeLines(now, nowFrom, nowTo)) {
    // Decided where it was read, so that it does the same as in a fork that is merged later.
    const splice = replaceLines(text, hunk.start, hunk.end, hunk.lines);
    if (past.intact(Math.min(splice.at, from), to)) {
      return { ...splice, at: nowFrom + (splice.at - from) };
    }
    const line = lineAt(now, nowFrom);
    return replaceLines(now, line, line + (hunk.end - hunk.start), hunk.lines);
  }
  const firstLine = lineAt(now, nowFrom);
  const lastLine = lineAt(now, Math.max(nowFrom, nowTo));
  const endsAtLineStart = nowTo > nowFrom && lineStart(now, lastLine) === nowTo;
  const endLine = Math.min(lineCount(now), endsAtLineStart ? lastLine : lastLine + 1);
  const start = lineStart(now, firstLine);
  const end = lineStart(now, Math.max(firstLine, endLine));
  if (
    hunk.expected !== undefined &&
    end > start &&
    sameLines(hunk.expected, now.slice(start, end))
  ) {
    return replaceLines(now, firstLine, endLine, hunk.lines);
  }
  throw conflictError(target, base, {
    operation: hunk.operation,
    expected: hunk.expected ?? text.slice(from, to),
    start,
    end,
    baseStart: from,
    baseEnd: to,
  });
}

function areWholeLines(text: PositionedText, start: number, end: number): boolean {
  const begins = start === 0 || text.slice(start - 1, start) === "\n";
  const ends =
    end === text.length || text.slice(end - 1, end) === "\n" || text.slice(end, end + 1) === "\n";
  return begins && ends;
}

/** One final newline more or less does not count. */
export function sameLines(left: string, right: string): boolean {
  return left === right || left === `${right}\n` || `${left}\n` === right;
}
