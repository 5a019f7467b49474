/**
 * In which folder git keeps this among its own, if it does. That is no news; some of it tells that many files are about to
 * change, or just did.
 */
export function folderOfGit(path: string): string | undefined {
  const names = path.split("/");
  const at = names.indexOf(".git");
  return at === -1 ? undefined : names.slice(0, at).join("/");
}

/** Whether a file of git tells of a checkout. */
export function tellsOfMany(path: string): boolean {
  return /(^|\/)\.git\/(HEAD|index\.lock)$/.test(path);
}

/** For so long a lock of git means that more is to come, in milliseconds. */
const LONGEST = 60_000;

/** Lock files of git and since when they are known: more is to come while one is there. */
export class GitLocks {
  readonly #locks = new Map<string, number>();

  /** Whether one was there when they were last looked at. */
  get isKnown(): boolean {
    return this.#locks.size > 0;
  }

  seen(path: string, now: number): void {
    if (path.endsWith(".lock") && !this.#locks.has(path)) this.#locks.set(path, now);
  }

  /** Looks again. One that nobody takes away is no sign of anything after a while. */
  isHeld(isThere: (lock: string) => boolean, now: number): boolean {
    for (const [lock, since] of this.#locks)
      if (!isThere(lock) || now - since >= LONGEST) this.#locks.delete(lock);
    return this.isKnown;
  }

  clear(): void {
    this.#locks.clear();
  }
}
