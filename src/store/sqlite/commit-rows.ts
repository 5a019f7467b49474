import type { NewCommit, StoredCommit } from "../../kernel/ports.ts";
import type { Connection } from "./connection.ts";
import type { Head } from "./heads.ts";
import type { Names } from "./names.ts";
import { plain } from "./bytes.ts";
import { checkRow, damagedRow, rowHash, type Scalar } from "./row-hash.ts";
import type { Seen } from "./seen.ts";

type Row = { readonly [column: string]: unknown };

/**
 * Commits that were not compacted yet, one row each. Each names the position of the one before it of its
 * block, and every sixteenth of a block is in an index: with all of them there, each group of commits would
 * write one more page per block.
 */
export class CommitRows {
  readonly #connection: Connection;
  readonly #names: Names;
  readonly #seen: Seen<"last", number> | undefined;

  constructor(connection: Connection, names: Names, seen: Seen<"last", number> | undefined) {
    this.#connection = connection;
    this.#names = names;
    this.#seen = seen;
  }

  /** The last commit of all stays a row: it says where the journal ends. */
  lastPosition(): number {
    const known = this.#seen?.get("last");
    if (known !== undefined) return known;
    const found = this.#connection.get("SELECT max(position) AS last FROM commits")?.["last"];
    const last = (found as number | null) ?? 0;
    this.#seen?.set("last", last);
    return last;
  }

  /** Behind `after`, up to and with `end`. */
  between(after: number, end: number): StoredCommit[] {
    const sql = "SELECT * FROM commits WHERE position > ? AND position <= ? ORDER BY position";
    return this.#connection.all(sql, after, end).map((row) => this.#read(row));
  }

  /** The last position up to `end` before bodies behind `after` are more than so many bytes. */
  endWithin(after: number, end: number, bytes: number): number {
    const sql =
      "SELECT position, length(body) AS size FROM commits WHERE position > ? AND position <= ? ORDER BY position";
    let sum = 0;
    for (const { position, size } of this.#connection.all(sql, after, end)) {
      sum += size as number;
      if (sum > bytes) return Math.max(after + 1, (position as number) - 1);
    }
    return end;
  }

  /** A block's version at a position before its head's; undefined when that is not among the rows any more. */
  versionAt(block: number, head: Head, at: number): number | undefined {
    const sql =
      "SELECT version, position FROM commits WHERE block = ? AND version % 16 = 1 AND position > ? ORDER BY version LIMIT 1";
    const behind = this.#connection.get(sql, block, at) as typeof head | undefined;
    let { version, position } = behind ?? head;
    while (position > at) {
      const row = this.#connection.get("SELECT * FROM commits WHERE position = ?", position);
      if (row === undefined || row["block"] !== block || row["version"] !== version)
        return undefined;
      this.#read(row);
      version -= 1;
      position = row["previous"] as number;
    }
    return version;
  }

  /** In order, as far back as they follow one another from the block's head: what is missing ends them. */
  ofBlock(block: number, head: Head, afterVersion: number, upToVersion: number): StoredCommit[] {
    const commits: StoredCommit[] = [];
    let { version, position } = this.#startOf(block, head, upToVersion);
    while (version > afterVersion) {
      const row = this.#connection.get("SELECT * FROM commits WHERE position = ?", position);
      if (row === undefined || row["block"] !== block || row["version"] !== version) break;
      if (version <= upToVersion) commits.push(this.#read(row));
      version -= 1;
      position = row["previous"] as number;
    }
    return commits.toReversed();
  }

  /** Whether there are any: without segments the first is a row, and in the index. */
  has(block: number): boolean {
    const sql = "SELECT 1 FROM commits WHERE block = ? AND version % 16 = 1 LIMIT 1";
    return this.#connection.get(sql, block) !== undefined;
  }

  insert(commit: NewCommit, blockId: number, position: number, previous: number): void {
    const { edit, actor, time, tool, call, message, model, turn, body } = commit;
    const version = commit.expectedVersion + 1;
    const hash = rowHash("commits", columnsOf({ ...commit, position, version }, previous), body);
    this.#connection.run(
      `INSERT INTO commits
         (position, block, version, actor, time, edit, call, message, model, turn, body, hash, previous, tool)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
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
      previous,
      tool === undefined ? null : this.#names.intern(tool),
    );
    this.#seen?.set("last", position);
  }

  /** Body and message; everything else stays. */
  rewrite(commit: StoredCommit): void {
    const { position, message, body } = commit;
    const found = this.#connection.get("SELECT previous FROM commits WHERE position = ?", position);
    const hash = rowHash("commits", columnsOf(commit, found!["previous"] as number), body);
    const sql = "UPDATE commits SET message = ?, body = ?, hash = ? WHERE position = ?";
    this.#connection.run(sql, message ?? null, body, hash, position);
  }

  delete(commits: readonly StoredCommit[]): void {
    for (const { position } of commits) {
      this.#connection.run("DELETE FROM commits WHERE position = ?", position);
    }
  }

  /** At the version or, if that is not the head, at most fifteen behind it. */
  #startOf(block: number, head: Head, version: number): { version: number; position: number } {
    if (version >= head.version) return head;
    const sql =
      "SELECT version, position FROM commits WHERE block = ? AND version % 16 = 1 AND version >= ? ORDER BY version LIMIT 1";
    const found = this.#connection.get(sql, block, version);
    return found === undefined ? head : (found as { version: number; position: number });
  }

  #read(row: Row): StoredCommit {
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
      tool: row["tool"] === null ? undefined : this.#names.describe(row["tool"] as number),
      body: plain(body),
    };
    checkRow(found, row["hash"], columnsOf(commit, row["previous"] as number), body);
    return commit;
  }
}

/** A commit without a tool has the hash that it had before commits knew tools. */
function columnsOf(commit: Omit<StoredCommit, "body">, previous: number): Scalar[] {
  const { position, block, version, actor, time, edit, call, message, model, turn, tool } = commit;
  const texts = [call ?? null, message ?? null, model ?? null, turn ?? null];
  const known = [position, block, version, actor, time, edit, ...texts, previous];
  return tool === undefined ? known : [...known, tool];
}

function optional(value: unknown): string | undefined {
  return value === null ? undefined : (value as string);
}
