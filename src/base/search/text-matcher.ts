import { partOfPattern, partOfText } from "./pattern-reader.ts";
import { type Required, requiredBy } from "./required.ts";
import { compilePattern, type FoundLine, isLiteral, type TextQuery } from "./text-query.ts";

/** A longer line is shown in part, around its match. */
const SHOWN_UNITS = 400;
const SHOWN_BEFORE_MATCH = 100;
/** How many lines are looked at between two looks at the clock. */
const LINES_PER_LOOK = 256;

export interface MatchOptions {
  readonly contextLines: number;
  /** Told of each line in order; `false` ends the search. */
  found(line: FoundLine): boolean;
  /** Asked now and then; `true` ends the search. */
  expired(): boolean;
}

interface Place {
  readonly start: number;
  readonly end: number;
}

interface Step {
  readonly place: Place | undefined;
  /** Where the next line that may be found begins. */
  readonly next: number;
}

/**
 * Finds what a query means in texts, line by line; over line ends only when the query names them. A literal
 * costs time in proportion to the text; a regular expression may cost any time, so it runs where it can be
 * ended.
 */
export class TextMatcher {
  readonly isLiteral: boolean;
  readonly ignoreCase: boolean;
  readonly required: Required;
  readonly #literal: string | undefined;
  /** A line that can match has one of them; when there are none, any line can. */
  readonly #literals: readonly string[];
  readonly #pattern: RegExp;
  readonly #overLines: boolean;

  constructor(query: TextQuery) {
    this.#pattern = compilePattern(query);
    this.ignoreCase = query.ignoreCase;
    this.isLiteral = isLiteral(query);
    this.#literal = this.isLiteral && !query.ignoreCase ? query.query : undefined;
    this.#overLines = this.isLiteral
      ? query.query.includes("\n")
      : /\n|\\n|\\x0a|\\u000a|\\u\{0*a\}/i.test(query.query);
    const part = this.isLiteral
      ? partOfText(query.query, query.ignoreCase)
      : partOfPattern(this.#pattern.source, this.#pattern);
    this.required = requiredBy(part);
    const literals = this.required.map(([first]) => first!.literal);
    // When case is ignored they may stand there in any.
    this.#literals = query.ignoreCase ? [] : [...new Set(literals)];
  }

  /** Whether it came to the end of the text or of what `options` allow. */
  find(text: string, options: MatchOptions): "all" | "stopped" | "expired" {
    let line = 0;
    let counted = 0;
    let looks = 0;
    const candidates = new Candidates(text, this.#literals);
    for (let from = 0; from < text.length;) {
      looks += 1;
      if (looks % LINES_PER_LOOK === 0 && options.expired()) return "expired";
      const step = this.#overLines
        ? this.#anywhere(text, from, candidates)
        : this.#inLine(text, from, candidates);
      if (step === undefined) return "all";
      if (step.place !== undefined) {
        const lineStart = startOfLine(text, step.place.start);
        line += countLines(text, counted, lineStart);
        counted = lineStart;
        if (!options.found(describe(text, line, lineStart, step.place, options.contextLines))) {
          return "stopped";
        }
      }
      from = step.next;
    }
    return "all";
  }

  /** Looks at the next line that can match. */
  #inLine(text: string, from: number, candidates: Candidates): Step | undefined {
    if (this.isLiteral) {
      const place = this.#nextMatch(text, from);
      return place && { place, next: endOfLine(text, place.start) + 1 };
    }
    const at = candidates.next(from);
    if (at === -1) return undefined;
    const start = startOfLine(text, at);
    const end = endOfLine(text, at);
    this.#pattern.lastIndex = 0;
    const match = this.#pattern.exec(text.slice(start, end));
    return { place: match === null ? undefined : placeOf(match, start), next: end + 1 };
  }

  #anywhere(text: string, from: number, candidates: Candidates): Step | undefined {
    if (candidates.next(from) === -1) return undefined;
    const place = this.#nextMatch(text, from);
    return place && { place, next: endOfLine(text, Math.max(place.start, place.end - 1)) + 1 };
  }

