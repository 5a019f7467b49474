import { KumikoError } from "../errors.ts";

/** What is looked for in texts. */
export interface TextQuery {
  /** A regular expression of JavaScript, or the text itself when `literal`. */
  readonly query: string;
  readonly literal: boolean;
  readonly ignoreCase: boolean;
}

/** One line (or several, when the query names a line's end) in which something was found. */
export interface FoundLine {
  /** The line on which the first match begins, counted from 0. */
  readonly line: number;
  /** The line on which that match ends. */
  readonly endLine: number;
  /** The column at which it begins, in UTF-16 units from the line's beginning. */
  readonly start: number;
  /** The column behind its last unit, on its last line. */
  readonly end: number;
  /** The line's text, or the part of it that begins at `from` when it is too long. */
  readonly content: string;
  readonly from: number;
  /** How long the whole line is. */
  readonly length: number;
  readonly before: readonly string[];
  readonly after: readonly string[];
}

const PATTERN_UNITS = 4096;
/** Characters that mean something in a regular expression: without them it is a literal. */
const MEANINGFUL = /[\\^$.*+?()[\]{}|]/;

export function isLiteral({ query, literal }: TextQuery): boolean {
  return literal || !MEANINGFUL.test(query);
}

/**
 * Compiled with `g` and `m`, and with `u` unless the pattern is only valid without: models escape more
 * characters than Unicode mode allows.
 */
export function compilePattern({ query, literal, ignoreCase }: TextQuery): RegExp {
  if (query === "") throw invalidPattern(query, "it is empty");
  if (query.length > PATTERN_UNITS) {
    throw invalidPattern(shortened(query), `it is longer than ${PATTERN_UNITS} characters`);
  }
  const source = literal ? query.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&") : query;
  const flags = ignoreCase ? "gmi" : "gm";
  try {
    return new RegExp(source, `${flags}u`);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  try {
    return new RegExp(source, flags);
  } catch (error) {
    throw invalidPattern(query, reasonOf(error));
  }
}

/** What an engine throws when it runs a pattern that is too large for it is about the pattern, too. */
export function asPatternError(query: string, error: unknown): unknown {
  const isOfEngine = error instanceof SyntaxError || error instanceof RangeError;
  return isOfEngine ? invalidPattern(query, reasonOf(error)) : error;
}

function invalidPattern(query: string, reason: string): KumikoError {
  return new KumikoError(
    "invalid_pattern",
    `"${shortened(query)}" is no regular expression that can be run: ${reason}. To look for it as it stands, pass literal: true.`,
    { query, reason },
  );
}

function shortened(query: string): string {
  return query.length <= 80 ? query : `${query.slice(0, 80).toWellFormed()}…`;
}

function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  // The engine says "Invalid regular expression: /(/: Unterminated group".
  return message.slice(message.lastIndexOf(": ") + 2);
}
