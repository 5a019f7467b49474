import type { Connection } from "./connection.ts";
import type { Names } from "./names.ts";
import { checkRow, rowHash } from "./row-hash.ts";

export interface Head {
  readonly version: number;
  readonly position: number;
  readonly hasRow: boolean;
}

/** Each block's last version, so that commits that are gone are missed. */
export class Heads {
  readonly #connection: Connection;
  readonly #names: Names;

  constructor(connection: Connection, names: Names) {
    this.#connection = connection;
    this.#names = names;
  }

  get(block: number): Head | undefined {
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
    return { version: version!, position: position!, hasRow: hasRow === 1 };
  }

  put(block: number, name: string, { version, position, hasRow }: Head): void {
    const columns = [version, position, hasRow ? 1 : 0];
    const hash = rowHash("heads", [name, ...columns]);
    this.#connection.run(
      "INSERT OR REPLACE INTO heads VALUES (?, ?, ?, ?, ?)",
      block,
      ...columns,
      hash,
    );
  }
}
