import type { Connection } from "./connection.ts";
import type { Names } from "./names.ts";
import { type Packed, unpack } from "./packed.ts";
import { checkRow, damagedRow, rowHash } from "./row-hash.ts";

/** One current value per block that replaces older ones: keyframes (texts) and snapshots. */
export class Documents {
  readonly #connection: Connection;
  readonly #names: Names;
  readonly #table: "keyframes" | "snapshots";

  constructor(connection: Connection, names: Names, table: "keyframes" | "snapshots") {
    this.#connection = connection;
    this.#names = names;
    this.#table = table;
  }

  get(block: string): { version: number; bytes: Uint8Array } | undefined {
    const id = this.#names.id(block);
    if (id === undefined) return undefined;
    const sql = `SELECT version, data, hash FROM ${this.#table} WHERE block = ?`;
    const row = this.#connection.get(sql, id);
    if (row === undefined) return undefined;
    const found = { table: this.#table, key: block, block };
    const version = row["version"] as number;
    const data = row["data"];
    if (!(data instanceof Uint8Array)) throw damagedRow(found, "its data are not bytes");
    checkRow(found, row["hash"], [block, version], data);
    return { version, bytes: unpack(data) };
  }

  delete(block: string): void {
    const id = this.#names.id(block);
    if (id !== undefined) this.#connection.run(`DELETE FROM ${this.#table} WHERE block = ?`, id);
  }

  /** Of blocks whose last commit is not behind a position; how many. */
  dropIdle(upToPosition: number): number {
    this.#connection.run(
      `DELETE FROM ${this.#table} WHERE block IN (SELECT block FROM heads WHERE position <= ?)`,
      upToPosition,
    );
    return this.#connection.get("SELECT changes() AS count")?.["count"] as number;
  }

  /** An older one than is there is ignored. */
  put(block: string, version: number, { packed: data }: Packed): void {
    const id = this.#names.intern(block);
    const hash = rowHash(this.#table, [block, version], data);
    this.#connection.run(
      `INSERT INTO ${this.#table} VALUES (?, ?, ?, ?) ON CONFLICT (block) DO UPDATE
       SET version = excluded.version, data = excluded.data, hash = excluded.hash
       WHERE version < excluded.version`,
      id,
      version,
      data,
      hash,
    );
  }
}
