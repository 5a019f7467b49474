import type { Connection } from "./connection.ts";
import type { Names } from "./names.ts";
import { checkRow, rowHash } from "./row-hash.ts";
import type { Seen } from "./seen.ts";

/** Where each actor's chain of Edits begins: see edit-rows.ts. */
export class Actors {
  readonly #connection: Connection;
  readonly #names: Names;
  readonly #seen: Seen<number, number> | undefined;

  constructor(connection: Connection, names: Names, seen: Seen<number, number> | undefined) {
    this.#connection = connection;
    this.#names = names;
    this.#seen = seen;
  }

  /** The first position of the Edit with the actor's last commit; 0 for an actor without Edits. */
  newest(actor: number): number {
    const known = this.#seen?.get(actor);
    if (known !== undefined) return known;
    const row = this.#connection.get("SELECT newest, hash FROM actors WHERE actor = ?", actor);
    if (row === undefined) return 0;
    const name = this.#names.describe(actor);
    const newest = row["newest"] as number;
    checkRow({ table: "actors", key: name }, row["hash"], [name, newest]);
    this.#seen?.set(actor, newest);
    return newest;
  }

  put(actor: number, name: string, newest: number): void {
    const hash = rowHash("actors", [name, newest]);
    const sql = `INSERT INTO actors VALUES (?, ?, ?) ON CONFLICT (actor) DO UPDATE
      SET newest = excluded.newest, hash = excluded.hash`;
    this.#connection.run(sql, actor, newest, hash);
    this.#seen?.set(actor, newest);
  }
}
