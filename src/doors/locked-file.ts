import { randomUUID } from "node:crypto";
import { open, readFile, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as later } from "node:timers/promises";
import { KumikoError } from "../base/index.ts";

/** Longer than anyone holds it: it is held for one small write. */
const PATIENCE = 5_000;

/** The text of a small file, or undefined when there is none. */
export async function readSmallFile(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw new KumikoError(
      "file_unreadable",
      `${file} cannot be read (${systemCode(error) ?? "unknown"}).`,
      { file, reason: systemCode(error) ?? null },
      { cause: error },
    );
  }
}

/** Changes a small file alone among all processes: whoever reads it meanwhile sees the old or the new one, whole. */
export async function changeSmallFile<Result>(
  file: string,
  change: (text: string | undefined) => { readonly text?: string; readonly result: Result },
): Promise<Result> {
  await using alone = new AsyncDisposableStack();
  alone.use(await lockOf(file));
  const { text, result } = change(await readSmallFile(file));
  if (text !== undefined) await replaceSmallFile(file, text);
  return result;
}

/** For its owner only, and on disk before this returns. */
export async function replaceSmallFile(file: string, text: string): Promise<void> {
  const temporary = `${file}.${randomUUID()}.new`;
  try {
    {
      await using handle = await open(temporary, "wx", 0o600);
      await handle.writeFile(text);
      await handle.sync();
    }
    await rename(temporary, file);
    await using folder = await open(dirname(file), "r");
    await folder.sync();
  } catch (error) {
    await rm(temporary, { force: true });
    throw new KumikoError(
      "file_unwritable",
      `${file} cannot be written (${systemCode(error) ?? "unknown"}).`,
      { file, reason: systemCode(error) ?? null },
      { cause: error },
    );
  }
}

async function lockOf(file: string): Promise<Disposable> {
  const { FolderLock } = await import("../store/sqlite/lock.ts");
  const until = performance.now() + PATIENCE;
  for (;;) {
    try {
      return FolderLock.take(file, false);
    } catch (error) {
      const busy = error instanceof KumikoError && error.code === "in_use";
      if (!busy || performance.now() >= until) throw error;
      await later(5);
    }
  }
}

function systemCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error ? String(error.code) : undefined;
}
