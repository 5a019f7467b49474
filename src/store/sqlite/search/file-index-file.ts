import BetterSqlite, { type Database, type Statement } from "better-sqlite3";
import { rmSync } from "node:fs";
import { TextMatcher, type TextQuery } from "../../../base/search/index.ts";
import type { FileFinding, IdentifiedFile } from "../../../kernel/ports.ts";
import { checkFormat, formatOf, NOT_MADE } from "./index-format.ts";
import { matchingParts } from "./matching-parts.ts";
import { type PartRows, PARTS_TABLES, TextParts } from "./text-parts.ts";

/** Counts what was ever changed in the layout or in the way texts are cut: another number is built anew. */
const FORMAT = 2;
const FILES = ["", "-wal", "-shm"];
/** Rows that are looked at together. */
const PAGE = 1000;

export function deleteFileIndex(file: string): void {
  for (const ending of FILES) rmSync(`${file}${ending}`, { force: true });
}

/** The index of files as its one writer has it. Files with the same bytes share their text. */
export class FileIndexFile implements Disposable {
  readonly #database: Database;
  readonly #parts: TextParts;
  readonly #statements = new Map<string, Statement>();

  private constructor(database: Database) {
    this.#database = database;
    this.#parts = new TextParts(database);
  }

  /** Throws when what is there cannot be used; it is to be deleted then. */
  static open(file: string): FileIndexFile {
    const database = new BetterSqlite(file, { timeout: 10_000 });
    try {
      database.pragma("journal_mode = WAL");
      database.pragma("synchronous = NORMAL");
      database.pragma("cache_size = -2000");
      if (formatOf(database, "main") === NOT_MADE) create(database);
      checkFormat(database, "main", FORMAT);
      return new FileIndexFile(database);
    } catch (error) {
      database.close();
      throw error;
    }
  }

  /** What is known of a file; undefined when nothing is. */
  known(
    folder: string,
    path: string,
  ): { readonly id: number; readonly identity: string } | undefined {
    const sql = `SELECT files.id, identity FROM files JOIN folders ON folders.id = folder
      WHERE folders.path = ? AND files.path = ?`;
    return this.#statement(sql).get(folder, path) as { id: number; identity: string } | undefined;
  }

  /** Those of a folder, in the order of their numbers, behind one. */
  page(folder: string, behind: number): { readonly id: number; readonly path: string }[] {
    const sql = `SELECT files.id, files.path FROM files JOIN folders ON folders.id = folder
      WHERE folders.path = ? AND files.id > ? ORDER BY files.id LIMIT ${PAGE}`;
    return this.#statement(sql).all(folder, behind) as { id: number; path: string }[];
  }

