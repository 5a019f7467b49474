import { readdirSync, readlinkSync } from "node:fs";

/** What this process has open, on Linux: by its path, with " (deleted)" behind it where that means another file by now. */
export function openFiles(): string[] {
  return readdirSync("/proc/self/fd").flatMap((each) => {
    try {
      return [readlinkSync(`/proc/self/fd/${each}`)];
    } catch (error) {
      // The one by which the folder was read.
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
      throw error;
    }
  });
}
