import { constants } from "node:fs";
import { access, chmod, copyFile, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { KumikoError } from "../../base/errors.ts";
import { FolderLock } from "./lock.ts";

/** Copies of a database that somebody else writes to are made so often before that is told. */
const TRIES = 5;

/**
 * Copies a database with all that was committed to it, so that it can be looked at without being touched:
 * opening one moves its WAL into it. Throws `in_use` when a process has it. One that cannot be written here has no
 * lock either: it is copied again when somebody who can has written to it meanwhile.
 */
export async function copyDatabase(file: string, target: string, command: string): Promise<void> {
  if (await isReadOnly(file)) {
    await copyUnchanged(file, target);
    return;
  }
  using held = new DisposableStack();
  held.use(FolderLock.take(file, false, command));
  await copyBoth(file, target);
}

/** Whether this process cannot write to a database or beside it: a backup, a snapshot, somebody else's. */
export async function isReadOnly(file: string): Promise<boolean> {
  for (const path of [file, dirname(file)]) {
    try {
      await access(path, constants.W_OK);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "EROFS" || code === "EACCES" || code === "EPERM") return true;
      throw error;
    }
  }
  return false;
}

async function copyUnchanged(file: string, target: string): Promise<void> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const before = await identityOf(file);
    await copyBoth(file, target);
    if ((await identityOf(file)) === before) return;
  }
  throw new KumikoError(
    "in_use",
    `${file} cannot be written here, and whoever can writes to it all the time: ask its owner, or try again.`,
    { file, pid: null, started: null, command: null },
  );
}

async function identityOf(file: string): Promise<string> {
  const parts: unknown[] = [];
  for (const path of [file, `${file}-wal`]) {
    const found = await orMissing(stat(path, { bigint: true }));
    parts.push(String(found?.ino), String(found?.size), String(found?.mtimeNs));
  }
  return parts.join(" ");
}

async function copyBoth(file: string, target: string): Promise<void> {
  await copyOne(file, target);
  const copied = await orMissing(copyOne(`${file}-wal`, `${target}-wal`).then(() => true));
  if (copied === undefined) await rm(`${target}-wal`, { force: true });
}

/** A copy has the mode of what it was made from, and that may be one that nobody can write. */
async function copyOne(file: string, target: string): Promise<void> {
  await rm(target, { force: true });
  await copyFile(file, target, constants.COPYFILE_FICLONE);
  await chmod(target, 0o600);
}

async function orMissing<Result>(asked: Promise<Result>): Promise<Result | undefined> {
  try {
    return await asked;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return undefined;
  }
}
