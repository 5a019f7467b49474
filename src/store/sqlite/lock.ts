import { realpathSync } from "node:fs";
import BetterSqlite, { type Database } from "better-sqlite3";
import { KumikoError } from "../../base/errors.ts";

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
  static take(file: string, shared: boolean, command?: string): FolderLock {
    const path = `${file}.lock`;
    const key = held.has(path) ? path : real(path);
    const own = held.get(key);
    if (own !== undefined && shared && own.shared) {
      own.count += 1;
      return new FolderLock(key);
    }
    const holder: Holder = { pid: process.pid, started: startOfThis(), command: command ?? null };
    if (own !== undefined) throw inUse(file, { ...holder, command: own.command });
    const database = hold(path, holder);
    held.set(real(path), { database, shared, count: 1, command: holder.command });
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
const held = new Map<
  string,
  { database: Database; shared: boolean; count: number; command: string | null }
>();

interface Holder {
  readonly pid: number;
  readonly started: number;
  readonly command: string | null;
}

function hold(path: string, { pid, started, command }: Holder): Database {
  const database = new BetterSqlite(path, { timeout: 0 });
  try {
    database.exec(
      `BEGIN IMMEDIATE; DROP TABLE IF EXISTS holder;
       CREATE TABLE holder (pid INTEGER NOT NULL, started INTEGER NOT NULL, command TEXT)`,
    );
    database.prepare("INSERT INTO holder VALUES (?, ?, ?)").run(pid, started, command);
    database.exec("COMMIT; BEGIN IMMEDIATE");
    return database;
  } catch (error) {
    const holder = isBusy(error) ? holderIn(database) : undefined;
    database.close();
    if (!isBusy(error)) throw error;
    throw inUse(path.replace(/\.lock$/, ""), holder);
  }
}

function holderIn(database: Database): Holder | undefined {
  try {
    return database.prepare<[], Holder>("SELECT * FROM holder").get();
  } catch (error) {
    // The holder is just writing its name.
    if (isBusy(error) || String(error).includes("no such table")) return undefined;
    throw error;
  }
}

function inUse(file: string, holder: Holder | undefined): KumikoError {
  const { pid = null, started = null, command = null } = holder ?? {};
  const doing = command === null ? "" : ` (${command})`;
  const who = pid === null ? "another process" : `process ${pid}${doing}`;
  const since = started === null ? "" : `, running since ${new Date(started).toISOString()}`;
  return new KumikoError(
    "in_use",
    `${file} is open in ${who}${since}. Use that one, or stop it first.`,
    { file, pid, started, command },
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
