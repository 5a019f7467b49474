import type { Connection } from "./connection.ts";
import type { Names } from "./names.ts";
import { checkRow, rowHash } from "./row-hash.ts";
import type { Seen } from "./seen.ts";

export interface Head {
  readonly version: number;
  readonly position: number;
  readonly hasRow: boolean;
}

/** Each block's last version, so that commits that are gone are missed. */
export class Heads {
  readonly #connection: Connection;
  readonly #names: Names;
  readonly #seen: Seen<number, Head> | undefined;

  constructor(connection: Connection, names: Names, seen: Seen<number, Head> | undefined) {
    this.#connection = connection;
    this.#names = names;
    this.#seen = seen;
  }

  get(block: number): Head | undefined {
    const known = this.#seen?.get(block);
    if (known !== undefined) return known;
    const sql = "SELECT version, position, has_row, hash FROM heads WHERE block = ?";
    const row = this.#connection.get(sql, block);
    if (row === undefined) return undefined;
    const name = this.#names.describe(block);
    const [version, position, hasRow] = [
      row["version"],
      row["position"],
      row["has_row"],
    ] as number[];
    const columns = [name, version!, position!, hasRow!];
    checkRow({ table: "heads", key: name, block: name }, row["hash"], columns);
    const head = { version: version!, position: position!, hasRow: hasRow === 1 };
    this.#seen?.set(block, head);
    return head;
  }

  put(block: number, name: string, head: Head): void {
    const { version, position } = head;
    const hasRow = head.hasRow ? 1 : 0;
    const hash = rowHash("heads", [name, version, position, hasRow]);
    // In place: REPLACE would take the row out of its page and put it in again.
    const sql = `INSERT INTO heads VALUES (?, ?, ?, ?, ?) ON CONFLICT (block) DO UPDATE
      SET version = excluded.version, position = excluded.position, has_row = excluded.has_row, hash = excluded.hash`;
    this.#connection.run(sql, block, version, position, hasRow, hash);
    this.#seen?.set(block, head);
  }
}
