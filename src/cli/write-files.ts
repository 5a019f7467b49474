import { randomUUID } from "node:crypto";
import { link, open, realpath, rename, rm, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { makeFolder } from "../app/make-folder.ts";
import { KumikoError } from "../base/index.ts";
import type { FileChange } from "./file-change.ts";
import { isSystemError, readPlainFile } from "./text-file.ts";

interface Staged {
  readonly change: FileChange;
  readonly temporary: string | null;
}

/**
 * Every new content is on disk under a temporary name before the first file is replaced, so that a full
 * disk or a forbidden folder changes nothing. After that, a failure says what was written and what not.
 */
export async function writeFiles(
  changes: readonly FileChange[],
  signal: Pick<AbortSignal, "aborted">,
): Promise<void> {
  const staging = new Staging();
  const written: string[] = [];
  try {
    for (const change of changes) {
      refuseIfInterrupted(signal);
      await staging.add(change);
    }
    for (const staged of staging.files) {
      refuseIfInterrupted(signal);
      await replace(staged);
      written.push(staged.change.path);
    }
  } catch (error) {
    throw unwritten(error, changes, written);
  } finally {
    await staging.clear(written.length > 0);
  }
}

class Staging {
  readonly files: Staged[] = [];
  readonly #temporaries: string[] = [];
  readonly #folders: string[] = [];

  async add(change: FileChange): Promise<void> {
    if (change.after === null) {
      this.files.push({ change, temporary: null });
      return;
    }
    const folder = dirname(change.file);
    const created = await makeFolder(folder);
    if (created !== undefined) this.#folders.push(folder);
    const temporary = join(folder, `.kumiko-${randomUUID()}.tmp`);
    this.#temporaries.push(temporary);
    const newMode = change.executable ? 0o777 : 0o666;
    await using handle = await open(temporary, "wx", change.mode === null ? newMode : 0o600);
    await handle.writeFile(change.after);
    if (change.owner !== null) await keepOwner(handle, change.owner);
    if (change.mode !== null) await handle.chmod(change.mode);
    await handle.sync();
    this.files.push({ change, temporary });
  }

  /** Renamed files are gone already, so removing by name is safe. */
  async clear(keepFolders: boolean): Promise<void> {
    for (const temporary of this.#temporaries) await rm(temporary, { force: true });
    if (keepFolders) return;
    for (const folder of this.#folders) await removeIfEmpty(folder);
  }
}

async function keepOwner(
  handle: Awaited<ReturnType<typeof open>>,
  owner: { readonly uid: number; readonly gid: number },
): Promise<void> {
  const mine = await handle.stat();
  if (mine.uid !== owner.uid || mine.gid !== owner.gid) await handle.chown(owner.uid, owner.gid);
}

async function removeIfEmpty(folder: string): Promise<void> {
  try {
    await rmdir(folder);
  } catch (error) {
    if (!isSystemError(error)) throw error;
  }
}

async function replace({ change, temporary }: Staged): Promise<void> {
  await refuseIfMoved(change);
  if (temporary === null) await rm(change.file);
  else if (change.before !== null) await rename(temporary, change.file);
  else await link(temporary, change.file); // Unlike rename, link never replaces what appeared meanwhile.
  await syncFolder(dirname(change.file));
}

async function refuseIfMoved(change: FileChange): Promise<void> {
  const folder = dirname(change.file);
  const current = await readPlainFile(change.file, change.path);
  const same =
    change.before === null
      ? current === null
      : current !== null && Buffer.compare(current.bytes, change.before) === 0;
  if (same && (await realpath(folder)) === folder) return;
  throw new KumikoError(
    "file_unwritable",
    `${change.path} was changed by someone else meanwhile.`,
    {
      path: change.path,
    },
  );
}

async function syncFolder(folder: string): Promise<void> {
  await using handle = await open(folder, "r");
  await handle.sync();
}

function refuseIfInterrupted(signal: Pick<AbortSignal, "aborted">): void {
  if (signal.aborted)
    throw new KumikoError("file_unwritable", "Interrupted.", { interrupted: true });
}

function unwritten(
  error: unknown,
  changes: readonly FileChange[],
  written: readonly string[],
): Error {
  const known = error instanceof KumikoError;
  if (!known && !isSystemError(error))
    return error instanceof Error ? error : new Error(String(error));
  const left = changes.map((change) => change.path).filter((path) => !written.includes(path));
  const reason = known ? error.message : `The system said ${error.message}.`;
  const sentence =
    written.length === 0
      ? `Nothing was written. ${reason}`
      : `Written: ${written.join(", ")}. Not written: ${left.join(", ")}. ${reason}`;
  const facts = known ? error.facts : { reason: error.code };
  return new KumikoError(
    "file_unwritable",
    sentence,
    { ...facts, written, not_written: left },
    { cause: error },
  );
}