  /** The next match, whatever lines it touches. */
  #nextMatch(text: string, from: number): Place | undefined {
    if (this.#literal !== undefined) {
      const start = text.indexOf(this.#literal, from);
      return start === -1 ? undefined : { start, end: start + this.#literal.length };
    }
    this.#pattern.lastIndex = from;
    const match = this.#pattern.exec(text);
    return match === null ? undefined : placeOf(match, 0);
  }
}

/** Where to look in one text: nothing between there and where one was can match. */
class Candidates {
  readonly #text: string;
  readonly #literals: readonly string[];
  /** For each literal the place where it stands next; looked up again only when it lies behind. */
  readonly #places: number[];

  constructor(text: string, literals: readonly string[]) {
    this.#text = text;
    this.#literals = literals;
    this.#places = literals.map(() => -2);
  }

  next(from: number): number {
    if (this.#literals.length === 0) return from;
    let nearest = -1;
    for (const [index, literal] of this.#literals.entries()) {
      let place = this.#places[index]!;
      if (place !== -1 && place < from) {
        place = this.#text.indexOf(literal, from);
        this.#places[index] = place;
      }
      if (place !== -1 && (nearest === -1 || place < nearest)) nearest = place;
    }
    return nearest;
  }
}

function placeOf(match: RegExpExecArray, offset: number): Place {
  return { start: offset + match.index, end: offset + match.index + match[0].length };
}

function describe(
  text: string,
  line: number,
  lineStart: number,
  { start, end }: Place,
  contextLines: number,
): FoundLine {
  const lineEnd = endOfLine(text, start);
  const shown = shownPart(text, lineStart, lineEnd, start);
  const endLineStart = startOfLine(text, end);
  return {
    line,
    endLine: line + countLines(text, lineStart, endLineStart),
    start: start - lineStart,
    end: end - endLineStart,
    content: text.slice(shown.start, shown.end),
    from: shown.start - lineStart,
    length: lineEnd - lineStart,
    before: linesBefore(text, lineStart, contextLines),
    after: linesAfter(text, endOfLine(text, end), contextLines),
  };
}

function shownPart(text: string, lineStart: number, lineEnd: number, match: number): Place {
  if (lineEnd - lineStart <= SHOWN_UNITS) return { start: lineStart, end: lineEnd };
  const wanted = Math.min(match - SHOWN_BEFORE_MATCH, lineEnd - SHOWN_UNITS);
  const start = wholeCharacter(text, Math.max(lineStart, wanted));
  return { start, end: wholeCharacter(text, Math.min(lineEnd, start + SHOWN_UNITS)) };
}

function linesBefore(text: string, lineStart: number, count: number): string[] {
  const lines: string[] = [];
  for (let end = lineStart - 1; end >= 0 && lines.length < count;) {
    const start = startOfLine(text, end);
    lines.unshift(shortened(text, start, end));
    end = start - 1;
  }
  return lines;
}

function linesAfter(text: string, lineEnd: number, count: number): string[] {
  const lines: string[] = [];
  for (let start = lineEnd + 1; start < text.length && lines.length < count;) {
    const end = endOfLine(text, start);
    lines.push(shortened(text, start, end));
    start = end + 1;
  }
  return lines;
}

function shortened(text: string, start: number, end: number): string {
  if (end - start <= SHOWN_UNITS) return text.slice(start, end);
  const cut = wholeCharacter(text, start + SHOWN_UNITS);
  return `${text.slice(start, cut)}… (${end - cut} more)`;
}

/** Not inside a surrogate pair. */
function wholeCharacter(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return at > 0 && code >= 0xdc00 && code <= 0xdfff ? at - 1 : at;
}

function startOfLine(text: string, at: number): number {
  return at === 0 ? 0 : text.lastIndexOf("\n", at - 1) + 1;
}

/** Where its `\n` stands, or the end of the text. */
function endOfLine(text: string, at: number): number {
  const end = text.indexOf("\n", at);
  return end === -1 ? text.length : end;
}

function countLines(text: string, from: number, to: number): number {
  let lines = 0;
  for (let at = text.indexOf("\n", from); at !== -1 && at < to; at = text.indexOf("\n", at + 1)) {
    lines += 1;
  }
  return lines;
}
