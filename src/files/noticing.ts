import { join } from "node:path";
import type { Clock } from "../base/index.ts";
import { compare, type Comparison } from "./compare.ts";
import { folderOfGit, GitLocks, tellsOfMany } from "./git-locks.ts";
import { type Ignored, parentOf } from "./ignored.ts";
import { Known } from "./known.ts";
import { errorCodeOf, isSame, type Look, lookAt, type Stamp, statIfSeen } from "./look.ts";
import { Quiet } from "./quiet.ts";
import type { Unseen } from "./scan.ts";

/** From the news of a change to its being told, at least: it is looked at twice, whatever the disk's clock says. */
export const SHORTEST = 20;

export interface NoticingPorts {
  /** The folder's real path. */
  readonly root: string;
  readonly ignored: Ignored;
  /** Wall time: it is compared with the times of files. */
  readonly clock: Clock;
  /** Milliseconds. */
  readonly debounce: number;
  /** A folder that is ignored need not be watched. */
  readonly leaveOut: (folder: string) => void;
  /** Something happened to what git keeps in a folder. */
  readonly ofGit: (folder: string) => void;
  readonly unseen: (unseen: Unseen) => void;
  /** A file is like that now, long before it is told that it changed. */
  readonly noticed: (path: string, stamp: Stamp) => void;
}

/**
 * What happens in a folder, noticed but not told yet: where something seems to have happened it looks, compares with
 * what is known and notes when it was (`quiet`). It tells nobody and starts nothing.
 */
export class Noticing {
  readonly known = new Known();
  readonly quiet: Quiet;
  readonly comparison: Comparison;
  /** New folders, to be looked into once more when they have come to rest. */
  readonly fresh = new Set<string>();
  /** New folders that the watcher does not know of: it has to begin anew to watch them. */
  readonly unheard = new Set<string>();
  readonly locks = new GitLocks();
  readonly #ports: NoticingPorts;

  constructor(ports: NoticingPorts) {
    const { root, ignored, clock, unseen } = ports;
    this.#ports = ports;
    this.quiet = new Quiet(ports.debounce);
    this.comparison = {
      root,
      known: this.known,
      ignored,
      clock,
      differs: (path, look) => this.#differs(path, look),
      found: (folder, look) => this.#found(folder, look),
      missing: (folder) => this.touch(folder, undefined),
      leftOut: (folder) => ports.leaveOut(folder),
      unseen,
    };
  }

  /** Looks where something is said to have happened; `isWatched`: whether who said so watches what came there. */
  *follow(path: string, isWatched: boolean): Generator<undefined> {
    const { ignored, leaveOut } = this.#ports;
    if (path === "" || this.#isOfGit(path)) return;
    const look = this.look(path);
    if (look === "unseen") return;
    if (ignored.isUnnoticed(path, look?.kind === "folder")) {
      if (look?.kind === "folder" && folderOfGit(path) === undefined)
        leaveOut(outermostIgnored(path, ignored));
      return;
    }
    if (look?.kind === "folder") {
      yield* this.#followFolder(path, look, isWatched);
      return;
    }
    const wasFolder = this.known.folder(path) !== undefined;
    for (const [file] of wasFolder ? this.known.files(path) : []) this.touch(file, undefined);
    const isFile = look?.kind === "file" || look?.kind === "link";
    const wasThere = wasFolder || this.known.file(path) !== undefined || this.quiet.has(path);
    if (isFile || wasThere) this.touch(path, look);
  }

  /** Something happened to a path, and this is what is there now. */
  touch(path: string, look: Look | undefined): void {
    const { clock, debounce, noticed } = this.#ports;
    if (look?.kind === "file") noticed(path, look);
    // A name that went did so when its folder last changed.
    const moved = look?.touched ?? this.timeOfFolder(parentOf(path));
    const now = clock.now();
    const time = moved === undefined ? now : Number(moved / 1_000_000n);
    const at = Math.min(now, Math.max(time, now - debounce + SHORTEST));
    this.quiet.touch(path, look, at, this.known.file(path));
  }

  look(path: string): Look | "unseen" | undefined {
    try {
      return lookAt(join(this.#ports.root, path));
    } catch (error) {
      this.#ports.unseen({ path, why: "unreadable", reason: errorCodeOf(error) });
      return "unseen";
    }
  }

  timeOfFolder(folder: string): bigint | undefined {
    const look = this.look(folder);
    return look === "unseen" ? undefined : look?.nanoseconds;
  }

  /** Whether git is known to be at work: more is to come then. */
  isHeld(now: number): boolean {
    return this.locks.isHeld((lock) => statIfSeen(lock) !== undefined, now);
  }

  /** Git does something that may change many files; more is to come while it has this lock, if it is one. */
  gitLocked(lock: string): void {
    const now = this.#ports.clock.now();
    this.quiet.gather(now);
    this.locks.seen(lock, now);
  }

  /** Nothing was noticed: what is there now is compared later. */
  forget(): void {
    this.quiet.drop([...this.quiet.paths()], false);
    this.locks.clear();
    this.fresh.clear();
    this.unheard.clear();
  }

  *#followFolder(path: string, look: Look, isWatched: boolean): Generator<undefined> {
    const known = this.known.folder(path);
    if (known?.inode !== look.inode) {
      this.known.putFolder(path, look.inode).nanoseconds = 0n;
      this.#found(path, look);
      yield* compare(this.comparison, path, { deep: true });
    } else if (known.nanoseconds !== look.nanoseconds) {
      yield* compare(this.comparison, path, { deep: false });
    }
    if (isWatched) this.unheard.delete(path);
  }

  #isOfGit(path: string): boolean {
    const folder = folderOfGit(path);
    if (folder === undefined) return false;
    this.#ports.ofGit(folder);
    if (tellsOfMany(path)) this.gitLocked(join(this.#ports.root, path));
    return true;
  }

  #differs(path: string, look: Look | undefined): void {
    const looked = this.quiet.looked(path);
    const isKnownToWait =
      this.quiet.has(path) &&
      (looked === undefined ? look === undefined : look !== undefined && isSame(looked, look));
    if (!isKnownToWait) this.touch(path, look);
  }

  #found(folder: string, look: Look): void {
    this.fresh.add(folder);
    this.unheard.add(folder);
    this.touch(folder, look);
  }
}

/** The highest folder above a path, or itself, that rules leave out. */
function outermostIgnored(path: string, ignored: Ignored): string {
  let outermost = path;
  for (let up = path; up !== ""; up = parentOf(up)) {
    if (ignored.isIgnored(up, true)) outermost = up;
  }
  return outermost;
}
