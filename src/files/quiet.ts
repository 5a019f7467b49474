import type { Look, Stamp } from "./look.ts";

/** An empty file is believed after so much longer, in milliseconds: many programs empty a file before they write it. */
const LONGER = 1000;
/** A file that was seen to grow or has lost most of itself must be quiet for so many times as long. */
const GROWING = 4;
/** What never comes to rest (a log) is told after so long all the same. */
const LONGEST = 10_000;
/** So many paths at the same time are one happening. */
const MANY = 8;
/** For so long at most what is quiet waits for the rest of what happens with it. */
const TOGETHER = 2000;
/** What goes on for longer than this is no longer one happening. */
const LONGEST_EPOCH = 60_000;

interface Waiting {
  readonly first: number;
  /** When something last happened to it, as far as is known. */
  readonly last: number;
  readonly look: Look | undefined;
  /** It is in the middle of being written, by all appearances. */
  readonly growing: boolean;
  /** Its being empty is no news. */
  readonly wasEmpty: boolean;
}

/**
 * Decides when a path that something happened to has come to rest, and what belongs together. It knows neither a
 * disk nor a timer: it is told what was seen and when, in milliseconds.
 */
export class Quiet {
  readonly #debounce: number;
  readonly #waiting = new Map<string, Waiting>();
  #epoch = 1;
  /** When it began, once something of it was told. */
  #told: number | undefined;
  #opened: number | undefined;
  #isOne = false;
  #mayBeMore = false;

  constructor(debounce: number) {
    this.#debounce = debounce;
  }

  /** The number of what happens now. */
  get epoch(): number {
    return this.#epoch;
  }

  get size(): number {
    return this.#waiting.size;
  }

  has(path: string): boolean {
    return this.#waiting.has(path);
  }

  looked(path: string): Look | undefined {
    return this.#waiting.get(path)?.look;
  }

  paths(): Iterable<string> {
    return this.#waiting.keys();
  }

  /** Something happened to a path at a time, and this is what was seen there then; `before` is how it was last told. */
  touch(path: string, look: Look | undefined, at: number, before: Stamp | undefined): void {
    const was = this.#waiting.get(path);
    const hasGrown =
      look?.kind === "file" && was?.look?.kind === "file" && was.look.size !== look.size;
    const isShort =
      before !== undefined && look?.inode === before.inode && look.size * 2 < before.size;
    this.#waiting.set(path, {
      first: was?.first ?? at,
      last: Math.max(at, was?.last ?? at),
      look,
      growing: was?.growing === true || hasGrown || isShort,
      wasEmpty: before?.size === 0,
    });
    this.#opened ??= at;
    if (this.#waiting.size >= MANY) this.#isOne = true;
  }

  /** Whatever happens now is one thing, however few paths it touches. */
  gather(now: number): void {
    this.#opened ??= now;
    this.#isOne = true;
    this.#mayBeMore = true;
  }

  /** Whether what happens is one thing of which some may not have been heard yet. Says so once: who asks looks. */
  takeMayBeMore(): boolean {
    const mayBeMore = this.#mayBeMore;
    this.#mayBeMore = false;
    return mayBeMore;
  }

  /** Everything that can be told now; `held` as long as it is known that more is to come. */
  ready(now: number, held: boolean): string[] {
    const due = [...this.#waiting].filter(([, waiting]) => this.#rest(waiting, now) <= 0);
    const isAll = due.length === this.#waiting.size && !held;
    return !this.#isOne || isAll || this.#isTimeUp(now) ? due.map(([path]) => path) : [];
  }

  /** Whether what is ready has to wait for the rest. */
  mustBeWhole(now: number): boolean {
    return this.#isOne && !this.#isTimeUp(now);
  }

  /** In how many milliseconds it is worth asking again. */
  next(now: number, held: boolean): number | undefined {
    if (this.#waiting.size === 0 && !held) return undefined;
    if (this.#waiting.size === 0) return this.#debounce;
    let soonest = Infinity;
    let latest = held ? this.#debounce : 0;
    for (const waiting of this.#waiting.values()) {
      const rest = this.#rest(waiting, now);
      soonest = Math.min(soonest, rest);
      latest = Math.max(latest, rest);
    }
    const isGathering = this.#isOne && !this.#isTimeUp(now);
    const until = isGathering ? Math.min(latest, this.#timeUp - now) : soonest;
    return Math.max(0, Math.min(until, LONGEST));
  }

  /**
   * These were told, as part of the epoch; what remains of one happening, and what is to come while it is `held`, keeps
   * its number. It is waited for once: what comes later is told when it is quiet.
   */
  told(paths: Iterable<string>, now: number, held: boolean): void {
    for (const path of paths) this.#waiting.delete(path);
    this.#told ??= this.#opened ?? now;
    const isTooLong = now - this.#told >= LONGEST_EPOCH;
    if (!this.#isOne || isTooLong) this.#next();
    if (this.#waiting.size === 0 && !held) this.endIfEmpty();
    else if (!held || isTooLong) this.#opened = now;
  }

  /** These turned out to be nothing to tell. */
  drop(paths: Iterable<string>, held: boolean): void {
    for (const path of paths) this.#waiting.delete(path);
    if (!held) this.endIfEmpty();
  }

  endIfEmpty(): void {
    if (this.#waiting.size > 0) return;
    if (this.#told !== undefined) this.#next();
    this.#isOne = false;
    this.#mayBeMore = false;
    this.#opened = undefined;
  }

  #next(): void {
    this.#epoch += 1;
    this.#told = undefined;
  }

  get #timeUp(): number {
    return (this.#opened ?? 0) + TOGETHER;
  }

  #isTimeUp(now: number): boolean {
    return now >= this.#timeUp;
  }

  #rest({ first, last, look, growing, wasEmpty }: Waiting, now: number): number {
    let needed = this.#debounce;
    if (look?.kind === "file" && look.size === 0 && !wasEmpty) needed += LONGER;
    else if (growing) needed *= GROWING;
    return Math.min(last + needed, first + LONGEST) - now;
  }
}
