import { linesWithin } from "./line-range.ts";

/** Lines of a text as a reader is shown them. */
export interface ShownLines {
  readonly content: string;
  /** Of the whole text. */
  readonly count: number;
}

/**
 * Some lines of a text, or all of it: exactly, or each with its number before it and without a newline at the end.
 * Made in one pass: texts are long, and lists of their lines cost more than the lines.
 */
export function shownLines(
  text: string,
  range: { readonly start: number; readonly end: number } | undefined,
  numbered: boolean,
): ShownLines {
  const count = countLines(text);
  const { first, last } = linesWithin(range, count);
  const from = offsetOf(text, 0, first);
  return {
    count,
    content: numbered
      ? withNumbers(text, from, first, last)
      : text.slice(from, offsetOf(text, from, last - first)),
  };
}

function withNumbers(text: string, from: number, first: number, last: number): string {
  const width = String(last).length;
  let content = "";
  for (let line = first, at = from; line < last; line++) {
    const next = text.indexOf("\n", at) + 1;
    const end = next === 0 ? text.length : next;
    // Its newline comes along, but for the last.
    const shown = text.slice(at, line === last - 1 && next !== 0 ? end - 1 : end);
    content += `${String(line).padStart(width)} ${shown}`;
    at = end;
  }
  return content;
}

function countLines(text: string): number {
  let count = text === "" || text.endsWith("\n") ? 0 : 1;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) count += 1;
  return count;
}

/** Where the text is after so many lines more. */
function offsetOf(text: string, from: number, lines: number): number {
  let at = from;
  for (let left = lines; left > 0; left--) {
    const next = text.indexOf("\n", at) + 1;
    if (next === 0) return text.length;
    at = next;
  }
  return at;
}
