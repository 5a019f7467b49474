import BetterSqlite from "better-sqlite3";
import type { Random } from "../../src/base/index.ts";

/** Tables of one block each; a flip in any other may harm no block at all. */
export const ofBlocks = ["commits", "segments", "heads", "rows", "keyframes"];
export const sharedTables = ["names", "places", "sequences", "settings", "leases"];

export interface Flip {
  readonly table: string;
  readonly column: string;
  readonly key: number;
  readonly victim: string | undefined;
}

/** Changes one byte of one value, as SQLite stores it. Integer keys are the tree's, not the row's. */
export function flipByte(file: string, table: string, random: Random): Flip {
  const database = new BetterSqlite(file);
  try {
    const columns = database.pragma(`table_info(${table})`) as {
      name: string;
      type: string;
      pk: number;
    }[];
    const hasKey = columns.some(({ pk, type }) => pk === 1 && type === "INTEGER");
    const candidates = columns.filter(
      ({ pk, type }) => !(pk === 1 && type === "INTEGER" && hasKey),
    );
    for (;;) {
      const rows = database.prepare<[], Row>(`SELECT * FROM ${table}`).all();
      const key = random.below(rows.length);
      const chosen = rows[key]!;
      const column = random.pick(candidates).name;
      const value = chosen[column];
      if (value === null || value === undefined || value === "") continue;
      const changed = flipped(value, random);
      const keys = columns.filter(({ pk }) => pk > 0).map(({ name }) => name);
      const named = keys.length > 0 ? keys : ["block", "first_version"];
      const where = named.map((name) => `${name} IS ?`).join(" AND ");
      try {
        database
          .prepare(
            `UPDATE ${table} SET ${column} = ${typeof value === "string" ? "CAST(? AS TEXT)" : "?"} WHERE ${where}`,
          )
          .run(changed, ...named.map((name) => chosen[name]));
      } catch (error) {
        // Taken by another row: not a flip that a disk could make unnoticed.
        if (String(error).includes("UNIQUE")) continue;
        throw error;
      }
      return { table, column, key, victim: victimOf(database, chosen) };
    }
  } finally {
    database.close();
  }
}

type Row = { readonly [column: string]: unknown };

function flipped(value: unknown, random: Random): unknown {
  if (typeof value === "number") return value ^ (1 << random.below(8));
  const bytes = Buffer.from(value as string | Uint8Array);
  bytes[random.below(bytes.length)]! ^= 1 << random.below(8);
  return bytes;
}

function victimOf(database: BetterSqlite.Database, chosen: Row): string | undefined {
  if (typeof chosen["block"] !== "number") return undefined;
  const sql = "SELECT text FROM names WHERE id = ?";
  return database.prepare<[unknown], { text: string }>(sql).get(chosen["block"])?.text;
}
