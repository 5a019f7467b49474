import { KumikoError } from "../../base/errors.ts";
import type { Connection } from "./connection.ts";
import { damagedRow, rowHash, sameHash } from "./row-hash.ts";

const CACHED = 50_000;

/** Names and the small numbers that stand for them in other rows. */
export class Names {
  readonly #connection: Connection;
  readonly #ids = new Map<string, number>();
  readonly #texts = new Map<number, string>();

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  id(text: string): number | undefined {
    const cached = this.#ids.get(text);
    if (cached !== undefined) return cached;
    const found =
      this.#connection.get("SELECT id FROM names WHERE text = ?", text) ??
      this.#connection.get("SELECT id FROM names WHERE copy = ?", text);
    if (found === undefined) return undefined;
    // The index may point to a row that says something else: then it is not this name.
    if (this.text(found["id"] as number) !== text) {
      throw damagedRow(
        { table: "names", key: String(found["id"]), block: text },
        "its copies differ",
      );
    }
    return found["id"] as number;
  }

  text(id: number): string {
    const cached = this.#texts.get(id);
    if (cached !== undefined) return cached;
    const row = this.#connection.get("SELECT text, copy, hash FROM names WHERE id = ?", id);
    if (row === undefined) throw damagedRow({ table: "names", key: String(id) }, "it is missing");
    // Two of three must agree: text, copy and hash.
    const text =
      row["text"] === row["copy"]
        ? row["text"]
        : [row["text"], row["copy"]].find((candidate) => matches(id, candidate, row["hash"]));
    if (typeof text !== "string") {
      throw damagedRow({ table: "names", key: String(id) }, "its copies differ from its hash");
    }
    this.#remember(id, text);
    return text;
  }

  /** The text, or what there is of it, for messages about damage. */
  describe(id: number): string {
    try {
      return this.text(id);
    } catch (error) {
      if (error instanceof KumikoError) return `#${id}`;
      throw error;
    }
  }

  /** The number of a name, given out now if it has none. */
  intern(text: string): number {
    const known = this.id(text);
    if (known !== undefined) return known;
    const last = this.#connection.get("SELECT max(id) AS last FROM names")?.["last"];
    const id = ((last as number | null) ?? 0) + 1;
    const hash = rowHash("names", [id, text]);
    this.#connection.run("INSERT INTO names VALUES (?, ?, ?, ?)", id, text, text, hash);
    this.#remember(id, text);
    return id;
  }

  /** After a rollback: what was given out in it is not there. */
  forget(): void {
    this.#ids.clear();
    this.#texts.clear();
  }

  #remember(id: number, text: string): void {
    if (this.#ids.size >= CACHED) this.forget();
    this.#ids.set(text, id);
    this.#texts.set(id, text);
  }
}

function matches(id: number, text: unknown, hash: unknown): boolean {
  return typeof text === "string" && sameHash(rowHash("names", [id, text]), hash);
}
