import { readSync } from "node:fs";
import type { Clock, Timers } from "../base/index.ts";
import { type FileIdentity, type FileStat, restOf, sameIdentity } from "./file-stat.ts";
import type { Base } from "./ledger.ts";
import type { MountedFile } from "./mounted-file.ts";
import { isBeingWritten } from "./open-elsewhere.ts";
import type { ReplacedFile } from "./replaced-file.ts";
import type { Earlier } from "./stale.ts";
import type { TextForm } from "./text-form.ts";

/** For so many milliseconds after it was replaced, or last written, a file is kept open. */
const KEPT_FOR = 1_000;
/** Milliseconds between two looks. */
const BETWEEN = 100;
/** As many are kept; where more come, the oldest go before their time. */
const MOST = 64;
/** A file that does not come to rest, or cannot be taken in, is taken as it is, or given up, so many milliseconds later. */
const LATEST = 3_000;
/** So many milliseconds after another program wrote to a file of the folder it may do so again. */
const COMPANY = 10_000;

/** What a file held that was replaced, and what was there before. */
export interface WrittenTo {
  readonly base: Base;
  readonly form: TextForm;
  readonly earlier: readonly Earlier[];
}

/** What was written to a file after it had been replaced. */
export interface LateWrite {
  readonly file: MountedFile;
  readonly writtenTo: WrittenTo;
  readonly bytes: Uint8Array;
  readonly identity: FileStat;
  /** False when it was to be forgotten meanwhile. */
  isWanted(): boolean;
}

export interface LateWritesPorts {
  readonly timers: Timers;
  /** For durations only. */
  readonly clock: Clock;
  /** Bytes above which a file is not read as text. */
  readonly largest: number;
  /** Takes it in, and gives what the next one is made of. */
  take(late: LateWrite): Promise<WrittenTo>;
  /** It cannot be taken in, and is given up. */
  onLost(file: MountedFile, error: unknown): void;
}

interface Kept {
  readonly replaced: ReplacedFile;
  readonly file: MountedFile;
  writtenTo: WrittenTo;
  /** What it was when that was last taken in. */
  seen: FileIdentity;
  /** What it should hold, until somebody has looked. */
  uncompared: Uint8Array | undefined;
  /** It did not, although no time says so. */
  differs: boolean;
  /** Another that it was found to be, when, and since when it has been another. */
  changed:
    | { readonly identity: FileIdentity; readonly at: number; readonly since: number }
    | undefined;
  until: number;
}

/**
 * Files that saves of ours took the places of, open for a moment still: a program that had opened one before writes to it
 * afterwards, where nobody would ever read it.
 */
export class LateWrites implements AsyncDisposable {
  readonly #ports: LateWritesPorts;
  /** The oldest first. */
  readonly #kept = new Set<Kept>();
  /** When one of each file last came, and when another program last wrote to any. */
  readonly #last = new WeakMap<MountedFile, number>();
  /** Those of which the next one must not be kept. */
  readonly #unwanted = new WeakSet<MountedFile>();
  #noticed = -Infinity;
  #timer: { cancel(): void } | undefined;
  #looking: Promise<void> | undefined;
  #isClosing = false;
  #isClosed = false;

  constructor(ports: LateWritesPorts) {
    this.#ports = ports;
  }

