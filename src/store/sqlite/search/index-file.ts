import BetterSqlite, { type Database } from "better-sqlite3";
import { existsSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Journal } from "../journal.ts";
import { rowHash } from "../row-hash.ts";
import { checkFormat, formatOf, NOT_MADE } from "./index-format.ts";
import { type PartRows, PARTS_TABLES, TextParts } from "./text-parts.ts";
import { UnusableIndex } from "./unusable-index.ts";

/** Counts what was ever changed in the layout or in the way texts are cut: another number is built anew. */
const FORMAT = 2;
const FILES = ["", "-wal", "-shm"];

/** Next to the journal; made of it, so that it may be deleted at any time. */
export function indexFileOf(stateFile: string): string {
  return join(dirname(stateFile), "search.db");
}

export function indexExists(stateFile: string): boolean {
  return existsSync(indexFileOf(stateFile));
}

export function deleteIndex(stateFile: string): void {
  for (const ending of FILES) rmSync(`${indexFileOf(stateFile)}${ending}`, { force: true });
}

/** The index as its one writer has it. */
export class IndexFile implements Disposable {
  readonly database: Database;
  readonly #parts: TextParts;

  private constructor(database: Database) {
    this.database = database;
    this.#parts = new TextParts(database);
  }

  /** Throws when what is there cannot be used; it is to be deleted then. */
  static open(stateFile: string, journal: Journal): IndexFile {
    const database = new BetterSqlite(indexFileOf(stateFile), { timeout: 10_000 });
    try {
      database.pragma("journal_mode = WAL");
      database.pragma("synchronous = NORMAL");
      database.pragma("cache_size = -16000");
      if (formatOf(database, "main") === NOT_MADE) create(database);
      checkIndex(database, "main", journal);
      return new IndexFile(database);
    } catch (error) {
      database.close();
      throw error;
    }
  }

  /** What SQLite can find wrong with it. */
  verify(): void {
    const [row] = this.database.pragma("quick_check(1)") as { quick_check: string }[];
    if (row?.quick_check !== "ok") throw new UnusableIndex(row?.quick_check ?? "nothing to check");
    for (const table of ["parts", "part_words"])
      this.database.exec(`INSERT INTO ${table}(${table}) VALUES ('integrity-check')`);
  }

  /** Runs what puts and removes: all of it lands or nothing. */
  together(task: () => void): void {
    this.#parts.together(task);
  }

  versions(): Map<number, number> {
    const rows = this.database.prepare("SELECT block, version FROM docs").raw().all();
    return new Map(rows as [number, number][]);
  }

  put(block: number, version: number, text: string): void {
    this.remove(block);
    const last = this.database
      .prepare<[], { behind: number }>(
        "SELECT first + parts AS behind FROM docs ORDER BY first DESC LIMIT 1",
      )
      .get();
    const first = last?.behind ?? 1;
    const parts = this.#parts.put(first, text);
    this.database.prepare("INSERT INTO docs VALUES (?, ?, ?, ?)").run(block, version, first, parts);
  }

  remove(block: number): void {
    const found = this.database
      .prepare<[number], PartRows>("SELECT first, parts FROM docs WHERE block = ?")
      .get(block);
    if (found === undefined) return;
    this.#parts.remove(found);
    this.database.prepare("DELETE FROM docs WHERE block = ?").run(block);
  }

  /** Binds the index to the journal it was made of: one restored from elsewhere is recognised. */
  anchor(journal: Journal): void {
    const position = journal.head();
    this.database.prepare("DELETE FROM anchor").run();
    if (position === 0) return;
    this.database
      .prepare("INSERT INTO anchor VALUES (?, ?)")
      .run(position, anchorHash(journal, position));
  }

  [Symbol.dispose](): void {
    this.database.close();
  }
}

/** Throws when the index was not made of this journal, or by another version of this file. */
export function checkIndex(database: Database, schema: string, journal: Journal): void {
  checkFormat(database, schema, FORMAT);
  const anchor = database
    .prepare<[], { position: number; hash: Uint8Array }>(`SELECT * FROM ${schema}.anchor`)
    .get();
  if (anchor === undefined) return;
  if (
    anchor.position > journal.head() ||
    !anchorHash(journal, anchor.position).equals(anchor.hash)
  ) {
    throw new UnusableIndex("it was made of another journal");
  }
}

function create(database: Database): void {
  database.exec(`
    BEGIN;
    CREATE TABLE anchor (position INTEGER NOT NULL, hash BLOB NOT NULL);
    CREATE TABLE docs (
      block INTEGER PRIMARY KEY,
      version INTEGER NOT NULL,
      first INTEGER NOT NULL,
      parts INTEGER NOT NULL
    );
    CREATE INDEX docs_by_part ON docs (first);
    ${PARTS_TABLES}
    PRAGMA user_version = ${FORMAT};
    COMMIT;
  `);
}

function anchorHash(journal: Journal, position: number): Buffer {
  const [commit] = journal.changesSince(position - 1, 1);
  if (commit === undefined) throw new UnusableIndex("it was made of a longer journal");
  const { block, version, edit, actor, time, body } = commit;
  return rowHash("anchor", [position, block, version, edit, actor, time], body);
}
