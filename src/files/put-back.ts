import { linkSync, renameSync, unlinkSync } from "node:fs";
import { hasCode, isSystemError } from "./disk-errors.ts";

/** Gives a file its name back, unless there is something by now: then whoever put it there was last. */
export function putBack(aside: string, target: string): void {
  try {
    linkSync(aside, target);
  } catch (error) {
    if (hasCode(error, "EEXIST")) return unlinkSync(aside);
    if (!isSystemError(error)) throw error;
    // A folder, or a file system without hard links.
    return renameSync(aside, target);
  }
  return unlinkSync(aside);
}
