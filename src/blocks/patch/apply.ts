import { KumikoError } from "../../base/index.ts";
import { splitText, type TextLines } from "../diff/lines.ts";
import { placesAfterHint } from "./hint.ts";
import { adaptedEnding, localEnding, withEnding } from "./line-ending.ts";
import { LineIndex } from "./line-index.ts";
import { oldSideOf, type OldSide, statedLine } from "./old-side.ts";
import { findPlaces, type Place } from "./place.ts";
import { ambiguous, type Failing, rejected, unplaced } from "./refusal.ts";
import type { Hunk } from "./types.ts";

/** Lines [startLine, endLine) of the original text, counting from 0, become `lines`. No context is in it. */
export interface LineChange {
  readonly startLine: number;
  readonly endLine: number;
  readonly lines: readonly string[];
}

/** Lines count from 0. */
export interface HunkReport {
  /** Counting from 1. */
  readonly hunk: number;
  /** Where the patch said the hunk begins, or null. */
  readonly requestedLine: number | null;
  readonly line: number;
  /** `line` minus `requestedLine`; 0 when there was no number. */
  readonly offset: number;
  /** Context lines ignored at an end: the larger of the two. */
  readonly fuzz: number;
  /** Lines were taken as equal although their whitespace differs. */
  readonly whitespace?: true;
  /** Lines were taken as equal although their endings differ; added lines have the text's ending. */
  readonly lineEnding?: true;
}

export interface PatchOutcome {
  /** Rising and apart; two insertions may share a line, and then stand in this order. */
  readonly changes: readonly LineChange[];
  /** Whether the new text ends in a newline, if it has any line. */
  readonly finalNewline: boolean;
  readonly reports: readonly HunkReport[];
}

export interface ApplyOptions {
  /** Context lines that may be ignored at each end (default 2); 0 also forbids whitespace to differ. */
  readonly fuzz?: number;
}

/** All hunks or none. Every hunk addresses the original text. */
export function applyHunks(
  text: string,
  hunks: readonly Hunk[],
  options: ApplyOptions = {},
): PatchOutcome {
  const fuzz = options.fuzz ?? 2;
  if (!Number.isSafeInteger(fuzz) || fuzz < 0 || fuzz > 100) {
    throw new KumikoError(
      "invalid_argument",
      "fuzz must be a whole number of lines from 0 to 100.",
      { fuzz },
    );
  }
  return new Application(splitText(text), hunks, fuzz).run();
}

class Application {
  readonly #text: TextLines;
  readonly #index: LineIndex;
  readonly #hunks: readonly Hunk[];
  readonly #fuzz: number;
  readonly #ending: "\r" | "" | null;
  readonly #changes: LineChange[] = [];
  readonly #reports: HunkReport[] = [];
  /** How far the last numbered hunk was from its number: the next ones have probably moved as far. */
  #drift = 0;
  /** Lines before this belong to earlier hunks. */
  #from = 0;
  #finalNewline: boolean;

  constructor(text: TextLines, hunks: readonly Hunk[], fuzz: number) {
    this.#text = text;
    this.#index = new LineIndex(text.lines);
    this.#hunks = hunks;
    this.#fuzz = fuzz;
    this.#ending = adaptedEnding(text.lines, text.finalNewline, hunks);
    this.#finalNewline = text.lines.length === 0 || text.finalNewline;
  }

