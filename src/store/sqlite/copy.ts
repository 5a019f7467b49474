import { constants } from "node:fs";
import { copyFile, rm } from "node:fs/promises";
import { FolderLock } from "./lock.ts";

/**
 * Copies a database with all that was committed to it, so that it can be looked at without being touched:
 * opening one moves its WAL into it. Throws `in_use` when a process has it.
 */
export async function copyDatabase(file: string, target: string, command: string): Promise<void> {
  using held = new DisposableStack();
  held.use(FolderLock.take(file, false, command));
  await copyFile(file, target, constants.COPYFILE_FICLONE);
  try {
    await copyFile(`${file}-wal`, `${target}-wal`, constants.COPYFILE_FICLONE);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    await rm(`${target}-wal`, { force: true });
  }
}