  /** Remembers all of these or none; what cannot be read now stays as it is known. */
  put(folder: string, files: readonly FileFinding[]): void {
    this.#parts.together(() => {
      const place = this.#folder(folder);
      const put = `INSERT INTO files(folder, path, identity, text) VALUES (?, ?, ?, ?)
        ON CONFLICT DO UPDATE SET identity = excluded.identity, text = excluded.text`;
      for (const file of files) {
        if ("absent" in file) this.#forget(place, file.path);
        if (!("identity" in file)) continue;
        const text = "text" in file ? this.#text(file) : null;
        this.#drop(place, file.path, text);
        this.#statement(put).run(place, file.path, file.identity, text);
      }
    });
  }

  forget(folder: string, paths: Iterable<string>): void {
    this.#parts.together(() => {
      const place = this.#folder(folder);
      for (const path of paths) this.#forget(place, path);
    });
  }

  candidates(folder: string, query: TextQuery): string[] {
    const parts = matchingParts(this.#database, "main", new TextMatcher(query));
    const all = `SELECT files.path FROM files JOIN folders ON folders.id = folder
      WHERE folders.path = ? AND text IS NOT NULL`;
    if (parts === undefined) return this.#statement(all).pluck().all(folder) as string[];
    const some = `${all} AND text IN (
        SELECT (SELECT id FROM texts AS owner WHERE owner.first <= matching.rowid
                ORDER BY owner.first DESC LIMIT 1)
        FROM (${parts.sql}) AS matching)`;
    return this.#database
      .prepare(some)
      .pluck()
      .all(folder, ...parts.parameters) as string[];
  }

  [Symbol.dispose](): void {
    this.#database.close();
  }

  #forget(folder: number, path: string): void {
    this.#drop(folder, path, null);
    this.#statement("DELETE FROM files WHERE folder = ? AND path = ?").run(folder, path);
  }

  #folder(path: string): number {
    const known = this.#statement("SELECT id FROM folders WHERE path = ?").pluck().get(path);
    if (known !== undefined) return known as number;
    const made = this.#statement("INSERT INTO folders(path) VALUES (?)").run(path);
    return Number(made.lastInsertRowid);
  }

  /** The number of a text, which is indexed unless another file has it. */
  #text({ hash, text }: { readonly hash: string; readonly text: string }): number {
    const key = Buffer.from(hash, "hex");
    const known = this.#statement("SELECT id FROM texts WHERE hash = ?").pluck().get(key);
    if (known !== undefined) return known as number;
    const last = "SELECT first + parts FROM texts ORDER BY first DESC LIMIT 1";
    const first = (this.#statement(last).pluck().get() as number | undefined) ?? 1;
    const parts = this.#parts.put(first, text);
    const made = this.#statement("INSERT INTO texts(hash, first, parts) VALUES (?, ?, ?)");
    return Number(made.run(key, first, parts).lastInsertRowid);
  }

  /** Takes away the text that a file had, if nobody else has it and it is not the one that it gets. */
  #drop(folder: number, path: string, next: number | null): void {
    const had = this.#statement("SELECT text FROM files WHERE folder = ? AND path = ?")
      .pluck()
      .get(folder, path) as number | null | undefined;
    if (had === undefined || had === null || had === next) return;
    const count = this.#statement(
      "SELECT count(*) FROM (SELECT 1 FROM files WHERE text = ? LIMIT 2)",
    );
    if (count.pluck().get(had) !== 1) return;
    const rows = this.#statement("SELECT first, parts FROM texts WHERE id = ?").get(had);
    this.#parts.remove(rows as PartRows);
    this.#statement("DELETE FROM texts WHERE id = ?").run(had);
  }

  #statement(sql: string): Statement {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.#database.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}

/** What a folder holds, page by page, against what is known of it. */
export class Comparison {
  readonly #index: FileIndexFile;
  readonly #folder: string;
  readonly #seen = new Set<number>();

  constructor(index: FileIndexFile, folder: string) {
    this.#index = index;
    this.#folder = folder;
  }

  /** Those that are not known as they are. */
  page(files: readonly IdentifiedFile[]): string[] {
    return files.flatMap(({ path, identity }) => {
      const known = this.#index.known(this.#folder, path);
      if (known !== undefined) this.#seen.add(known.id);
      return known?.identity === identity ? [] : path;
    });
  }

  /** Forgets those that were on no page. */
  end(): void {
    for (let behind = 0; ;) {
      const page = this.#index.page(this.#folder, behind);
      if (page.length === 0) return;
      behind = page.at(-1)!.id;
      const missing = page.filter(({ id }) => !this.#seen.has(id)).map(({ path }) => path);
      if (missing.length > 0) this.#index.forget(this.#folder, missing);
    }
  }
}

function create(database: Database): void {
  database.exec(`
    BEGIN;
    CREATE TABLE texts (
      id INTEGER PRIMARY KEY,
      hash BLOB NOT NULL UNIQUE,
      first INTEGER NOT NULL,
      parts INTEGER NOT NULL
    );
    CREATE INDEX texts_by_part ON texts (first);
    CREATE TABLE folders (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE);
    CREATE TABLE files (
      id INTEGER PRIMARY KEY,
      folder INTEGER NOT NULL,
      path TEXT NOT NULL,
      identity TEXT NOT NULL,
      text INTEGER,
      UNIQUE (folder, path)
    );
    CREATE INDEX files_by_text ON files (text);
    ${PARTS_TABLES}
    PRAGMA user_version = ${FORMAT};
    COMMIT;
  `);
}
