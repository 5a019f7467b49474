import type { Source } from "./source.ts";

/** A line that opens a fence is no longer than this. */
const LONGEST_LINE = 1_024;
const [NEWLINE, SPACE, TAB, LESS, BACKTICK] = [10, 32, 9, 60, 96];

interface Opening {
  readonly language: string;
  /** Behind its line, as an index of the source's text. */
  readonly end: number;
}

/**
 * Finds code fences in text that comes in pieces: a line of three or more backticks or tildes, and
 * the line that ends it.
 */
export class FenceScan {
  /** Of the fence that is open or may be opening. */
  run = 0;
  /** How far the line that ends it may be indented. */
  indent = 3;
  #mark = 0;
  /** Where in the whole a line starts although no newline stands before it: behind a tag. */
  #lineStart = 0;
  readonly #isAmongTags: boolean;
  /** Whether the next thing in the fence is the beginning of its first line. */
  #isFirst = false;
  /** The marks that come next in what was added last. */
  #backtick = -1;
  #tilde = -1;
  #additions = -1;

  /** Among tags, a fence may end where a tag follows on the same line, and does not begin there. */
  constructor({ tags }: { readonly tags: boolean }) {
    this.#isAmongTags = tags;
  }

  lineStartsAt(offset: number): void {
    this.#lineStart = offset;
  }

  /** Where, before `limit`, a fence opens or may be opening; -1: nowhere. */
  next(source: Source, limit: number): number {
    const { text } = source;
    let { at } = source;
    while (at < limit) {
      const found = this.#nextMark(source, at);
      if (found >= limit) break;
      let end = found;
      const mark = text.charCodeAt(found);
      while (end < text.length && text.charCodeAt(end) === mark) end++;
      const couldGrow = end === text.length;
      if ((end - found >= 3 || couldGrow) && this.#startsLine(source, found)) {
        this.#mark = mark;
        this.run = end - found;
        return found;
      }
      at = end;
    }
    return -1;
  }

  /** Whether the line with marks at an index opens a fence. */
  opening(source: Source, isLast: boolean, at = source.at): "more" | "text" | Opening {
    const { text } = source;
    this.#mark = text.charCodeAt(at);
    let end = at;
    while (end < text.length && text.charCodeAt(end) === this.#mark) end++;
    this.run = end - at;
    const newline = text.indexOf("\n", end);
    const info = text.slice(end, newline === -1 ? text.length : newline);
    if (end < text.length && this.run < 3) return "text";
    if (this.run > LONGEST_LINE || info.length > LONGEST_LINE) return "text";
    if (this.#isAmongTags && info.includes("<")) return "text";
    if (this.#mark === BACKTICK && info.includes("`")) return "text";
    if (newline === -1) return isLast ? "text" : "more";
    this.#isFirst = true;
    return { language: info.trim().split(/\s/)[0]!, end: newline + 1 };
  }

  /**
   * The next stretch inside the fence: content up to one index and, unless it is -1, what ends the
   * fence up to another. A newline is kept back until the line behind it is known.
   */
  line(source: Source, isLast: boolean): { content: number; end: number } {
    const { text } = source;
    let { at } = source;
    for (;;) {
      const newline = this.#isFirst ? at - 1 : text.indexOf("\n", at);
      if (!this.#isFirst && newline === -1) return { content: text.length, end: -1 };
      const closing = this.#closing(text, newline + 1, isLast);
      const content = this.#isFirst ? at : newline;
      if (closing > 0) {
        this.#isFirst = false;
        return { content, end: closing };
      }
      if (closing === 0 && !isLast) return { content, end: -1 };
      if (this.#isFirst) this.#isFirst = false;
      else at = newline + 1;
      if (at >= text.length) return { content: text.length, end: -1 };
    }
  }

  /** Behind the marks of a line that ends the fence; -1: it does not; 0: more of it must be seen. */
  #closing(text: string, start: number, isLast: boolean): number {
    let at = start;
    while (at < text.length && text.charCodeAt(at) === SPACE && at - start < this.indent) at++;
    const marks = at;
    while (at < text.length && text.charCodeAt(at) === this.#mark) at++;
    const end = at;
    if (at < text.length && at - marks < this.run) return -1;
    while (at < text.length && (text.charCodeAt(at) === SPACE || text.charCodeAt(at) === TAB)) at++;
    if (at - start > LONGEST_LINE) return -1;
    if (at === text.length) {
      if (!isLast) return 0;
      return end - marks >= this.run ? end : -1;
    }
    const code = text.charCodeAt(at);
    return code === NEWLINE || (code === LESS && this.#isAmongTags) ? end : -1;
  }

  /** Only spaces, at most three, between the beginning of the line and here. */
  #startsLine(source: Source, index: number): boolean {
    let at = index;
    while (index - at <= 3 && source.codeBefore(at) === SPACE) at--;
    if (index - at > 3) return false;
    return source.base + at === this.#lineStart || source.codeBefore(at) === NEWLINE;
  }

  /** The next backtick or tilde from an index on, or the end. Neither is looked for twice. */
  #nextMark({ text, additions }: Source, from: number): number {
    if (this.#additions !== additions) {
      this.#additions = additions;
      this.#backtick = this.#tilde = -1;
    }
    if (this.#backtick < from) this.#backtick = indexOrEnd(text, "`", from);
    if (this.#tilde < from) this.#tilde = indexOrEnd(text, "~", from);
    return Math.min(this.#backtick, this.#tilde);
  }
}

function indexOrEnd(text: string, mark: string, from: number): number {
  const found = text.indexOf(mark, from);
  return found === -1 ? text.length : found;
}