  run(): PatchOutcome {
    this.#hunks.forEach((hunk, at) => this.#apply(hunk, at + 1));
    this.#settleLastLine();
    return { changes: this.#changes, finalNewline: this.#finalNewline, reports: this.#reports };
  }

  #apply(hunk: Hunk, number: number): void {
    const old = oldSideOf(hunk);
    const stated = statedLine(hunk, old);
    const failing: Failing = { number, hunk, old, stated, from: this.#from };
    const place =
      old.texts.length === 0 ? this.#insertionPlace(failing) : this.#matchingPlace(failing);
    const ending = this.#ending ?? localEnding(this.#text.lines, old.texts, place.start);
    if (hunk.newNoNewline !== hunk.oldNoNewline) this.#finalNewline = hunk.oldNoNewline;
    this.#record(hunk, place.start, place.start + old.texts.length, ending);
    if (stated !== null) this.#drift = place.start - stated;
    this.#reports.push(this.#report(number, old, stated, place, ending));
  }

  #insertionPlace(failing: Failing): Place {
    const { length } = this.#text.lines;
    const stated = failing.stated ?? (length === 0 ? 0 : null);
    const start = stated === null ? -1 : stated + this.#drift;
    const ends = !failing.old.atEnd || start === length;
    if (start < this.#from || start > length || !ends) throw unplaced(failing);
    return { start, fuzz: 0, tolerance: { context: "exact", removed: "exact", dropped: 0 } };
  }

  #matchingPlace(failing: Failing): Place {
    const { stated, old, hunk } = failing;
    const expected = stated === null ? [] : [stated + this.#drift, stated];
    const places = findPlaces(this.#index, old, { from: this.#from, expected, fuzz: this.#fuzz });
    if (places.length === 0) throw rejected(failing, this.#index, this.#fuzz);
    const [place, other] = placesAfterHint(this.#index, places, places.length > 1 ? hunk.hint : "");
    if (place === undefined || other !== undefined) throw ambiguous(failing, places);
    return place;
  }

  /** Only lines that really change are recorded: what a hunk removes and adds again stays untouched. */
  #record(hunk: Hunk, start: number, end: number, ending: "\r" | "" | null): void {
    // Where lines end in `\r\n`, a last line without newline has no `\r` either.
    const endsUnended = end === this.#text.lines.length && !this.#finalNewline;
    const lastNew = hunk.lines.findLastIndex(({ kind }) => kind !== "removed");
    let line = start;
    let at = 0;
    while (at < hunk.lines.length) {
      if (hunk.lines[at]!.kind === "context") {
        line++;
        at++;
        continue;
      }
      const startLine = line;
      const added: string[] = [];
      for (; at < hunk.lines.length && hunk.lines[at]!.kind !== "context"; at++) {
        const { kind, text } = hunk.lines[at]!;
        if (kind === "removed") line++;
        else if (ending === null) added.push(text);
        else added.push(withEnding(text, at === lastNew && endsUnended ? "" : ending));
      }
      this.#recordChange(startLine, line, added);
      this.#from = line;
    }
  }

  #recordChange(startLine: number, endLine: number, lines: readonly string[]): void {
    const old = this.#text.lines;
    let start = 0;
    while (
      startLine + start < endLine &&
      start < lines.length &&
      old[startLine + start] === lines[start]
    )
      start++;
    let end = 0;
    while (
      endLine - end > startLine + start &&
      lines.length - end > start &&
      old[endLine - end - 1] === lines[lines.length - end - 1]
    ) {
      end++;
    }
    const change = {
      startLine: startLine + start,
      endLine: endLine - end,
      lines: lines.slice(start, lines.length - end),
    };
    if (change.startLine < change.endLine || change.lines.length > 0) this.#changes.push(change);
  }

  /** The last line of a CRLF text had no newline and gets one: it needs its `\r` too. */
  #settleLastLine(): void {
    const count = this.#text.lines.length;
    if (this.#ending !== "\r" || this.#text.finalNewline) return;
    const last = this.#changes[this.#changes.length - 1];
    const appends = last !== undefined && last.startLine === count;
    const replaces = last !== undefined && last.endLine === count && !appends;
    if (replaces || !(appends || this.#finalNewline)) return;
    const settled = withEnding(this.#text.lines[count - 1]!, "\r");
    const appended = appends ? this.#changes.pop()!.lines : [];
    this.#changes.push({ startLine: count - 1, endLine: count, lines: [settled, ...appended] });
  }

  #report(
    number: number,
    old: OldSide,
    stated: number | null,
    place: Place,
    ending: "\r" | "" | null,
  ): HunkReport {
    const { context, removed } = place.tolerance;
    const whitespace = context === "trailing" || context === "around" || removed === "stripped";
    const differs = ending !== null && (old.texts.length === 0 || context !== "exact");
    return {
      hunk: number,
      requestedLine: stated,
      line: Math.max(0, place.start),
      offset: stated === null ? 0 : place.start - stated,
      fuzz: place.fuzz,
      ...(whitespace && { whitespace: true as const }),
      ...(differs && { lineEnding: true as const }),
    };
  }
}
