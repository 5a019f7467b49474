import { realpathSync } from "node:fs";
import { type Clock, KumikoError, type Timers } from "../base/index.ts";
import type { EpochPart, Gathering } from "./epoch-part.ts";
import { compare } from "./compare.ts";
import { firstLook } from "./first-look.ts";
import { type Ignored, isRuleFile, parentOf } from "./ignored.ts";
import { Listening } from "./listening.ts";
import { errorCodeOf, type Stamp } from "./look.ts";
import { Noticing, SHORTEST } from "./noticing.ts";
import { Root } from "./root.ts";
import { settled } from "./settling.ts";
import { inSlices, slice } from "./slices.ts";
import { type Hint, subscribe, type Subscribe } from "./subscription.ts";
import { watchLimit } from "./watch-limit.ts";
import type { WatchTrouble } from "./watch-trouble.ts";

/** Milliseconds. */
const DEBOUNCE = 100;
const CHECK = 60_000;
/** The check, when nothing else tells of changes. */
const CHECK_UNWATCHED = 2000;
/** The check holds the thread for so long, then rests. */
const CHECK_SLICE = 2;
const CHECK_PAUSE = 40;
const CHECK_PAUSE_UNWATCHED = 10;
const ROOT_CHECK = 1000;
/** With so many hints at once the system may have dropped some; the watcher does not say so. */
const SUSPICIOUS = 4096;
/** Milliseconds after which what failed is tried again for the first time. */
const RETRY = 1000;

export interface WatchOptions {
  readonly ignored: Ignored;
  /** The next part waits until this one is dealt with. One that throws is told again later. */
  onChanges(part: EpochPart): void | Promise<void>;
  onTrouble(trouble: WatchTrouble): void;
  /** A file is like that now; what is told of it comes later. */
  onNoticed?(path: string, stamp: Stamp): void;
  /** Git does something to the files of a folder, as far as it keeps what it does in there. */
  onGit?(folder: string): void;
  /** Wall time: it is compared with the times of files. */
  readonly clock: Clock;
  readonly timers: Timers;
  /** While the folder is looked at for the first time. */
  readonly onProgress?: ((files: number, total: number | undefined) => void) | undefined;
  readonly debounce?: number;
  readonly check?: number;
  readonly subscribe?: Subscribe;
}

/** Begins to watch. When it is there, everything in the folder is known and changes are being told. */
export async function watchFolder(root: string, options: WatchOptions): Promise<FolderWatch> {
  const watch = new FolderWatch(root, options);
  try {
    await watch.start();
    return watch;
  } catch (error) {
    await watch.close();
    throw error;
  }
}

/**
 * Tells what changes in a folder, when it has come to rest. What the watcher says is only a hint where to look: what
 * is told is always the difference between the disk and what was told before, so nothing is told twice and whatever
 * the watcher misses is found by the next look.
 *
 * One task at a time looks, compares and tells (`#serially`); timers and the watcher only queue such tasks.
 */
export class FolderWatch implements AsyncDisposable {
  readonly #options: WatchOptions;
  readonly #debounce: number;
  readonly #root: Root;
  readonly #noticing: Noticing;
  readonly #stop = new AbortController();
  #tasks: Promise<void> = Promise.resolve();
  readonly #listening: Listening;
  #isHalted = false;
  #failureTold = false;
  #tried = 0;

  /** Not looked at yet; which subscription saw it come, or 0. */
  #hints = new Map<string, number>();
  #isSuspicious = false;
  /** How often in a row what changed could not be dealt with. */
  #failures = 0;
  #retrying: { cancel(): void } | undefined;
  #settling: { cancel(): void } | undefined;
  #checking: { cancel(): void } | undefined;
  #rootChecking: { cancel(): void } | undefined;

