import { existsSync, type FSWatcher, watch } from "node:fs";
import { dirname, join } from "node:path";
import { hasCode } from "./disk-errors.ts";
import type { FileStat } from "./file-stat.ts";
import { isObject, isRecorded } from "./git-index.ts";
import { type GitRepository, LOCK, repositoryOf } from "./git-repository.ts";
import { parentOf } from "./ignored.ts";
import { LockTimes } from "./lock-times.ts";
import { statIfSeen } from "./look.ts";

/** What a file holds, and how it was when it did. */
export interface GitFile {
  readonly bytes: Uint8Array;
  readonly identity: FileStat;
}

export interface GitLooksPorts {
  /** The real path of a folder with files of repositories. */
  readonly root: string;
  /** Git's folder is watched, or why it is not. */
  readonly onWatch: (folder: string, error?: unknown) => void;
}

interface Followed {
  readonly times: LockTimes;
  readonly watcher: FSWatcher;
  readonly inode: bigint;
  readonly born: bigint;
}

/**
 * What git has seen of what it writes over. A watch of its own on git's folders tells at once when a lock comes. Saves are
 * made by the same thread: while that is too busy to hear of a lock, nothing is saved that git could miss.
 */
export class GitLooks implements Disposable {
  readonly #ports: GitLooksPorts;
  /** By git's folder. */
  readonly #followed = new Map<string, Followed>();
  #onLock: ((lock: string) => void) | undefined;

  constructor(ports: GitLooksPorts) {
    this.#ports = ports;
  }

  /**
   * From now on remembers when git has its locks, and tells of each by its path: where these files are, and where others come
   * to be of interest.
   */
  begin(paths: Iterable<string>, onLock: (lock: string) => void): void {
    this.#onLock = onLock;
    this.follow("");
    const folders = new Set([""]);
    for (const path of paths)
      for (let up = parentOf(path); !folders.has(up); up = parentOf(up)) folders.add(up);
    for (const folder of folders)
      if (existsSync(join(this.#ports.root, folder, ".git"))) this.follow(folder);
  }

  /** Files of this folder are of interest, or git does something there. */
  follow(folder: string): void {
    if (this.#onLock === undefined) return;
    const repository = repositoryOf(join(this.#ports.root, folder));
    if (repository !== undefined) this.#follow(repository);
  }

  /**
   * Until when git saw what was there, in nanoseconds, if it was git that wrote a file, in a checkout, a reset or a stash,
   * and not a program that changed what it had read: git has just these bytes, and had its lock when they were written.
   * Undefined where there is no repository, or it cannot be told. It may have looked before it took that lock, but not if
   * it has what we put there last, `ours`.
   */
  seenUntil(
    path: string,
    { bytes, identity }: GitFile,
    ours: Uint8Array | undefined,
  ): bigint | undefined {
    const file = join(this.#ports.root, path);
    const repository = repositoryOf(dirname(file));
    if (repository === undefined) return undefined;
    const times = this.#follow(repository) ?? lockTimesIn(repository.folder);
    times.look();
    const lock = times.over(identity.nanoseconds);
    if (lock === undefined) return undefined;
    if (!isRecorded(repository, file, bytes) && !isObject(repository, bytes)) return undefined;
    const hasOurs = ours !== undefined && isObject(repository, ours);
    // What was saved in the same tick of the file system's clock may have come later.
    return (hasOurs ? lock.taken : lock.looked) - 1n;
  }

  [Symbol.dispose](): void {
    this.#onLock = undefined;
    for (const { watcher } of this.#followed.values()) watcher.close();
    this.#followed.clear();
  }

  #follow({ folder }: GitRepository): LockTimes | undefined {
    const known = this.#followed.get(folder);
    const found = statIfSeen(folder);
    if (known !== undefined && known.inode === found?.ino && known.born === found.birthtimeNs)
      return known.times;
    known?.watcher.close();
    this.#followed.delete(folder);
    if (this.#onLock === undefined || found === undefined) return undefined;
    this.#leaveGone();
    const watcher = this.#watch(folder);
    if (watcher === undefined) return undefined;
    const times = lockTimesIn(folder);
    watcher.on("change", (event, name) => {
      // Of what is written to a file nothing is to be learnt.
      if (event !== "rename") return;
      times.heard(String(name));
      if (name === LOCK) this.#onLock?.(join(folder, LOCK));
    });
    watcher.on("error", (error) => {
      watcher.close();
      if (this.#followed.get(folder)?.watcher === watcher) this.#followed.delete(folder);
      this.#ports.onWatch(folder, error);
    });
    const { ino: inode, birthtimeNs: born } = found;
    this.#followed.set(folder, { times, watcher, inode, born });
    return times;
  }

  /** Whoever makes a repository for a moment, as tests do, makes many. */
  #leaveGone(): void {
    for (const [folder, { watcher }] of this.#followed) {
      if (statIfSeen(folder) !== undefined) continue;
      watcher.close();
      this.#followed.delete(folder);
    }
  }

  #watch(folder: string): FSWatcher | undefined {
    try {
      const watcher = watch(folder, { persistent: false });
      this.#ports.onWatch(folder);
      return watcher;
    } catch (error) {
      // Gone since.
      if (!hasCode(error, "ENOENT")) this.#ports.onWatch(folder, error);
      return undefined;
    }
  }
}

function lockTimesIn(folder: string): LockTimes {
  return new LockTimes((name) => {
    const found = statIfSeen(join(folder, name));
    return found && { born: found.birthtimeNs, written: found.mtimeNs };
  });
}
