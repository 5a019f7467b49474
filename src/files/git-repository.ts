import { readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { isSystemError } from "./disk-errors.ts";
import { statIfSeen } from "./look.ts";

/** Of what is read of git: it is read whole. */
const LARGEST = 64 * 1024 * 1024;
/** Milliseconds for which git is waited for: who writes a message for a commit may hold its lock for long. */
const PATIENCE = 2_000;

/** What git has while it changes its index, and files. */
export const LOCK = "index.lock";

export interface GitRepository {
  /** Where its files are. */
  readonly top: string;
  /** Where it keeps its index. */
  readonly folder: string;
}

/** Whose files are in a folder. What git keeps is in a folder at the top of them, or where a file there says. */
export function repositoryOf(folder: string): GitRepository | undefined {
  for (let top = folder; ; top = dirname(top)) {
    const git = join(top, ".git");
    const found = statIfSeen(git);
    if (found?.isDirectory() === true) return { top, folder: git };
    if (found?.isFile() === true) {
      const [, elsewhere] = /^gitdir: (.+)$/m.exec(readIfSmall(git)?.toString("utf8") ?? "") ?? [];
      return elsewhere === undefined ? undefined : { top, folder: resolve(top, elsewhere) };
    }
    if (dirname(top) === top) return undefined;
  }
}

/** Whether git is just about to change files of a folder, or does. */
export function isGitAtWork(folder: string, now: number): boolean {
  const repository = repositoryOf(folder);
  const lock = repository && statIfSeen(join(repository.folder, LOCK));
  // A clock that is ahead of ours makes a lock that is never old.
  return lock !== undefined && Math.abs(now - Number(lock.mtimeNs / 1_000_000n)) < PATIENCE;
}

/** Undefined where it is not there, cannot be read or is too large. */
export function readIfSmall(path: string): Buffer | undefined {
  try {
    const { size } = statSync(path);
    return size > LARGEST ? undefined : readFileSync(path);
  } catch (error) {
    if (isSystemError(error)) return undefined;
    throw error;
  }
}
