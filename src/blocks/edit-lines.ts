import {
  checkWellFormed,
  endsWithNewline,
  KumikoError,
  lineCount,
  lineStart,
  type PositionedText,
} from "../base/index.ts";
import type { EditOperation } from "../protocol/index.ts";
import { conflictError } from "./conflict.ts";
import { type LineHunk, placeHunks, sameLines } from "./line-hunks.ts";
import { plainOperations } from "./plain-ends.ts";
import { baseRequired } from "./splice-text.ts";
import { type Base, baseOf, type EditTarget, sequential } from "./translation.ts";
import type { Splice } from "./types.ts";

/** A line edit: all operations address one version and land together or not at all. */
export function translateEdit(
  target: EditTarget,
  operations: readonly EditOperation[],
  baseVersion: number | undefined,
): Splice[] {
  if (operations.length === 0) {
    throw new KumikoError("invalid_argument", "An edit needs at least one operation.", {
      operations: 0,
    });
  }
  const allExpected = operations.every(
    (each) => each.op !== "insert" && each.expected_text !== undefined,
  );
  if (baseVersion === undefined && !allExpected) throw baseRequired(target);
  const base = baseOf(target, baseVersion);
  const hunks = plainOperations(target, operations, base.version).map((operation, index) =>
    toHunk(base, operation, index),
  );
  const joined = joinTouching(hunks);
  for (const hunk of joined) checkExpected(target, base, hunk);
  return sequential(placeHunks(target, base, withoutHalfEnd(base.text, joined.map(toSingle))));
}

/** Where no newline follows, a `\r` would be half of a line end: it is not brought into a text that has none. */
function withoutHalfEnd(text: PositionedText, hunks: readonly LineHunk[]): readonly LineHunk[] {
  const hunk = hunks.at(-1);
  const last = hunk?.lines.at(-1);
  if (hunk === undefined || last?.endsWith("\r") !== true) return hunks;
  const isEnded = text.length === 0 || endsWithNewline(text) || hunk.end < lineCount(text);
  if (isEnded || text.slice(0, text.length).includes("\r")) return hunks;
  const lines = [...hunk.lines.slice(0, -1), last.slice(0, -1)];
  return [...hunks.slice(0, -1), { ...hunk, lines }];
}

/** One trailing newline of the content is ignored, so that "" and "\n" are both one empty line. */
function contentLines(content: string): string[] {
  checkWellFormed(content);
  return (content.endsWith("\n") ? content.slice(0, -1) : content).split("\n");
}

function toHunk(base: Base, operation: EditOperation, index: number): LineHunk {
  const lines = lineCount(base.text);
  if (operation.op === "insert") {
    checkLine(operation.line, 0, lines, lines, index, "insert");
    const { line, content } = operation;
    return { start: line, end: line, lines: contentLines(content), operation: index };
  }
  const { start_line: start, end_line: end } = operation;
  checkLine(start, 0, lines, lines, index, operation.op);
  checkLine(end, 0, lines, lines, index, operation.op);
  if (end <= start) {
    throw new KumikoError(
      "invalid_argument",
      `Operation ${index} addresses no line: end_line (${end}) is exclusive and must be greater than ` +
        `start_line (${start}). To add lines, use insert.`,
      { operation: index, start_line: start, end_line: end },
    );
  }
  return {
    start,
    end,
    lines: operation.op === "replace" ? contentLines(operation.content) : [],
    operation: index,
    expected: operation.expected_text,
  };
}

function checkLine(
  line: number,
  minimum: number,
  maximum: number,
  lines: number,
  operation: number,
  op: string,
): void {
  if (Number.isInteger(line) && line >= minimum && line <= maximum) return;
  throw new KumikoError(
    "out_of_range",
    `Operation ${operation} (${op}) names line ${line}, but lines (counted from 0) go from ${minimum} to ` +
      `${maximum}: the text has ${lines} lines.`,
    { operation, line, counted_from: 0, minimum, maximum, line_count: lines },
  );
}

interface JoinedHunk extends LineHunk {
  readonly parts: readonly LineHunk[];
}

/** Hunks that touch become one, so that their newlines are decided together. */
export function joinTouching(hunks: readonly LineHunk[]): JoinedHunk[] {
  const ordered = hunks.toSorted(
    (a, b) => a.start - b.start || a.end - b.end || a.operation - b.operation,
  );
  const joined: JoinedHunk[] = [];
  for (const hunk of ordered) {
    const last = joined.at(-1);
    if (last === undefined || hunk.start > last.end) {
      joined.push({ ...hunk, parts: [hunk] });
      continue;
    }
    if (hunk.start < last.end) {
      const other = last.parts.at(-1)!;
      throw new KumikoError(
        "overlapping_operations",
        `Operations ${other.operation} and ${hunk.operation} address the same lines; join them into one.`,
        { first: other.operation, second: hunk.operation },
      );
    }
    joined[joined.length - 1] = {
      start: last.start,
      end: hunk.end,
      lines: [...last.lines, ...hunk.lines],
      operation: last.operation,
      parts: [...last.parts, hunk],
    };
  }
  return joined;
}

/** Only a hunk of one operation can be settled by what it expects of the current text. */
function toSingle(hunk: JoinedHunk): LineHunk {
  return hunk.parts.length === 1 ? hunk.parts[0]! : hunk;
}

/**
 * What operations expect of the version they address. A single one whose lines may have moved on is
 * decided where it is placed: there, expecting what stands now is as good as expecting what was read.
 */
function checkExpected(target: EditTarget, base: Base, hunk: JoinedHunk): void {
  if (hunk.parts.length === 1 && base.past !== undefined) return;
  for (const part of hunk.parts) {
    if (part.expected === undefined) continue;
    const start = lineStart(base.text, part.start);
    const end = lineStart(base.text, part.end);
    if (sameLines(part.expected, base.text.slice(start, end))) continue;
    throw conflictError(target, base, {
      operation: part.operation,
      expected: part.expected,
      start: base.past?.carry(start, "right") ?? start,
      end: base.past?.carry(end, "left") ?? end,
      baseStart: start,
      baseEnd: end,
    });
  }
}
