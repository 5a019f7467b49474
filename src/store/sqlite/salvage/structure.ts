import BetterSqlite from "better-sqlite3";
import type { Damage } from "../../../kernel/ports.ts";
import { Connection } from "../connection.ts";

/** What SQLite says is wrong with how a database is built, one thing a line; nothing for a whole one. */
export function structureFaults(file: string): string[] {
  try {
    using connection = Connection.reader(file);
    return integrityFaults(connection);
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    return [error.message];
  }
}

export function integrityFaults(connection: Connection): string[] {
  try {
    return connection
      .all("PRAGMA integrity_check")
      .flatMap((row) => String(row["integrity_check"]).split("\n"))
      .filter((line) => line !== "ok" && line !== "" && !line.startsWith("***"));
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    return [error.message];
  }
}

/** Tables of which not even the beginning can be read: what is found out at every opening, without reading it all. */
export function brokenTables(connection: Connection): string[] {
  const tables = connection.all("SELECT name FROM sqlite_schema WHERE type = 'table'");
  return tables.flatMap(({ name }) => {
    try {
      connection.database.prepare(`SELECT * FROM ${String(name)} LIMIT 1`).get();
      return [];
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      return [String(name)];
    }
  });
}

/** SQLite's words for a database whose pages cannot be what was written. */
export function isBroken(error: unknown): error is SqliteError {
  return error instanceof BetterSqlite.SqliteError && /^SQLITE_(CORRUPT|NOTADB)/.test(error.code);
}

/** The same, or pages that the disk does not give. Whoever writes tells the two apart: a disk may work again. */
export function isUnreadable(error: unknown): error is SqliteError {
  const failing =
    error instanceof BetterSqlite.SqliteError && error.code.startsWith("SQLITE_IOERR");
  return failing || isBroken(error);
}

type SqliteError = InstanceType<typeof BetterSqlite.SqliteError>;

/** The same in words about pages, tables and indexes. */
export function brokenStructure(
  faults: readonly string[],
  owner: (page: number) => string | undefined = () => undefined,
  read?: (page: number) => number,
): Damage[] {
  const byPage = new Map<number, string>();
  const indexes = new Set<string>();
  const others = new Set<string>();
  let unreached = 0;
  for (const fault of faults) {
    const page = /\bpage (\d+)/i.exec(fault)?.[1];
    const index = /\bindex (\w+)/.exec(fault)?.[1];
    if (/never used/.test(fault)) unreached += 1;
    else if (page !== undefined) {
      const number = Number(page);
      if (!byPage.has(number)) byPage.set(number, fault);
    } else if (index !== undefined) indexes.add(index);
    else others.add(fault);
  }
  const saved = (page: number): string => {
    if (read === undefined) return "";
    const rows = read(page);
    return rows === 0
      ? ""
      : `; ${rows} ${rows === 1 ? "row" : "rows"} could be read from it all the same`;
  };
  const damages = [...byPage].map(([page, fault]) => {
    const part = owner(page) === undefined ? "" : `, part of ${owner(page)},`;
    const what = fault.replace(/^page \d+ /, "it ");
    return damage(`page ${page}`, `page ${page}${part} is broken (${what})${saved(page)}`);
  });
  if (unreached > 0) {
    const which = unreached === 1 ? "1 page is" : `${unreached} pages are`;
    damages.push(damage("unreached", `${which} reached by no table any more`));
  }
  for (const index of indexes)
    damages.push(damage(index, `${index} does not agree with its table`));
  // That something is malformed says less than which page is.
  for (const fault of damages.length > 0 ? [] : others)
    damages.push(damage(fault, `SQLite says: ${fault}`));
  return damages;
}

function damage(key: string, why: string): Damage {
  return { table: "pages", key, block: undefined, why };
}
