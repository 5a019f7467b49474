import {
  type Fact,
  KumikoError,
  lineAt,
  lineCount,
  lineStart,
  type PositionedText,
} from "../base/index.ts";
import type { PastText } from "./past-text.ts";
import type { Base, EditTarget } from "./translation.ts";

const AROUND_LINES = 2;

export interface Clash {
  /** Which operation of the edit, counted from 0. */
  readonly operation: number;
  /** What the edit takes to stand there. */
  readonly expected: string;
  /** The range of the current text that stands there now. */
  readonly start: number;
  readonly end: number;
  /** The range of the base text it addressed. */
  readonly baseStart: number;
  readonly baseEnd: number;
}

/** Everything the next try needs: both texts, the lines around, the version to read, who changed it. */
export function conflictError(target: EditTarget, base: Base, clash: Clash): KumikoError {
  const now = target.current;
  const authors = base.past === undefined ? [] : target.authors(changersOf(base.past, clash));
  const who = [...new Set(authors.map((author) => author.actor))];
  const line = lineAt(now, clash.start);
  const changed =
    base.past === undefined
      ? "the text there is not what the edit expects"
      : `the text there was changed since version ${base.version}` +
        (who.length > 0 ? ` by ${who.join(", ")}` : "");
  return new KumikoError(
    "conflict",
    `Operation ${clash.operation} was not made: ${changed}. ` +
      `Look at line ${line} (counted from 0) of version ${target.version} and try again against that version.`,
    {
      operation: clash.operation,
      line,
      counted_from: 0,
      expected: clash.expected,
      actual: now.slice(clash.start, clash.end),
      around: linesAround(now, clash.start, clash.end),
      base_version: base.version,
      version: target.version,
      changed_by: authors.map((author) => ({ ...author })),
    },
  );
}

/** Who changed the range itself; only when nobody did, who changed what it borders on. */
function changersOf(past: PastText, { baseStart, baseEnd }: Clash): number[] {
  const inside = past.changedBy(baseStart, baseEnd);
  return inside.length > 0 ? inside : past.changedBeside(baseStart, baseEnd);
}

function linesAround(text: PositionedText, start: number, end: number): Fact[] {
  const lines = lineCount(text);
  const first = Math.max(0, lineAt(text, start) - AROUND_LINES);
  const last = Math.min(lines, lineAt(text, end) + 1 + AROUND_LINES);
  const result: Fact[] = [];
  for (let line = first; line < last; line++) {
    const content = text.slice(lineStart(text, line), lineStart(text, line + 1));
    result.push({ line, counted_from: 0, text: content.replace(/\n$/, "") });
  }
  return result;
}
