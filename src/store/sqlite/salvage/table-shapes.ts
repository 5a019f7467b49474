import type { Connection } from "../connection.ts";
import { type Cell, kinds, type RowPage, type Value } from "./cells.ts";

const HASH_BYTES = 32;

interface Column {
  readonly name: string;
  readonly type: string;
  readonly required: boolean;
  /** Kept as the number of the row and not in it. */
  readonly isRowid: boolean;
}

/** What rows of one table look like, so that one is known wherever it lies. */
export class TableShape {
  readonly table: string;
  readonly #columns: readonly Column[];
  readonly #keyed: boolean;

  constructor(connection: Connection, table: string, keyed: boolean) {
    this.table = table;
    this.#keyed = keyed;
    this.#columns = connection.all(`PRAGMA table_info(${table})`).map((column) => ({
      name: String(column["name"]),
      type: String(column["type"]),
      required: column["notnull"] === 1,
      isRowid: !keyed && column["pk"] === 1 && column["type"] === "INTEGER",
    }));
  }

  /** Tables of rows with a hash: the others hold nothing that anybody wrote. */
  static all(connection: Connection): TableShape[] {
    return connection
      .all("SELECT name, wr FROM pragma_table_list WHERE schema = 'main' AND type = 'table'")
      .map((table) => new TableShape(connection, String(table["name"]), table["wr"] === 1))
      .filter((shape) => shape.#columns.some(({ name }) => name === "hash"));
  }

  /** The columns that it has and what is in them; undefined for a row of another table. */
  fit({ rowid, values }: Cell, kind: RowPage): Map<string, Value> | undefined {
    if (this.#keyed === (kind === kinds.tableLeaf)) return undefined;
    if (values.length > this.#columns.length) return undefined;
    const row = new Map<string, Value>();
    for (const [index, column] of this.#columns.entries()) {
      const stored = values[index];
      // A column that is younger than the row is not in it.
      if (stored === undefined) {
        if (column.name === "hash") return undefined;
        continue;
      }
      const value = column.isRowid ? (rowid ?? null) : stored;
      if (column.isRowid ? stored !== null || rowid === undefined : !fits(value, column))
        return undefined;
      row.set(column.name, value);
    }
    return row.has("hash") ? row : undefined;
  }
}

function fits(value: Value, { name, type, required }: Column): boolean {
  if (value === null) return !required;
  if (name === "hash") return value instanceof Buffer && value.length === HASH_BYTES;
  if (type === "BLOB") return value instanceof Buffer;
  if (type === "TEXT") return typeof value === "string";
  return typeof value === "number" || typeof value === "bigint";
}
