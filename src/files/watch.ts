import { realpathSync } from "node:fs";
import { join } from "node:path";
import { type Clock, KumikoError, type Timers } from "../base/index.ts";
import { type Batch, Draft } from "./batch.ts";
import { compare, type Comparison } from "./compare.ts";
import { type Ignored, isRuleFile, parentOf } from "./ignored.ts";
import { Known } from "./known.ts";
import { Listening } from "./listening.ts";
import { errorCodeOf, isSame, type Look, lookAt, type Stamp } from "./look.ts";
import { Quiet } from "./quiet.ts";
import { Root } from "./root.ts";
import type { Unseen } from "./scan.ts";
import { inSlices, slice } from "./slices.ts";
import { type Hint, subscribe, type Subscribe } from "./subscription.ts";
import { watchLimit } from "./watch-limit.ts";

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
/** From the news of a change to its being told, at least: it is looked at twice, whatever the disk's clock says. */
const SHORTEST = 20;
/** With so many hints at once the system may have dropped some; the watcher does not say so. */
const SUSPICIOUS = 4096;

export type WatchTrouble =
  | { readonly kind: "root_gone" }
  | { readonly kind: "root_back" }
  /** It was started again and the whole folder compared; while that fails, changes are found by looking. */
  | { readonly kind: "watcher_failed"; readonly reason: string }
  /** Changes are found by looking every 2 seconds; the reason says how to raise the limit. */
  | { readonly kind: "too_many_watches"; readonly reason: string }
  | { readonly kind: "unseen"; readonly unseen: Unseen }
  /** A fault of ours or of who is told; watching goes on. */
  | { readonly kind: "fault"; readonly error: unknown };

/** So many files are told of together. */
const TOGETHER = 1000;

export interface WatchOptions {
  readonly ignored: Ignored;
  /** The next batch waits until this one is dealt with. */
  onChanges(batch: Batch): void | Promise<void>;
  onTrouble(trouble: WatchTrouble): void;
  /** Wall time: it is compared with the times of files. */
  readonly clock: Clock;
  readonly timers: Timers;
  /** While the folder is looked at for the first time. */
  onProgress?(files: number): void;
  readonly debounce?: number;
  readonly check?: number;
  /** What was known when we last looked (`stamps()` of then): what differs is the first batch. */
  readonly since?: Iterable<readonly [path: string, stamp: Stamp]>;
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
  readonly #known = new Known();
  readonly #quiet: Quiet;
  readonly #comparison: Comparison;
  readonly #stop = new AbortController();
  #tasks: Promise<void> = Promise.resolve();
  readonly #listening: Listening;
  #isHalted = false;
  #failureTold = false;
  #tried = 0;

  /** Not looked at yet; which subscription saw it come, or 0. */
  #hints = new Map<string, number>();
  /** New folders, to be looked into once more when they have come to rest. */
  readonly #fresh = new Set<string>();
  /** New folders that the watcher does not know of: it has to begin anew to watch them. */
  readonly #unheard = new Set<string>();
  #isSuspicious = false;
  /** Lock files of git: more is to come while one is there. */
  readonly #locks = new Set<string>();

  #settling: { cancel(): void } | undefined;
  #checking: { cancel(): void } | undefined;
  #rootChecking: { cancel(): void } | undefined;

