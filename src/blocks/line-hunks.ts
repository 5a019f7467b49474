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

/** A hunk in the current text: which lines it takes the place of, and how. */
interface PlacedHunk {
  readonly start: number;
  readonly end: number;
  readonly lines: readonly string[];
  readonly splice: Splice;
}

/** Hunks that neither overlap nor touch in the base text, in order, as splices of the current text. */
export function placeHunks(target: EditTarget, base: Base, hunks: readonly LineHunk[]): Splice[] {
  const now = target.current;
  if (base.past === undefined) {
    return hunks.map(({ start, end, lines }) => spliceOf(now, start, end, lines));
  }
  // What stood between two hunks may be gone; then their newlines have to be decided together.
  const placed: PlacedHunk[] = [];
  for (const hunk of hunks) {
    const next =
      hunk.start === hunk.end ? placeInsert(target, base, hunk) : placeLines(target, base, hunk);
    const last = placed.at(-1);
    if (last === undefined || next.start > last.end) {
      placed.push(next);
      continue;
    }
    const lines = [...last.lines, ...next.lines];
    const { start } = last;
    const end = Math.max(last.end, next.end);
    placed[placed.length - 1] = { start, end, lines, splice: spliceOf(now, start, end, lines) };
  }
  return placed.map(({ splice }) => splice);
}

function spliceOf(
  text: PositionedText,
  start: number,
  end: number,
  lines: readonly string[],
): Splice {
  return start === end
    ? insertLines(text, lineStart(text, start), lines)
    : replaceLines(text, start, end, lines);
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

function placeInsert(target: EditTarget, base: Base, hunk: LineHunk): PlacedHunk {
  const now = target.current;
  const { text } = base;
  const past = base.past!;
  const at = (line: number): PlacedHunk => {
    const { lines } = hunk;
    return { start: line, end: line, lines, splice: insertLines(now, lineStart(now, line), lines) };
  };
  // The end of the text cannot be lost: a line added there is added to the end there is now.
  if (hunk.start === lineCount(text)) return at(lineCount(now));
  const boundary = lineStart(text, hunk.start);
  const earliest = past.carry(boundary, "left");
  const latest = past.carry(boundary, "right");
  const line = Math.min(lineAt(now, latest), lineCount(now));
  const lost = boundary > 0 && !past.survives(boundary) && !past.survives(boundary - 1);
  if (lineStart(now, line) >= earliest && !lost) return at(line);
  throw conflictError(target, base, {
    operation: hunk.operation,
    expected: text.slice(boundary, lineStart(text, hunk.start + 1)),
    start: earliest,
    end: latest,
    baseStart: boundary,
    baseEnd: boundary,
  });
}

function placeLines(target: EditTarget, base: Base, hunk: LineHunk): PlacedHunk {
  const now = target.current;
  const { text } = base;
  const past = base.past!;
  const { lines, expected } = hunk;
  const from = lineStart(text, hunk.start);
  const to = lineStart(text, hunk.end);
  const nowFrom = past.carry(from, "right");
  const nowTo = past.carry(to, "left");
  const unchanged = past.intact(from, to) && areWholeLines(now, nowFrom, nowTo);
  if (unchanged && (expected === undefined || sameLines(expected, text.slice(from, to)))) {
    const start = lineAt(now, nowFrom);
    const end = start + (hunk.end - hunk.start);
    // Decided where it was read, so that it does the same as in a fork that is merged later.
    const splice = replaceLines(text, hunk.start, hunk.end, lines);
    // All there was, without a newline: in front of lines that others added it would leave an empty one.
    const all = lines.length === 0 && to - from === text.length && !endsWithNewline(text);
    const bare = all && nowTo < now.length && now.slice(nowTo, nowTo + 1) === "\n";
    return !bare && past.intact(Math.min(splice.at, from), to)
      ? { start, end, lines, splice: { ...splice, at: nowFrom + (splice.at - from) } }
      : { start, end, lines, splice: replaceLines(now, start, end, lines) };
  }
  const narrow = linesBetween(now, nowFrom, nowTo);
  const wide = linesBetween(now, past.carry(from, "left"), past.carry(to, "right"));
  for (const { start, end, first, last } of expected === undefined ? [] : [narrow, wide]) {
    if (end > start && sameLines(expected!, now.slice(start, end))) {
      return { start: first, end: last, lines, splice: replaceLines(now, first, last, lines) };
    }
  }
  const shown = narrow.end > narrow.start ? narrow : wide;
  throw conflictError(target, base, {
    operation: hunk.operation,
    expected: expected ?? text.slice(from, to),
    start: shown.start,
    end: shown.end,
    baseStart: from,
    baseEnd: to,
  });
}

/** The whole lines that hold what lies between two offsets; none when nothing does. */
function linesBetween(
  text: PositionedText,
  from: number,
  to: number,
): { first: number; last: number; start: number; end: number } {
  const first = Math.min(lineAt(text, from), lineCount(text));
  if (to <= from) return { first, last: first, start: from, end: from };
  const line = lineAt(text, to);
  const endsLine = line < lineCount(text) && lineStart(text, line) === to;
  const last = Math.min(lineCount(text), endsLine ? line : line + 1);
  return { first, last, start: lineStart(text, first), end: lineStart(text, last) };
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
