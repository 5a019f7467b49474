import BetterSqlite from "better-sqlite3";
import type { Damage } from "../../../kernel/ports.ts";
import { Connection } from "../connection.ts";
import { Names } from "../names.ts";
import { rowHash, sameHash } from "../row-hash.ts";
import { migrate, schemaVersion } from "../schema.ts";
import {
  type Cell,
  cellsOf,
  headerOffset,
  kinds,
  type RowPage,
  TABLE_INTERIOR,
  type Value,
} from "./cells.ts";
import { PageFile } from "./page-file.ts";
import { freePages, pageOwners } from "./page-owners.ts";
import { brokenStructure, structureFaults } from "./structure.ts";
import { TableShape } from "./table-shapes.ts";

const everyKind = Object.values(kinds);

export interface Rebuilt {
  readonly damages: readonly Damage[];
  /** Rows that were found, whether or not they match their hashes. */
  readonly rows: number;
}

/**
 * Looks at a copy of a database. When SQLite finds its structure whole, gives undefined. Otherwise a new database is
 * made of every row that can be found in it, page by page, whatever tables and indexes still lead there. Hashes stay as
 * they were, so that what is wrong is found when it is read.
 */
export function rebuildIfBroken(file: string, target: string): Rebuilt | undefined {
  const faults = structureFaults(file);
  if (faults.length === 0) return undefined;
  using pages = new PageFile(file);
  const database = new BetterSqlite(target);
  using connection = new Connection(database);
  // Made from what is still there: it may be made again.
  database.pragma("journal_mode = OFF");
  database.pragma("synchronous = OFF");
  const known = pages.version >= 1 && pages.version <= schemaVersion;
  migrate(connection, 0, known ? pages.version : schemaVersion);
  return database.transaction(() => {
    const rebuilding = new Rebuilding(connection, pages);
    rebuilding.readEverything();
    const restored = restoreNames(connection, file);
    dropStaleHeads(connection, rebuilding.strays);
    const owner = (page: number): string | undefined => rebuilding.owners.get(page);
    const read = (page: number): number => rebuilding.read.get(page) ?? 0;
    return {
      damages: [...brokenStructure([...rebuilding.unknown, ...faults], owner, read), ...restored],
      rows: [...rebuilding.read.values()].reduce((sum, each) => sum + each, 0),
    };
  })();
}

class Rebuilding {
  readonly owners: ReadonlyMap<number, string>;
  /** Rows by the page that they were in. */
  readonly read = new Map<number, number>();
  /** Blocks whose head was found in a page that nothing leads to: it may be an older one. */
  readonly strays = new Set<number>();
  /** Pages of tables and indexes whose first byte is none that SQLite writes. */
  readonly unknown: string[] = [];
  readonly #connection: Connection;
  readonly #pages: PageFile;
  readonly #shapes: readonly TableShape[];
  readonly #names: Names;
  readonly #overflow = new Set<number>();

  constructor(connection: Connection, pages: PageFile) {
    this.#connection = connection;
    this.#pages = pages;
    this.#shapes = TableShape.all(connection);
    this.#names = new Names(connection);
    this.owners = pageOwners(pages);
  }

