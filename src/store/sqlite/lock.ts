import { realpathSync } from "node:fs";
import BetterSqlite, { type Database } from "better-sqlite3";
import { KumikoError } from "../../base/index.ts";

/**
 * One process per database. The lock is a small database beside it in which the holder keeps a transaction
 * open: the operating system drops it with the process, however that ends, so there are no stale locks to
 * judge and no process number to be mistaken for another's. Others can still read in it who holds it.
 */
export class FolderLock implements Disposable {
  readonly #path: string;

  private constructor(path: string) {
    this.#path = path;
  }

  /** Throws `in_use`, naming the holder. With `shared`, again in the same process. */
  static take(file: string, shared: boolean): FolderLock {
    const path = `${file}.lock`;
    const key = held.has(path) ? path : real(path);
    const own = held.get(key);
    if (own !== undefined && shared && own.shared) {
      own.count += 1;
      return new FolderLock(key);
    }
    const database = own === undefined ? hold(path) : undefined;
    if (database === undefined) throw inUse(file, process.pid, startOfThis());
    held.set(real(path), { database, shared, count: 1 });
    return new FolderLock(real(path));
  }

  [Symbol.dispose](): void {
    const own = held.get(this.#path);
    if (own === undefined) return;
    own.count -= 1;
    if (own.count > 0) return;
    held.delete(this.#path);
    own.database.close();
  }
}

/** Closing any other descriptor of the file would drop the lock, so each file is held once per process. */
const held = new Map<string, { database: Database; shared: boolean; count: number }>();

function hold(path: string): Database {
  const database = new BetterSqlite(path, { timeout: 0 });
  try {
    database.exec(
      "CREATE TABLE IF NOT EXISTS holder (pid INTEGER NOT NULL, started INTEGER NOT NULL)",
    );
    database.exec("BEGIN IMMEDIATE; DELETE FROM holder");
    database.prepare("INSERT INTO holder VALUES (?, ?)").run(process.pid, startOfThis());
    database.exec("COMMIT; BEGIN IMMEDIATE");
    return database;
  } catch (error) {
    const holder = isBusy(error) ? holderIn(database) : undefined;
    database.close();
    if (!isBusy(error)) throw error;
    throw inUse(path.replace(/\.lock$/, ""), holder?.pid, holder?.started);
  }
}

function holderIn(database: Database): { pid: number; started: number } | undefined {
  try {
    return database.prepare<[], { pid: number; started: number }>("SELECT * FROM holder").get();
  } catch (error) {
    // The holder is just writing its name.
    if (isBusy(error) || String(error).includes("no such table")) return undefined;
    throw error;
  }
}

function inUse(file: string, pid?: number, started?: number): KumikoError {
  const who = pid === undefined ? "another process" : `process ${pid}`;
  const since = started === undefined ? "" : `, running since ${new Date(started).toISOString()}`;
  return new KumikoError(
    "in_use",
    `${file} is open in ${who}${since}. Use that one, or stop it first.`,
    { file, pid: pid ?? null, started: started ?? null },
  );
}

function isBusy(error: unknown): boolean {
  return error instanceof BetterSqlite.SqliteError && error.code.startsWith("SQLITE_BUSY");
}

function startOfThis(): number {
  return Math.round(performance.timeOrigin);
}

function real(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return path;
    throw error;
  }
}
