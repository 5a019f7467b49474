import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * Makes a folder and those above it that are missing; gives the topmost one that it made. Node's own recursive
 * `mkdir` never ends where the system says ENOENT of a folder whose parent is there, as below /proc.
 */
export async function makeFolder(path: string, mode = 0o777): Promise<string | undefined> {
  if (await isFolder(path)) return undefined;
  const above = dirname(path);
  const topmost = above === path ? undefined : await makeFolder(above, mode);
  try {
    await mkdir(path, { mode });
  } catch (error) {
    // Someone else may have made it meanwhile.
    if (await isFolder(path)) return topmost;
    throw error;
  }
  return topmost ?? path;
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return false;
    throw error;
  }
}