  constructor(root: string, options: WatchOptions) {
    this.#options = options;
    this.#debounce = options.debounce ?? DEBOUNCE;
    this.#root = openRoot(root);
    this.#quiet = new Quiet(this.#debounce);
    this.#listening = new Listening({
      root: this.#root,
      ignored: options.ignored,
      timers: options.timers,
      subscribe: options.subscribe ?? subscribe,
      onHints: (hints, generation) => this.#onHints(hints, generation),
      onError: (error) => void this.#serially(() => this.#beginAgain(error)),
    });
    this.#comparison = {
      root: this.#root.path,
      known: this.#known,
      ignored: options.ignored,
      clock: options.clock,
      differs: (path, look) => this.#differs(path, look),
      found: (folder, look) => this.#found(folder, look),
      missing: (folder) => this.#touch(folder, undefined),
      leftOut: (folder) => this.#listening.leaveOut(folder),
      unseen: (unseen) => this.#unseen(unseen),
    };
  }

  /** What is known of every file, to be given as `since` next time. What waits to be told is not among it. */
  stamps(): Iterable<readonly [path: string, stamp: Stamp]> {
    return this.#known.files();
  }

  async start(): Promise<void> {
    await this.#serially(async () => {
      for (const [path, stamp] of this.#options.since ?? []) this.#known.putFile(path, stamp);
      if (this.#options.since === undefined) await this.#adopt();
      else await this.#compareAsOne();
      this.#unheard.clear();
      await this.#listen();
    }, true);
    // What changed between the first look and the beginning of watching.
    void this.#serially(() => this.#compare(""));
    this.#checkLater();
    this.#checkRootLater();
  }

  /** Compares the whole folder with what is known. */
  rescan(): Promise<void> {
    return this.#serially(() => this.#compare(""));
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.#settling?.cancel();
    this.#checking?.cancel();
    this.#rootChecking?.cancel();
    await this.#tasks;
    await this.#listening.end();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  // Looking

  /** Takes the folder as it is for known. */
  async #adopt(): Promise<void> {
    let count = 0;
    const adopting: Comparison = {
      ...this.#comparison,
      differs: (path, look) => {
        if (look === undefined) return;
        this.#known.putFile(path, look);
        count += 1;
        if (count % TOGETHER === 0) this.#options.onProgress?.(count);
      },
      found: () => undefined,
      missing: () => undefined,
    };
    await inSlices(compare(adopting, "", { deep: true }), this.#stop.signal);
  }

  async #compare(folder: string): Promise<void> {
    if (this.#isHalted) return;
    await inSlices(compare(this.#comparison, folder, { deep: true }), this.#stop.signal);
    this.#arm();
  }

  /** Whatever happened while nobody looked happened at once. */
  #compareAsOne(): Promise<void> {
    this.#quiet.gather(this.#now());
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
      if (path === "") continue;
      if (this.#isOfGit(path)) continue;
      const look = this.#look(path);
      if (look === "unseen") continue;
      if (this.#options.ignored.isIgnored(path, look?.kind === "folder")) {
        if (look?.kind === "folder" && !isInGit(path))
          this.#listening.leaveOut(outermostIgnored(path, this.#options.ignored));
        continue;
      }
      if (look?.kind === "folder") {
        yield* this.#followFolder(path, look, seen === this.#listening.generation);
        continue;
      }
      const wasFolder = this.#known.folder(path) !== undefined;
      for (const [file] of wasFolder ? this.#known.files(path) : []) this.#touch(file, undefined);
      const isFile = look?.kind === "file" || look?.kind === "link";
      const wasThere = wasFolder || this.#known.file(path) !== undefined || this.#quiet.has(path);
      if (isFile || wasThere) this.#touch(path, look);
    }
  }

  *#followFolder(path: string, look: Look, isWatched: boolean): Generator<undefined> {
    const known = this.#known.folder(path);
    if (known?.inode !== look.inode) {
      this.#known.putFolder(path, look.inode).nanoseconds = 0n;
      this.#found(path, look);
      yield* compare(this.#comparison, path, { deep: true });
    } else if (known.nanoseconds !== look.nanoseconds) {
      yield* compare(this.#comparison, path, { deep: false });
    }
    if (isWatched) this.#unheard.delete(path);
  }

  /** Git's own files are no news; some tell that many files are about to change, or just did. */
  #isOfGit(path: string): boolean {
    if (!isInGit(path)) return false;
    if (/(^|\/)\.git\/(HEAD|index\.lock)$/.test(path)) {
      this.#quiet.gather(this.#now());
      if (path.endsWith(".lock")) this.#locks.add(path);
    }
    return true;
  }

  #differs(path: string, look: Look | undefined): void {
    const looked = this.#quiet.looked(path);
    const isKnownToWait =
      this.#quiet.has(path) &&
      (looked === undefined ? look === undefined : look !== undefined && isSame(looked, look));
    if (!isKnownToWait) this.#touch(path, look);
  }

  #found(folder: string, look: Look): void {
    this.#fresh.add(folder);
    this.#unheard.add(folder);
    this.#touch(folder, look);
  }

  #touch(path: string, look: Look | undefined): void {
    // A name that went did so when its folder last changed.
    const moved = look?.touched ?? this.#timeOfFolder(parentOf(path));
    const now = this.#now();
    const time = moved === undefined ? now : Number(moved / 1_000_000n);
    const at = Math.min(now, Math.max(time, now - this.#debounce + SHORTEST));
    this.#quiet.touch(path, look, at, this.#known.file(path));
  }

  /** The folder itself, or the lowest one above it that is there. */
  #nearest(folder: string): string {
    const isThere = folder === "" || this.#look(folder) !== undefined;
    return isThere ? folder : this.#nearest(parentOf(folder));
  }

  #timeOfFolder(folder: string): bigint | undefined {
    const look = this.#look(folder);
    return look === "unseen" ? undefined : look?.nanoseconds;
  }

  #look(path: string): Look | "unseen" | undefined {
    try {
      return lookAt(join(this.#root.path, path));
    } catch (error) {
      this.#unseen({ path, why: "unreadable", reason: errorCodeOf(error) });
      return "unseen";
    }
  }

  #unseen(unseen: Unseen): void {
    this.#options.onTrouble({ kind: "unseen", unseen });
  }

  // Telling

  #arm(): void {
    this.#settling?.cancel();
    this.#settling = undefined;
    if (this.#stop.signal.aborted || this.#isHalted) return;
    const wait = this.#quiet.next(this.#now(), this.#locks.size > 0);
    if (wait === undefined) this.#quiet.endIfEmpty();
    const mustBegin = this.#unheard.size > 0 || this.#listening.isOutdated || this.#isSuspicious;
    if (wait === undefined && !mustBegin) return;
    const after = Math.max(SHORTEST, wait ?? this.#debounce);
    this.#settling = this.#options.timers.after(
      after,
      () => void this.#serially(() => this.#tell()),
    );
  }

  async #tell(): Promise<void> {
    if (this.#isHalted) return;
    const draft = await inSlices(this.#settle(), this.#stop.signal);
    // Looked at after everything else was: what is missing is not missing because the root is.
    if (!this.#root.isThere()) return this.#halt();
    const told = draft?.paths() ?? [];
    if (draft !== undefined) {
      const batch = draft.finish(this.#quiet.epoch, this.#known);
      this.#quiet.told(told, this.#now());
      await this.#options.onChanges(batch);
    }
    for (const path of told.filter(isRuleFile)) await this.#compare(parentOf(path));
    await this.#followUp();
    this.#arm();
  }

  /** What is at rest, if it can be told now. */
  *#settle(): Generator<undefined, Draft | undefined> {
    const now = this.#now();
    const ready = this.#quiet.ready(now, this.#isHeld(now));
    if (ready.length === 0) return undefined;
    // What the rules say now decides about everything else.
    for (const path of ready) if (isRuleFile(path)) this.#options.ignored.forget(parentOf(path));
    const draft = new Draft();
    for (const path of ready) {
      yield;
      yield* this.#judge(path, draft);
    }
    const parents = new Set([...draft.parents()].map((folder) => this.#nearest(folder)));
    for (const folder of parents) {
      const known = this.#known.folder(folder);
      // Names that came or went there without a hint.
      if (known !== undefined && known.nanoseconds !== this.#timeOfFolder(folder)) {
        yield* compare(this.#comparison, folder, { deep: false });
      }
    }
    const isWhole = draft.holdsAll(this.#quiet.paths());
    if (!isWhole && this.#quiet.mustBeWhole(now)) return undefined;
    this.#quiet.drop(draft.nothing);
    draft.holdMoves(this.#quiet, this.#known);
    return draft.isEmpty ? undefined : draft;
  }

  *#judge(path: string, draft: Draft): Generator<undefined> {
    const look = this.#look(path);
    // It was looked at before; what can be said of it is not known until that works again.
    if (look === "unseen") return void draft.nothing.push(path);
    const looked = this.#quiet.looked(path);
    const stands =
      looked === undefined ? look === undefined : look !== undefined && isSame(looked, look);
    if (!stands) return this.#touch(path, look);
    if (look !== undefined && this.#options.ignored.isIgnored(path, look.kind === "folder")) {
      return void draft.nothing.push(path);
    }
    const isFolder = look?.kind === "folder";
    if (isFolder && this.#fresh.delete(path))
      yield* compare(this.#comparison, path, { deep: true });
    draft.add(path, look, this.#known);
    return undefined;
  }

  #isHeld(now: number): boolean {
    for (const lock of this.#locks) {
      // A lock that nobody takes away is waited for once.
      if (this.#look(lock) === undefined || !this.#quiet.mustBeWhole(now)) this.#locks.delete(lock);
    }
    return this.#locks.size > 0;
  }

  // Watching

  /** What is better done when all is quiet. */
  async #followUp(): Promise<void> {
    if (this.#quiet.size > 0 && this.#quiet.mustBeWhole(this.#now())) return;
    const unheard = [...this.#unheard];
    if (unheard.length > 0 || this.#listening.isOutdated) {
      this.#unheard.clear();
      await this.#listen();
      // What happened in them before they were watched.
      for (const folder of unheard) if (this.#known.folder(folder)) await this.#compare(folder);
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
      this.#checkOn(compare(this.#comparison, "", { deep: true, trusting: true }));
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
        if (!this.#isHalted && !this.#root.isThere()) await this.#halt();
        else if (this.#isHalted && this.#root.takeBack(this.#known)) await this.#resume();
        this.#checkRootLater();
      });
    });
  }

  /** Nothing is told of a root that is not there, least of all that everything in it is gone. */
  async #halt(): Promise<void> {
    this.#isHalted = true;
    this.#settling?.cancel();
    this.#quiet.drop([...this.#quiet.paths()]);
    this.#hints.clear();
    this.#locks.clear();
    this.#fresh.clear();
    this.#unheard.clear();
    this.#options.onTrouble({ kind: "root_gone" });
    await this.#listening.end();
  }

  async #resume(): Promise<void> {
    this.#isHalted = false;
    this.#options.ignored.forget("");
    this.#options.onTrouble({ kind: "root_back" });
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

function isInGit(path: string): boolean {
  return path.split("/").includes(".git");
}

/** The highest folder above a path, or itself, that rules leave out. */
function outermostIgnored(path: string, ignored: Ignored): string {
  let outermost = path;
  for (let up = path; up !== ""; up = parentOf(up)) {
    if (ignored.isIgnored(up, true)) outermost = up;
  }
  return outermost;
}
