import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Store } from "../../kernel/ports.ts";
import { copyDatabase } from "./copy.ts";
import { openSqliteStore, type SqliteStoreOptions } from "./sqlite-store.ts";

/**
 * Opens a database that cannot be written: a copy of it as it is now, since SQLite has to write beside one to read its WAL.
 * Reading goes as ever, every write is refused. The copy is gone with the store.
 */
export async function openReadOnlyStore(
  file: string,
  { command = "kumiko", ...options }: SqliteStoreOptions = {},
): Promise<Store> {
  await using opening = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "kumiko-read-only-"));
  opening.defer(() => rm(folder, { recursive: true, force: true }));
  const copy = join(folder, "state.db");
  await copyDatabase(file, copy, command);
  return openSqliteStore(copy, {
    ...options,
    command,
    readOnly: { file, closed: opening.move() },
  });
}