  /** What the trees lead to comes first: a page that nothing leads to may hold older rows of the same keys. */
  readEverything(): void {
    const free = freePages(this.#pages);
    const doubtful: number[] = [];
    for (const number of this.owners.keys()) {
      if (!isKind(this.#pages.page(number)[headerOffset(number)]))
        this.unknown.push(`page ${number} does not say what kind of page it is`);
      if (!this.#readAs(number, this.#kindOf(number))) doubtful.push(number);
    }
    const strays: number[] = [];
    for (let number = 2; number <= this.#pages.count; number += 1) {
      if (!this.owners.has(number) && !free.has(number)) strays.push(number);
    }
    // A page whose own word about its kind is wrong is tried as every kind, and taken when all of it makes sense.
    for (const number of [...doubtful, ...strays]) {
      if (this.#overflow.has(number)) continue;
      for (const kind of everyKind) if (this.#makesSense(number, kind)) this.#readAs(number, kind);
    }
    // What is left has rows that can be read beside others that cannot.
    for (const number of strays) {
      if (!this.#overflow.has(number)) this.#readAs(number, this.#kindOf(number));
    }
  }

  #kindOf(number: number): RowPage | undefined {
    const first = this.#pages.page(number)[headerOffset(number)];
    return everyKind.find((kind) => kind === first);
  }

  #makesSense(number: number, kind: RowPage): boolean {
    const cells = cellsOf(this.#pages, number, kind);
    return (
      cells.length > 0 &&
      cells.every((cell) => cell !== undefined && this.#shapes.some((each) => each.fit(cell, kind)))
    );
  }

  /** Whether every cell of it was understood. */
  #readAs(number: number, kind: RowPage | undefined): boolean {
    if (kind === undefined) return false;
    const owner = this.owners.get(number);
    const index = owner !== undefined && !this.#shapes.some(({ table }) => table === owner);
    let understood = true;
    for (const cell of cellsOf(this.#pages, number, kind)) {
      for (const page of cell?.overflow ?? []) this.#overflow.add(page);
      if (cell === undefined || !this.#take(number, cell, kind, owner)) understood = index;
    }
    return understood;
  }

  #take(page: number, cell: Cell, kind: RowPage, owner: string | undefined): boolean {
    const fitting = this.#shapes.flatMap((shape) => {
      const row = shape.fit(cell, kind);
      return row === undefined ? [] : [{ table: shape.table, row }];
    });
    const chosen =
      fitting.find(({ table }) => table === owner) ??
      fitting.find(({ table, row }) => this.#isDocument(table, row)) ??
      fitting[0];
    if (chosen === undefined) return false;
    const { table, row } = chosen;
    const columns = [...row.keys()].join(", ");
    const places = [...row.keys()].map(() => "?").join(", ");
    const sql = `INSERT OR IGNORE INTO ${table} (${columns}) VALUES (${places})`;
    if (this.#connection.change(sql, ...row.values()) === 0) return true;
    this.read.set(page, (this.read.get(page) ?? 0) + 1);
    const block = row.get("block");
    if (table === "heads" && owner !== table && typeof block === "number") this.strays.add(block);
    return true;
  }

  /** Keyframes and snapshots look alike; the hash tells them apart. */
  #isDocument(table: string, row: ReadonlyMap<string, Value>): boolean {
    const [block, version, data] = [row.get("block"), row.get("version"), row.get("data")];
    if (typeof block !== "number" || typeof version !== "number") return false;
    if (!(data instanceof Buffer) || row.size !== 4) return false;
    const name = this.#names.describe(block);
    return sameHash(rowHash(table, [name, version], data), row.get("hash"));
  }
}

function isKind(byte: number | undefined): boolean {
  return byte === TABLE_INTERIOR || everyKind.some((kind) => kind === byte);
}

/**
 * A name that is lost takes every row with it that it is part of. The indexes of names hold them as well, and rows the
 * names of their blocks. One that is wrong does no harm: hashes are over names.
 */
function restoreNames(connection: Connection, file: string): Damage[] {
  const found = connection.all("SELECT block AS id, name AS text FROM rows");
  for (const index of ["names_by_text", "names_by_copy"]) {
    for (const direction of ["ASC", "DESC"]) {
      const column = index.slice("names_by_".length);
      const sql = `SELECT id, ${column} AS text FROM names INDEXED BY ${index} ORDER BY ${column} ${direction}`;
      found.push(...readUntilBroken(file, sql));
    }
  }
  let restored = 0;
  for (const { id, text } of found) {
    if (typeof id !== "number" || typeof text !== "string") continue;
    const sql = "INSERT OR IGNORE INTO names VALUES (?, ?, ?, ?)";
    restored += connection.change(sql, id, text, text, rowHash("names", [id, text]));
  }
  if (restored === 0) return [];
  const why = `${restored} of them could only be read elsewhere, where they are kept once more`;
  return [{ table: "names", key: "of a broken page", block: undefined, why }];
}

function readUntilBroken(file: string, sql: string): { [column: string]: unknown }[] {
  const rows: { [column: string]: unknown }[] = [];
  try {
    using connection = Connection.reader(file);
    const statement = connection.database.prepare<[], { [column: string]: unknown }>(sql);
    for (const row of statement.iterate()) rows.push(row);
  } catch (error) {
    if (!(error instanceof BetterSqlite.SqliteError)) throw error;
  }
  return rows;
}

/** An older head would make an older text pass for the whole: without any, the block is known to be damaged. */
function dropStaleHeads(connection: Connection, strays: ReadonlySet<number>): void {
  for (const block of strays) {
    connection.run(
      `DELETE FROM heads WHERE block = ? AND
         (version < (SELECT max(version) FROM commits WHERE commits.block = heads.block)
          OR version < (SELECT max(last_version) FROM segments WHERE segments.block = heads.block))`,
      block,
    );
  }
}