  constructor(root: string, options: WatchOptions) {
    this.#options = options;
    this.#debounce = options.debounce ?? DEBOUNCE;
    this.#root = openRoot(root);
    this.#listening = new Listening({
      root: this.#root,
      ignored: options.ignored,
      timers: options.timers,
      subscribe: options.subscribe ?? subscribe,
      onHints: (hints, generation) => this.#onHints(hints, generation),
      onError: (error) => void this.#serially(() => this.#beginAgain(error)),
    });
    this.#noticing = new Noticing({
      root: this.#root.path,
      ignored: options.ignored,
      clock: options.clock,
      debounce: this.#debounce,
      leaveOut: (folder) => this.#listening.leaveOut(folder),
      ofGit: (folder) => options.onGit?.(folder),
      noticed: (path, stamp) => options.onNoticed?.(path, stamp),
      unseen: (unseen) => options.onTrouble({ kind: "unseen", unseen }),
    });
  }

  /** What is known of every file that is not ignored. What waits to be told is not among it. */
  *stamps(): Generator<readonly [path: string, stamp: Stamp]> {
    for (const file of this.#noticing.known.files())
      if (!this.#options.ignored.isOnlyNoticed(file[0])) yield file;
  }

  async start(): Promise<void> {
    await this.#serially(async () => {
      const { onProgress } = this.#options;
      const { comparison, unheard } = this.#noticing;
      const { signal } = this.#stop;
      await firstLook(comparison, { signal, onProgress });
      unheard.clear();
      await this.#listen();
    }, true);
    // What changed between the first look and the beginning of watching.
    void this.#serially(() => this.#compare(""));
    this.#checkLater();
    this.#checkRootLater();
  }

  /** Git takes a lock, or gives it back: what happens until then is one thing. */
  gitLocked(lock: string): void {
    void this.#serially(async () => {
      if (this.#isHalted) return;
      this.#noticing.gitLocked(lock);
      this.#arm();
    });
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.#settling?.cancel();
    this.#retrying?.cancel();
    this.#checking?.cancel();
    this.#rootChecking?.cancel();
    await this.#tasks;
    await this.#listening.end();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  // Looking

  async #compare(folder: string): Promise<void> {
    if (this.#isHalted) return;
    await inSlices(compare(this.#noticing.comparison, folder, { deep: true }), this.#stop.signal);
    this.#arm();
  }

  /** Whatever happened while nobody looked happened at once. */
  #compareAsOne(): Promise<void> {
    this.#noticing.quiet.gather(this.#now());
    return this.#compare("");
  }

  #onHints(hints: readonly Hint[], generation: number): void {
    if (this.#stop.signal.aborted || this.#isHalted) return;
    if (hints.length >= SUSPICIOUS) this.#isSuspicious = true;
    const isFirst = this.#hints.size === 0;
    for (const { path, came } of hints) {
      // What came is watched by who saw it come.
      const seen = came ? generation : 0;
      this.#hints.set(path, Math.max(seen, this.#hints.get(path) ?? 0));
    }
    if (isFirst) {
      void this.#serially(async () => {
        const taken = this.#hints;
        this.#hints = new Map();
        if (!this.#isHalted) await inSlices(this.#follow(taken), this.#stop.signal);
        this.#arm();
      });
    }
  }

  *#follow(hints: ReadonlyMap<string, number>): Generator<undefined> {
    for (const [path, seen] of hints) {
      yield;
      yield* this.#noticing.follow(path, seen === this.#listening.generation);
    }
  }

  // Telling

  #arm(): void {
    this.#settling?.cancel();
    this.#settling = undefined;
    if (this.#stop.signal.aborted || this.#isHalted) return;
    const { quiet, locks, unheard } = this.#noticing;
    const wait = quiet.next(this.#now(), locks.isKnown);
    if (wait === undefined) quiet.endIfEmpty();
    const mustBegin = unheard.size > 0 || this.#listening.isOutdated || this.#isSuspicious;
    if (wait === undefined && !mustBegin) return;
    const after = Math.max(SHORTEST, wait ?? this.#debounce);
    this.#settling = this.#options.timers.after(
      after,
      () => void this.#serially(() => this.#tell()),
    );
  }

  async #tell(): Promise<void> {
    if (this.#isHalted) return;
    const { quiet, known } = this.#noticing;
    const settling = settled(this.#noticing, this.#options.ignored, this.#now());
    const gathering = await inSlices(settling, this.#stop.signal);
    // Looked at after everything else was: what is missing is not missing because the root is.
    if (!this.#root.isThere()) return this.#halt();
    const told = gathering?.paths() ?? [];
    if (gathering !== undefined) {
      const part = gathering.finish(quiet.epoch, known);
      quiet.told(told, this.#now(), this.#noticing.isHeld(this.#now()));
      await this.#hand(part, gathering);
    }
    for (const path of told.filter(isRuleFile)) await this.#compare(parentOf(path));
    await this.#followUp();
    this.#arm();
  }

  /** What nobody could deal with is not known yet: it is looked for again, each time after twice as long. */
  async #hand(part: EpochPart, gathering: Gathering): Promise<void> {
    try {
      await this.#options.onChanges(part);
      this.#failures = 0;
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      gathering.takeBack(this.#noticing.known);
      this.#options.onTrouble({ kind: "fault", error });
      const after = Math.min(CHECK, RETRY * 2 ** this.#failures);
      this.#failures += 1;
      this.#retrying?.cancel();
      this.#retrying = this.#options.timers.after(
        after,
        () => void this.#serially(() => this.#compareAsOne()),
      );
    }
  }

  // Watching

  /** What is better done when all is quiet. */
  async #followUp(): Promise<void> {
    const { quiet, known } = this.#noticing;
    if (quiet.size > 0 && quiet.mustBeWhole(this.#now())) return;
    const unheard = [...this.#noticing.unheard];
    if (unheard.length > 0 || this.#listening.isOutdated) {
      this.#noticing.unheard.clear();
      await this.#listen();
      // What happened in them before they were watched.
      for (const folder of unheard) if (known.folder(folder)) await this.#compare(folder);
    }
    if (this.#isSuspicious) {
      this.#isSuspicious = false;
      await this.#compare("");
    }
  }

  async #listen(): Promise<void> {
    this.#tried = this.#now();
    try {
      await this.#listening.begin();
      this.#failureTold = false;
    } catch (error) {
      if (this.#root.isThere()) this.#tellFailure(error as Error);
      else if (!this.#isHalted) await this.#halt();
    }
  }

  async #beginAgain(error: Error): Promise<void> {
    if (this.#isHalted) return;
    if (!this.#root.isThere()) return this.#halt();
    this.#options.onTrouble({ kind: "watcher_failed", reason: error.message });
    await this.#listen();
    await this.#compare("");
  }

  #tellFailure(error: Error): void {
    // Tried again from time to time; said once.
    if (!this.#failureTold) {
      const limit = watchLimit(error);
      if (limit === undefined) {
        this.#options.onTrouble({ kind: "watcher_failed", reason: error.message });
      } else this.#options.onTrouble({ kind: "too_many_watches", reason: limit });
    }
    this.#failureTold = true;
    this.#checkLater();
  }

  // Looking from time to time

  #checkLater(): void {
    this.#checking?.cancel();
    if (this.#stop.signal.aborted) return;
    const usual = this.#options.check ?? CHECK;
    const every = this.#listening.isOn ? usual : Math.min(CHECK_UNWATCHED, usual);
    this.#checking = this.#options.timers.after(every, () => {
      this.#checkOn(compare(this.#noticing.comparison, "", { deep: true, trusting: true }));
    });
  }

  #checkOn(work: Generator<undefined>): void {
    void this.#serially(async () => {
      const isDone = this.#isHalted || slice(work, CHECK_SLICE).done === true;
      if (!isDone) {
        const pause = this.#listening.isOn ? CHECK_PAUSE : CHECK_PAUSE_UNWATCHED;
        this.#checking = this.#options.timers.after(pause, () => this.#checkOn(work));
        return;
      }
      const isLongAgo = this.#now() - this.#tried >= CHECK;
      if (!this.#listening.isOn && isLongAgo && !this.#isHalted) await this.#listen();
      this.#arm();
      this.#checkLater();
    });
  }

  #checkRootLater(): void {
    if (this.#stop.signal.aborted) return;
    this.#rootChecking = this.#options.timers.after(ROOT_CHECK, () => {
      void this.#serially(async () => {
        try {
          if (!this.#isHalted && !this.#root.isThere()) await this.#halt();
          else if (this.#isHalted && this.#root.takeBack(this.#noticing.known))
            await this.#resume();
        } finally {
          this.#checkRootLater();
        }
      });
    });
  }

  /** Nothing is told of a root that is not there, least of all that everything in it is gone. */
  async #halt(): Promise<void> {
    this.#isHalted = true;
    this.#settling?.cancel();
    this.#noticing.forget();
    this.#hints.clear();
    this.#options.onTrouble({ kind: "root_gone" });
    await this.#listening.end();
  }

  async #resume(): Promise<void> {
    this.#options.ignored.forget("");
    // First: who is told may find that it is not there after all, and then it stays halted.
    this.#options.onTrouble({ kind: "root_back" });
    this.#isHalted = false;
    await this.#listen();
    await this.#compareAsOne();
  }

  #now(): number {
    return this.#options.clock.now();
  }

  #serially(task: () => Promise<void>, rethrow = false): Promise<void> {
    const before = this.#tasks;
    const run = async () => {
      await before;
      if (!this.#stop.signal.aborted) await task();
    };
    const done = run();
    this.#tasks = done.catch((error: unknown) => {
      if (this.#stop.signal.aborted || rethrow) return;
      this.#options.onTrouble({ kind: "fault", error });
    });
    return rethrow ? done : this.#tasks;
  }
}

function openRoot(path: string): Root {
  try {
    return new Root(realpathSync(path));
  } catch (error) {
    throw new KumikoError(
      "file_unreadable",
      `The folder "${path}" cannot be watched (${errorCodeOf(error)}). Check that it exists and may be read.`,
      { path, reason: errorCodeOf(error) },
      { cause: error },
    );
  }
}
