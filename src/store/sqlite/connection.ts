import BetterSqlite, { type Database, type Statement } from "better-sqlite3";
import { KumikoError } from "../../base/errors.ts";
import { checkVersion } from "./schema.ts";

// Typed loosely on purpose: what a row holds is proven by its hash, not by a cast.
type Row = { readonly [column: string]: unknown };

/** One connection with its prepared statements. Belongs to one thread; whoever opened it closes it. */
export class Connection implements Disposable {
  readonly database: Database;
  readonly #statements = new Map<string, Statement<unknown[], Row>>();
  #dataVersion: unknown;

  constructor(database: Database) {
    this.database = database;
  }

  static writer(file: string): Connection {
    const database = new BetterSqlite(file, { timeout: 10_000 });
    try {
      checkVersion(database);
      database.pragma("journal_mode = WAL");
      database.pragma("synchronous = FULL");
      // Without these macOS answers an fsync before the disk has written. Elsewhere they change nothing.
      database.pragma("fullfsync = ON");
      database.pragma("checkpoint_fullfsync = ON");
      // The writer checkpoints by itself, after it has answered.
      database.pragma("wal_autocheckpoint = 0");
      database.pragma("cache_size = -16000");
      // What a rollback to a savepoint needs: otherwise a file, made anew for each group above 64 KB.
      database.pragma("temp_store = MEMORY");
      database.pragma("trusted_schema = OFF");
      expectPragma(database, "journal_mode", "wal");
      expectPragma(database, "synchronous", 2);
    } catch (error) {
      database.close();
      throw error;
    }
    return new Connection(database);
  }

  /**
   * Sees what is committed, and in WAL mode with FULL that is what was fsynced. Not opened read-only: the
   * first to open a database after a crash must be able to read back its WAL.
   */
  static reader(file: string): Connection {
    const database = new BetterSqlite(file, { fileMustExist: true, timeout: 10_000 });
    database.pragma("cache_size = -16000");
    database.pragma("trusted_schema = OFF");
    database.pragma("query_only = ON");
    return new Connection(database);
  }

  all(sql: string, ...parameters: unknown[]): Row[] {
    return this.#statement(sql).all(...parameters);
  }

  get(sql: string, ...parameters: unknown[]): Row | undefined {
    return this.#statement(sql).get(...parameters);
  }

  run(sql: string, ...parameters: unknown[]): void {
    this.#statement(sql).run(...parameters);
  }

  /** How many rows were changed. */
  change(sql: string, ...parameters: unknown[]): number {
    return this.#statement(sql).run(...parameters).changes;
  }

  /** Since this was last asked, in a transaction then and now. */
  changedByOthers(): boolean {
    const version = this.get("PRAGMA data_version")!["data_version"];
    const changed = version !== this.#dataVersion;
    this.#dataVersion = version;
    return changed;
  }

  /** Everything read inside belongs to one moment. */
  together<Result>(read: () => Result): Result {
    if (this.database.inTransaction) return read();
    this.run("BEGIN");
    try {
      return read();
    } finally {
      this.run("COMMIT");
    }
  }

  [Symbol.dispose](): void {
    this.database.close();
  }

  #statement(sql: string): Statement<unknown[], Row> {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.database.prepare<unknown[], Row>(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

// SQLite ignores a pragma it cannot honour; an acknowledgement must not rest on one that was.
function expectPragma(database: Database, name: string, wanted: string | number): void {
  const found = database.pragma(name, { simple: true });
  if (found === wanted) return;
  throw new KumikoError(
    "journal_unwritable",
    `SQLite answers ${name} = ${String(found)} where ${wanted} is needed for durable writes: is the folder on a file system without shared memory?`,
    { pragma: name, found: String(found), wanted },
  );
}
