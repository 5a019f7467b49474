import { ScanWatch } from "./scan-watch.ts";
import type { TextMatcher } from "./text-matcher.ts";
import { type ScanEvents, type ScanLimits, TextScan } from "./text-scan.ts";

/** A longer text has its slice of time once more for each so many units. */
const UNITS_PER_SLICE = 1024 * 1024;

/** What one thread is to do of a search, and how long it may take. */
export interface SearchPart {
  /** All the time that is left. */
  readonly milliseconds: number;
  /** How long a pattern may take in one text. */
  readonly slice: number;
  /** So many texts may yet be given up. */
  readonly mayBeSlow: number;
  /** It begins behind this text: up to there others have looked. */
  readonly behind: string | undefined;
  /** The memory of a ScanWatch. */
  readonly watch: SharedArrayBuffer;
}

export interface WatchedEvents extends Pick<ScanEvents, "found" | "more"> {
  /** The pattern took too long in this text: what comes behind it is looked through. */
  slow(text: string): void;
}

/**
 * A scan on a thread that is watched. A pattern that takes longer in one text than that text's time gives it
 * up; when it does not come back to see that, the other side ends the thread and goes on behind the text. A
 * literal costs what the text is long, so it only has its time in all.
 */
export class WatchedScan {
  readonly #scan: TextScan;
  readonly #watch: ScanWatch;
  readonly #slice: number;
  readonly #end: number;
  readonly #watched: boolean;
  #endOfText = Infinity;

  constructor(
    matcher: TextMatcher,
    limits: ScanLimits & { readonly shown: number },
    part: SearchPart,
    events: WatchedEvents,
  ) {
    let mayBeSlow = part.mayBeSlow;
    this.#watch = new ScanWatch(part.watch);
    this.#slice = part.slice;
    this.#watched = !matcher.isLiteral;
    this.#end = performance.now() + part.milliseconds;
    this.#scan = new TextScan(
      matcher,
      limits,
      {
        found: (text, line) => events.found(text, line),
        more: (text) => events.more(text),
        expired: () => performance.now() > Math.min(this.#end, this.#endOfText),
        gaveUp: (text) => {
          if (performance.now() > this.#end) return false;
          events.slow(text);
          mayBeSlow -= 1;
          return mayBeSlow > 0;
        },
      },
      limits.shown,
    );
  }

  get truncated(): boolean {
    return this.#scan.truncated;
  }

  get timedOut(): boolean {
    return this.#scan.timedOut;
  }

  /** False when no further text needs to be looked at. */
  scan(name: string, text: string): boolean {
    if (!this.#watched) return this.#scan.scan(name, text);
    const slices = Math.max(1, Math.ceil(text.length / UNITS_PER_SLICE));
    this.#endOfText = performance.now() + slices * this.#slice;
    this.#watch.enter(name, slices);
    try {
      return this.#scan.scan(name, text);
    } finally {
      this.#watch.leave();
    }
  }
}
