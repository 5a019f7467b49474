import { statSync } from "node:fs";
import { dirname, join } from "node:path";
import { REST } from "./file-stat.ts";
import { isGitAtWork } from "./git-index.ts";

/** Milliseconds for which a file is waited for that git, which is at work, may have taken away to write it anew. */
const PATIENCE_WITH_GIT = 2_000;

/**
 * Whether a file that is not there may be about to come back: git and many editors take a file away before they write it,
 * and on a busy machine it is long until their turn comes again. One that was known is waited for as long as its folder
 * changed just now; any, while git holds its lock.
 */
export function mayComeBack(
  root: string,
  path: string,
  {
    isKnown,
    waited,
    now,
  }: { readonly isKnown: boolean; readonly waited: number; readonly now: number },
): boolean {
  if (isKnown && waited < REST && ageOfFolder(root, path, now) < REST) return true;
  return waited < PATIENCE_WITH_GIT && isGitAtWork(root, now);
}

/** Milliseconds since a name last came or went in it, or in the lowest one above it that is there. */
function ageOfFolder(root: string, path: string, now: number): number {
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    const found = statSync(join(root, folder), { throwIfNoEntry: false });
    if (found !== undefined) return now - found.mtimeMs;
    if (folder === ".") return Infinity;
  }
}
