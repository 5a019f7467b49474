import { KumikoError } from "../../../base/errors.ts";
import type { Store } from "../../../kernel/ports.ts";
import { inspect } from "../inspection.ts";
import { openSqliteStore, type SqliteStoreOptions } from "../sqlite-store.ts";
import type { Rebuilt } from "./rebuild.ts";

/**
 * Opens a copy of a database to look at it, in whatever state it is: one with a broken structure is made anew beside it of
 * the rows that can be found, and `verify` tells what was broken. Throws `damaged` when nothing is found.
 */
export async function openCopy(file: string, options: SqliteStoreOptions = {}): Promise<Store> {
  const target = `${file}.rebuilt`;
  const rebuilt = (await inspect(file, "rebuild", target)) as Rebuilt | undefined;
  if (rebuilt === undefined) return openSqliteStore(file, options);
  const { rows, damages } = rebuilt;
  if (rows > 0) return openSqliteStore(target, { ...options, damages });
  const cause = damages[0]?.why ?? "no row is left";
  throw new KumikoError("damaged", `${file} cannot be read as a database (${cause}).`, {
    file,
    cause,
    table: null,
    block: null,
  });
}