  /** From now on the replaced file is this one's to close. Of `uncompared` it is not known whether the file holds it. */
  keep(
    replaced: ReplacedFile,
    of: { readonly file: MountedFile; readonly writtenTo: WrittenTo },
    uncompared?: Uint8Array,
  ): void {
    const { file } = of;
    if (this.#isClosed || this.#unwanted.delete(file)) return replaced[Symbol.dispose]();
    const now = this.#ports.clock.now();
    const until = now + KEPT_FOR;
    const seen = replaced.stat;
    const kept = { ...of, replaced, seen, uncompared, differs: false, changed: undefined, until };
    this.#kept.add(kept);
    // Many in a row, and nobody else: the disk is quicker when what they had is given back at once.
    const isRapid =
      now - (this.#last.get(file) ?? -Infinity) < BETWEEN && now - this.#noticed > COMPANY;
    this.#last.set(file, now);
    // When whoever waits for the save has its answer. Not later: what is kept for long costs the collector.
    setImmediate(() => {
      if (this.#isUnchanged(kept) && isRapid) this.#letGo(kept);
      for (const each of this.#kept) {
        if (this.#kept.size <= MOST) break;
        if (this.#isUnchanged(each)) this.#letGo(each);
      }
    });
    return this.#lookLater();
  }

  /** What a file held must not be known any more: neither what was replaced by now, nor what is replaced next. */
  forget(file: MountedFile): void {
    for (const kept of this.#kept) if (kept.file === file) this.#letGo(kept);
    this.#unwanted.add(file);
  }

  /** Another program wrote to a file of the folder. */
  noticed(): void {
    this.#noticed = this.#ports.clock.now();
  }

  /** Looks at all of them once more. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosing = true;
    this.#timer?.cancel();
    await this.#looking;
    for (const kept of this.#kept) {
      while (this.#kept.has(kept) && !(await this.#look(kept))) await this.#pause();
      this.#letGo(kept);
    }
    this.#isClosed = true;
  }

  #lookLater(): void {
    if (this.#isClosing || this.#kept.size === 0 || this.#looking !== undefined) return;
    this.#timer ??= this.#ports.timers.after(BETWEEN, () => {
      this.#timer = undefined;
      this.#looking = this.#lookAtAll().finally(() => {
        this.#looking = undefined;
        this.#lookLater();
      });
    });
  }

  async #lookAtAll(): Promise<void> {
    // Not those that come meanwhile: they were just replaced.
    const all = [...this.#kept];
    for (const kept of all) {
      // One at a time: whoever wants something meanwhile is served first.
      await new Promise((resolve) => setImmediate(resolve));
      const isQuiet = await this.#look(kept);
      if (isQuiet && this.#ports.clock.now() >= kept.until) this.#letGo(kept);
    }
  }

  /** True when nothing was written to it since it was last taken in; nothing is looked at that was let go. */
  async #look(kept: Kept): Promise<boolean> {
    if (this.#isUnchanged(kept) || !this.#kept.has(kept)) return true;
    const now = this.#ports.clock.now();
    try {
      const identity = kept.replaced.look();
      if (kept.changed === undefined || !sameIdentity(kept.changed.identity, identity))
        kept.changed = { identity, at: now, since: kept.changed?.since ?? now };
      const { at, since } = kept.changed;
      const isRestless = now - since >= LATEST;
      if (!isRestless && now - at < restOf(identity, kept.seen)) return false;
      if (!isRestless && (await isBeingWritten(identity, kept.seen, now - at))) return false;
      await this.#take(kept, identity, isRestless);
    } catch (error) {
      // Again and again, as long as it may come to something.
      if (now - (kept.changed?.since ?? -Infinity) >= LATEST || this.#isClosing)
        this.#lose(kept, error);
    }
    return false;
  }

  async #take(kept: Kept, identity: FileStat, isRestless: boolean): Promise<void> {
    const { clock, largest } = this.#ports;
    if (identity.size > largest) return this.#lose(kept, new Error("it is larger than the limit"));
    const bytes = contentOf(kept.replaced, identity.size);
    // Somebody wrote while it was read.
    if (!isRestless && !sameIdentity(kept.replaced.look(), identity)) return undefined;
    const { file, writtenTo } = kept;
    const isWanted = (): boolean => this.#kept.has(kept);
    kept.writtenTo = await this.#ports.take({ file, writtenTo, bytes, identity, isWanted });
    kept.seen = identity;
    kept.differs = false;
    kept.changed = undefined;
    kept.until = clock.now() + KEPT_FOR;
    // Who goes on writing while everything ends is not waited for.
    if (isRestless && this.#isClosing) this.#letGo(kept);
    return undefined;
  }

  /** False as well when that cannot be found out: then there is nothing to be had of it any more. */
  #isUnchanged(kept: Kept): boolean {
    if (!this.#kept.has(kept)) return false;
    try {
      return isUnchanged(kept);
    } catch (error) {
      this.#lose(kept, error);
      return false;
    }
  }

  #lose(kept: Kept, error: unknown): void {
    this.#letGo(kept);
    this.#ports.onLost(kept.file, error);
  }

  #letGo(kept: Kept): void {
    if (this.#kept.delete(kept)) kept.replaced[Symbol.dispose]();
  }

  #pause(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#ports.timers.after(BETWEEN, resolve);
    return promise;
  }
}

function isUnchanged(kept: Kept): boolean {
  const { replaced, seen, uncompared } = kept;
  if (uncompared !== undefined) kept.differs = !replaced.holds(uncompared);
  kept.uncompared = undefined;
  return !kept.differs && sameIdentity(replaced.look(), seen);
}

function contentOf({ descriptor }: ReplacedFile, size: number): Uint8Array {
  const bytes = Buffer.allocUnsafe(size);
  let length = 0;
  while (length < size) {
    const count = readSync(descriptor, bytes, length, size - length, length);
    if (count === 0) break;
    length += count;
  }
  return bytes.subarray(0, length);
}
