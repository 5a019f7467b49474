import type { Hunk } from "./types.ts";

/**
 * Whether the lines a patch adds take the text's line ending: null leaves them as they are. A text
 * of CRLF lines takes a patch without any `\r`, and a text without any takes a patch that has it on
 * every line; a patch that mixes them means what it says.
 */
export function adaptedEnding(
  lines: readonly string[],
  finalNewline: boolean,
  hunks: readonly Hunk[],
): "\r" | "" | null {
  const ended = finalNewline ? lines.length : lines.length - 1;
  if (ended <= 0) return null;
  const inPatch = hunks.flatMap((hunk) => hunk.lines);
  const first = lines[0]!.endsWith("\r");
  for (let line = 1; line < ended; line++) if (lines[line]!.endsWith("\r") !== first) return null;
  if (first) return inPatch.some((line) => line.text.endsWith("\r")) ? null : "\r";
  const saysSo = inPatch.some((line) => line.kind !== "added");
  return saysSo && inPatch.every((line) => line.text.endsWith("\r")) ? "" : null;
}

/** The ending of most lines in [start, end), where the patch's own lines there end differently; else null. */
export function localEnding(
  lines: readonly string[],
  wanted: readonly string[],
  start: number,
): "\r" | "" | null {
  let differing = 0;
  let carriageReturns = 0;
  let compared = 0;
  for (let at = 0; at < wanted.length; at++) {
    const line = lines[start + at];
    if (line === undefined || line.trimEnd() !== wanted[at]!.trimEnd()) continue;
    compared++;
    if (line.endsWith("\r")) carriageReturns++;
    if (line.endsWith("\r") !== wanted[at]!.endsWith("\r")) differing++;
  }
  if (differing === 0) return null;
  return carriageReturns * 2 > compared ? "\r" : "";
}

export function withEnding(line: string, ending: "\r" | ""): string {
  const plain = line.endsWith("\r") ? line.slice(0, -1) : line;
  return plain + ending;
}
