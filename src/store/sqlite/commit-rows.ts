import type { NewCommit, StoredCommit } from "../../kernel/ports.ts";
import type { Connection } from "./connection.ts";
import type { Names } from "./names.ts";
import { plain } from "./bytes.ts";
import { checkRow, damagedRow, rowHash, type Scalar } from "./row-hash.ts";

/** Commits that were not compacted yet, one row each. */
export class CommitRows {
  readonly #connection: Connection;
  readonly #names: Names;

  constructor(connection: Connection, names: Names) {
    this.#connection = connection;
    this.#names = names;
  }

  /** The last commit of all stays a row: it says where the journal ends. */
  lastPosition(): number {
    const last = this.#connection.get("SELECT max(position) AS last FROM commits")?.["last"];
    return (last as number | null) ?? 0;
  }

  /** Behind `after`, up to and with `end`. */
  between(after: number, end: number): StoredCommit[] {
    const sql = "SELECT * FROM commits WHERE position > ? AND position <= ? ORDER BY position";
    return this.#connection.all(sql, after, end).map((row) => this.#read(row));
  }

  ofBlock(block: number, afterVersion: number, upToVersion: number, limit = -1): StoredCommit[] {
    const sql =
      "SELECT * FROM commits WHERE block = ? AND version > ? AND version <= ? ORDER BY version LIMIT ?";
    return this.#connection
      .all(sql, block, afterVersion, upToVersion, limit)
      .map((row) => this.#read(row));
  }

  has(block: number): boolean {
    return (
      this.#connection.get("SELECT 1 FROM commits WHERE block = ? LIMIT 1", block) !== undefined
    );
  }

  insert(commit: NewCommit, blockId: number, position: number): void {
    const { edit, actor, time, call, message, model, turn, body } = commit;
    const version = commit.expectedVersion + 1;
    const hash = rowHash("commits", columnsOf({ ...commit, position, version }), body);
    this.#connection.run(
      "INSERT INTO commits VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      position,
      blockId,
      version,
      this.#names.intern(actor),
      time,
      edit,
      call ?? null,
      message ?? null,
      model === undefined ? null : this.#names.intern(model),
      turn ?? null,
      body,
      hash,
    );
  }

  delete(block: number, firstVersion: number, lastVersion: number): void {
    const sql = "DELETE FROM commits WHERE block = ? AND version BETWEEN ? AND ?";
    this.#connection.run(sql, block, firstVersion, lastVersion);
  }

  #read(row: { readonly [column: string]: unknown }): StoredCommit {
    const position = row["position"] as number;
    const blockName = this.#names.describe(row["block"] as number);
    const found = { table: "commits", key: String(position), block: blockName, position };
    const body = row["body"];
    if (!(body instanceof Uint8Array)) throw damagedRow(found, "its body is not bytes");
    const commit: StoredCommit = {
      position,
      block: blockName,
      version: row["version"] as number,
      actor: this.#names.describe(row["actor"] as number),
      time: row["time"] as number,
      edit: row["edit"] as string,
      call: optional(row["call"]),
      message: optional(row["message"]),
      model: row["model"] === null ? undefined : this.#names.describe(row["model"] as number),
      turn: optional(row["turn"]),
      body: plain(body),
    };
    checkRow(found, row["hash"], columnsOf(commit), body);
    return commit;
  }
}

function columnsOf(commit: Omit<StoredCommit, "body">): Scalar[] {
  const { position, block, version, actor, time, edit, call, message, model, turn } = commit;
  const texts = [call ?? null, message ?? null, model ?? null, turn ?? null];
  return [position, block, version, actor, time, edit, ...texts];
}

function optional(value: unknown): string | undefined {
  return value === null ? undefined : (value as string);
}
