import { KumikoError } from "../../base/index.ts";
import { type ChangedRange, diffLines } from "./line-diff.ts";
import { splitText, type TextLines } from "./lines.ts";
import { quoteName } from "./quoted-name.ts";

export interface UnifiedDiffOptions {
  /** Printed as given; null prints `/dev/null`: the file does not exist on that side. */
  readonly oldName: string | null;
  readonly newName: string | null;
  readonly context?: number;
}

export interface UnifiedDiff {
  /** Empty when the texts are equal. */
  readonly text: string;
  /** Correct, but larger than it need be: the shortest would have cost too much. */
  readonly coarse: boolean;
}

const noNewline = "\\ No newline at end of file";

export function unifiedDiff(oldText: string, newText: string, options: UnifiedDiffOptions): string {
  return measuredUnifiedDiff(oldText, newText, options).text;
}

export function measuredUnifiedDiff(
  oldText: string,
  newText: string,
  options: UnifiedDiffOptions,
): UnifiedDiff {
  const context = options.context ?? 3;
  if (!Number.isSafeInteger(context) || context < 0) {
    throw new KumikoError(
      "invalid_argument",
      "context must be a whole number of lines, 0 or more.",
      {
        context,
      },
    );
  }
  if (oldText === newText) return { text: "", coarse: false };
  const old = splitText(oldText);
  const fresh = splitText(newText);
  const { ranges, coarse } = diffLines(comparable(old), comparable(fresh));
  const out = [`--- ${printedName(options.oldName)}`, `+++ ${printedName(options.newName)}`];
  for (const group of groupedByContext(ranges, context)) {
    printHunk(out, group, old, fresh, context);
  }
  return { text: `${out.join("\n")}\n`, coarse };
}

/** A last line without its newline differs from the same line with one; no line can hold `\n` otherwise. */
function comparable(text: TextLines): readonly string[] {
  if (text.finalNewline || text.lines.length === 0) return text.lines;
  return [...text.lines.slice(0, -1), `${text.lines[text.lines.length - 1]!}\n`];
}

function printedName(name: string | null): string {
  return name === null ? "/dev/null" : quoteName(name);
}

function groupedByContext(ranges: readonly ChangedRange[], context: number): ChangedRange[][] {
  const groups: ChangedRange[][] = [];
  let last: ChangedRange | undefined;
  for (const range of ranges) {
    const near = last !== undefined && range.oldStart - last.oldEnd <= 2 * context;
    if (near) groups[groups.length - 1]!.push(range);
    else groups.push([range]);
    last = range;
  }
  return groups;
}

function printHunk(
  out: string[],
  group: readonly ChangedRange[],
  old: TextLines,
  fresh: TextLines,
  context: number,
): void {
  const first = group[0]!;
  const last = group[group.length - 1]!;
  const before = Math.min(context, first.oldStart, first.newStart);
  const after = Math.min(context, old.lines.length - last.oldEnd, fresh.lines.length - last.newEnd);
  const oldStart = first.oldStart - before;
  const newStart = first.newStart - before;
  const oldEnd = last.oldEnd + after;
  out.push(
    `@@ -${printedRange(oldStart, oldEnd)} +${printedRange(newStart, last.newEnd + after)} @@`,
  );
  const print = (prefix: string, text: TextLines, from: number, to: number): void => {
    for (let line = from; line < to; line++) {
      out.push(prefix + text.lines[line]!);
      if (line === text.lines.length - 1 && !text.finalNewline) out.push(noNewline);
    }
  };
  let at = oldStart;
  for (const range of group) {
    print(" ", old, at, range.oldStart);
    print("-", old, range.oldStart, range.oldEnd);
    print("+", fresh, range.newStart, range.newEnd);
    at = range.oldEnd;
  }
  print(" ", old, at, oldEnd);
}

/** An empty side names the line before it, counting from 1: 0 when there is none. */
function printedRange(start: number, end: number): string {
  const count = end - start;
  if (count === 0) return `${start},0`;
  return count === 1 ? `${start + 1}` : `${start + 1},${count}`;
}
