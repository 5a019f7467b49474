import { unlinkSync } from "node:fs";
import { readdir } from "node:fs/promises";
import type { Folder } from "./contained.ts";
import { hasCode, unwritable } from "./disk-errors.ts";
import { statAt } from "./file-stat.ts";
import { recover } from "./in-place.ts";
import { isRedoName, isTemporaryName } from "./temporary-name.ts";

export interface Swept {
  /** How many files of ours were removed. */
  readonly removed: number;
  /** Files that were half-written in place and are whole now. */
  readonly finished: readonly string[];
  /** Files that were being written in place, and that somebody else has written since: those stand. */
  readonly overtaken: readonly string[];
}

/** Milliseconds after which nobody is at work on a temporary file any more. */
const STALE = 60_000;

/**
 * Removes what saves that were cut off left in one folder of a root ("" is the root itself), and finishes what was being
 * written in place. Whoever knows that no other process saves there may give an `age` of 0.
 */
export async function sweep(
  folder: Folder,
  path: string,
  { now, age = STALE }: { readonly now: number; readonly age?: number },
): Promise<Swept> {
  const below = (name: string) => (path === "" ? name : `${path}/${name}`);
  const finished: string[] = [];
  const overtaken: string[] = [];
  let removed = 0;
  // Any name will do: it is the folder that is opened.
  using spot = folder.spot(below("swept"));
  try {
    for (const name of await readdir(spot.beside("."))) {
      if (!isTemporaryName(name)) continue;
      const found = statAt(spot.beside(name), below(name));
      if (found === undefined || !found.isFile()) continue;
      if (now - Number(found.mtimeMs) < age) continue;
      if (isRedoName(name)) {
        const { file, outcome } = await recover(spot, spot.beside(name));
        if (outcome === "finished") finished.push(below(file));
        if (outcome === "overtaken") overtaken.push(below(file));
      } else removeStale(spot.beside(name));
      removed += 1;
    }
  } catch (error) {
    throw unwritable(error, path);
  }
  return { removed, finished, overtaken };
}

function removeStale(target: string): void {
  try {
    unlinkSync(target);
  } catch (error) {
    if (!hasCode(error, "ENOENT")) throw error;
  }
}
