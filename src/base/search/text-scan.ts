import type { TextMatcher } from "./text-matcher.ts";
import type { FoundLine } from "./text-query.ts";

/** Where the results of one search end. */
export interface ScanLimits {
  readonly contextLines: number;
  readonly linesPerText: number;
  /** In how many texts something may be found. */
  readonly texts: number;
}

/** All that one search may show, whatever its other limits say. */
const MOST_UNITS = 4 * 1024 * 1024;

export interface ScanEvents {
  found(text: string, line: FoundLine): void;
  /** There is more in this text than its limit lets through. */
  more(text: string): void;
  expired(): boolean;
  /** It expired in this text; true when the search goes on behind it. */
  gaveUp?(text: string): boolean;
}

/** What a search found in one text after the other, up to its limits, and whether there is more. */
export class TextScan {
  readonly #matcher: TextMatcher;
  readonly #limits: ScanLimits;
  readonly #events: ScanEvents;
  #texts = 0;
  #units: number;
  truncated = false;
  timedOut = false;

  /** `shown`: the units that an earlier part of the search has found already. */
  constructor(matcher: TextMatcher, limits: ScanLimits, events: ScanEvents, shown = 0) {
    this.#matcher = matcher;
    this.#limits = limits;
    this.#events = events;
    this.#units = shown;
  }

  /** False when no further text needs to be looked at. */
  scan(name: string, text: string): boolean {
    let lines = 0;
    const { contextLines, linesPerText, texts } = this.#limits;
    if (this.#events.expired()) return this.#expire(name);
    const end = this.#matcher.find(text, {
      contextLines,
      expired: () => this.#events.expired(),
      found: (line) => {
        if (lines === 0 && this.#texts === texts) this.truncated = true;
        if (lines === linesPerText) this.#events.more(name);
        if (this.truncated || lines === linesPerText) return false;
        if (lines === 0) this.#texts += 1;
        lines += 1;
        this.#units += unitsOf(line);
        this.truncated = this.#units > MOST_UNITS;
        this.#events.found(name, line);
        return !this.truncated;
      },
    });
    return end === "expired" ? this.#expire(name) : !this.truncated;
  }

  #expire(name: string): boolean {
    this.timedOut = this.#events.gaveUp?.(name) !== true;
    return !this.timedOut;
  }
}

/** What a found line counts for. */
export function unitsOf({ content, before, after }: FoundLine): number {
  return [content, ...before, ...after].reduce((sum, text) => sum + text.length, 0);
}
