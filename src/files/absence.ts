import { dirname, join } from "node:path";
import { REST } from "./file-stat.ts";
import { isGitAtWork } from "./git-repository.ts";
import { statIfSeen } from "./look.ts";

/** Milliseconds for which a file is waited for while git is at work, which may have taken it away: one that was there before. */
const KNOWN = 2_000;
/** The same of one that nobody has asked for before. */
const UNKNOWN = 300;

/**
 * Whether a file that is not there may be about to come back: git and many editors take a file away before they write it,
 * and on a busy machine it is long until their turn comes again. One that was known is waited for as long as its folder
 * changed just now, or git is at work; another one shortly, while git is.
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
  return waited < (isKnown ? KNOWN : UNKNOWN) && isGitAtWork(join(root, dirname(path)), now);
}

/** Milliseconds since a name last came or went in it, or in the lowest one above it that is there. */
function ageOfFolder(root: string, path: string, now: number): number {
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    const found = statIfSeen(join(root, folder));
    if (found !== undefined) return now - Number(found.mtimeNs / 1_000_000n);
    if (folder === ".") return Infinity;
  }
}
