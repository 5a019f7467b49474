import { KumikoError } from "./errors.ts";

/**
 * The one owner of what a position means. A text is measured in four units at once; every structure
 * that answers positions (the live text, a past version of it) implements PositionedText, and the
 * line rules below are written once, on top of it.
 */
export type Unit = "utf16" | "line" | "byte" | "codepoint";

/** Index of each unit in an array of sums. A `line` counts newlines. */
export const Measure = { utf16: 0, line: 1, byte: 2, codepoint: 3, count: 4 } as const;

export interface PositionedText {
  /** In UTF-16 units. */
  readonly length: number;
  slice(start: number, end: number): string;
  total(unit: Unit): number;
  count(unit: Unit, offset: number): number;
  locate(unit: Unit, value: number): number;
}

/** What one code point adds to a measure. */
function weight(code: number, measure: number): number {
  switch (measure) {
    case Measure.utf16:
      return code > 0xffff ? 2 : 1;
    case Measure.line:
      return code === 10 ? 1 : 0;
    case Measure.byte:
      return code < 0x80 ? 1 : code < 0x800 ? 2 : code > 0xffff ? 4 : 3;
    default:
      return 1;
  }
}

/** All measures of a well-formed text. */
export function measureText(text: string): number[] {
  const length = text.length;
  let lines = 0;
  let extraBytes = 0;
  let pairs = 0;
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x80) {
      if (code === 10) lines++;
    } else if (code < 0x800) {
      extraBytes += 1;
    } else if (code >= 0xd800 && code <= 0xdbff) {
      // A pair is two units and four bytes.
      pairs++;
      extraBytes += 2;
      i++;
    } else {
      extraBytes += 2;
    }
  }
  return [length, lines, length + extraBytes, length - pairs];
}

/** One measure of the first `end` units of a text. */
export function measureOf(text: string, end: number, measure: number): number {
  if (measure === Measure.utf16) return end;
  if (measure === Measure.line) {
    let lines = 0;
    for (let at = text.indexOf("\n"); at !== -1 && at < end; at = text.indexOf("\n", at + 1))
      lines++;
    return lines;
  }
  return measureText(end === text.length ? text : text.slice(0, end))[measure]!;
}

/** The UTF-16 index before which `value` of a measure lie, if that is between characters. */
export function locateInText(text: string, value: number, measure: number): number | undefined {
  if (measure === Measure.utf16) return value;
  if (measure === Measure.line) {
    let at = -1;
    for (let seen = 0; seen < value; seen++) at = text.indexOf("\n", at + 1);
    return at + 1;
  }
  let seen = 0;
  let at = 0;
  while (at < text.length && seen < value) {
    const code = text.codePointAt(at)!;
    seen += weight(code, measure);
    at += code > 0xffff ? 2 : 1;
  }
  return seen === value ? at : undefined;
}

export function splitCharacter(unit: Unit, position: number): KumikoError {
  return new KumikoError(
    "split_character",
    `Position ${position} (${unit}) lies inside one character; use the position before or behind it.`,
    { position, unit },
  );
}

export function checkPosition(unit: Unit, position: number, maximum: number): void {
  if (!Number.isInteger(position) || position < 0 || position > maximum) {
    throw new KumikoError(
      "out_of_range",
      `Position ${position} (${unit}) is outside the text, which has 0 to ${maximum}.`,
      { position, unit, minimum: 0, maximum },
    );
  }
}

export function checkRange(start: number, end: number, length: number): void {
  if (
    !Number.isInteger(start) ||
    !Number.isInteger(end) ||
    start < 0 ||
    end < start ||
    end > length
  ) {
    throw new KumikoError(
      "out_of_range",
      `Range ${start} to ${end} is outside the text, which has 0 to ${length} UTF-16 units.`,
      { start, end, minimum: 0, maximum: length },
    );
  }
}

/** Lone surrogates cannot be stored: Loro would silently make them U+FFFD. */
export function checkWellFormed(text: string): void {
  if (!text.isWellFormed()) {
    throw new KumikoError(
      "ill_formed_text",
      "The text holds half of a surrogate pair; send whole characters.",
    );
  }
}

export function endsWithNewline(text: PositionedText): boolean {
  return text.length > 0 && text.slice(text.length - 1, text.length) === "\n";
}

export function lineCount(text: PositionedText): number {
  if (text.length === 0) return 0;
  return text.total("line") + (endsWithNewline(text) ? 0 : 1);
}

/** The offset at which a line begins; `lineCount` gives the end of the text. */
export function lineStart(text: PositionedText, line: number): number {
  const lines = lineCount(text);
  if (!Number.isInteger(line) || line < 0 || line > lines) {
    throw new KumikoError(
      "out_of_range",
      `Line ${line} (counted from 0) is outside the text, which has ${lines} lines.`,
      { line, counted_from: 0, minimum: 0, maximum: lines, line_count: lines },
    );
  }
  return line === lines ? text.length : text.locate("line", line);
}

/** The line (counted from 0) on which an offset lies. */
export function lineAt(text: PositionedText, offset: number): number {
  return text.count("line", offset);
}

/** Where a line's own text ends: before its newline, if it has one. */
export function lineEnd(text: PositionedText, line: number): number {
  const next = lineStart(text, line + 1);
  return next > 0 && text.slice(next - 1, next) === "\n" ? next - 1 : next;
}
