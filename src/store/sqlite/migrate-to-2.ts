import type { Connection } from "./connection.ts";
import { Names } from "./names.ts";
import { rowHash, sameHash, type Scalar } from "./row-hash.ts";

const tables = `
  ALTER TABLE rows ADD COLUMN created INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE calls ADD COLUMN time INTEGER NOT NULL DEFAULT 0;

  -- The position of the block's commit before it, 0 for the first: see commit-rows.ts.
  ALTER TABLE commits ADD COLUMN previous INTEGER NOT NULL DEFAULT 0;

  -- Edits of text, for undo and redo: see edit-rows.ts. blocks: their numbers, in the order of their names.
  -- previous: the actor's Edit that comes next by its last commit, 0 for none.
  CREATE TABLE edits (
    first INTEGER PRIMARY KEY,
    edit TEXT NOT NULL,
    actor INTEGER NOT NULL,
    blocks BLOB NOT NULL,
    last INTEGER NOT NULL,
    active INTEGER NOT NULL,
    flipped_by INTEGER,
    flipped_at INTEGER,
    previous INTEGER NOT NULL,
    hash BLOB NOT NULL
  );
  CREATE UNIQUE INDEX edits_by_name ON edits (edit);
  CREATE INDEX edits_undone ON edits (flipped_by, flipped_at) WHERE active = 0;

  -- Where each actor's chain of Edits begins: the one with the last commit.
  CREATE TABLE actors (
    actor INTEGER PRIMARY KEY,
    newest INTEGER NOT NULL,
    hash BLOB NOT NULL
  );

  -- Rewrites whose old bytes may still lie in the file: see vacuum.ts.
  CREATE TABLE scrubs (
    number INTEGER PRIMARY KEY,
    block TEXT NOT NULL
  );
`;

const sparseIndex = `
  DROP INDEX commits_by_block;
  CREATE UNIQUE INDEX commits_by_block ON commits (block, version) WHERE version % 16 = 1;
`;

/**
 * Rows learn when their block was created, calls when they were answered, commits which one was before, and
 * Edits get a table. That one begins empty: what earlier commits did to text is in their bodies, and a store
 * does not look inside.
 */
export function migrateTo2(connection: Connection): void {
  connection.database.exec(tables);
  const names = new Names(connection);
  migrateRows(connection, names);
  migrateCalls(connection, names);
  migrateCommits(connection, names);
  connection.database.exec(sparseIndex);
}

function migrateRows(connection: Connection, names: Names): void {
  for (const { name } of connection.all("SELECT name FROM rows")) {
    const row = connection.get("SELECT * FROM rows WHERE name = ?", name)!;
    const parent = row["parent"] as number;
    const columns = [
      row["block"] as number,
      row["name"] as string,
      names.describe(row["context"] as number),
      parent === 0 ? null : names.describe(parent),
      ...["place", "kind", "role", "status", "attributes", "version", "position"].map(
        (column) => row[column] as Scalar,
      ),
    ];
    const created =
      firstPosition(connection, row["block"] as number) ?? (row["position"] as number);
    connection.run(
      "UPDATE rows SET created = ?, hash = ? WHERE name = ?",
      created,
      newHash("rows", columns, created, row["hash"]),
      name,
    );
  }
}

function firstPosition(connection: Connection, block: number): number | undefined {
  const first =
    connection.get("SELECT position FROM commits WHERE block = ? AND version = 1", block) ??
    connection.get(
      "SELECT first_position AS position FROM segments WHERE block = ? AND first_version = 1",
      block,
    );
  return first?.["position"] as number | undefined;
}

function migrateCalls(connection: Connection, names: Names): void {
  for (const { actor, call } of connection.all("SELECT actor, call FROM calls")) {
    const key = [actor, call];
    const row = connection.get("SELECT * FROM calls WHERE actor = ? AND call = ?", ...key)!;
    const columns = [
      names.describe(row["actor"] as number),
      ...["call", "fingerprint", "answer"].map((column) => row[column] as Scalar),
    ];
    const hash = newHash("calls", columns, 0, row["hash"]);
    connection.run("UPDATE calls SET hash = ? WHERE actor = ? AND call = ?", hash, ...key);
  }
}

function migrateCommits(connection: Connection, names: Names): void {
  for (const { position } of connection.all("SELECT position FROM commits")) {
    const row = connection.get("SELECT * FROM commits WHERE position = ?", position)!;
    const [block, version] = [row["block"] as number, row["version"] as number];
    const model = row["model"] as number | null;
    const columns = [
      row["position"] as number,
      names.describe(block),
      version,
      names.describe(row["actor"] as number),
      ...["time", "edit", "call", "message"].map((column) => row[column] as Scalar),
      model === null ? null : names.describe(model),
      row["turn"] as string | null,
    ];
    const previous = positionOf(connection, block, version - 1) ?? 0;
    connection.run(
      "UPDATE commits SET previous = ?, hash = ? WHERE position = ?",
      previous,
      newHash("commits", columns, previous, row["hash"], row["body"] as Uint8Array),
      position,
    );
  }
}

function positionOf(connection: Connection, block: number, version: number): number | undefined {
  const found =
    connection.get(
      "SELECT position FROM commits WHERE block = ? AND version = ?",
      block,
      version,
    ) ??
    connection.get(
      "SELECT last_position AS position FROM segments WHERE block = ? AND last_version = ?",
      block,
      version,
    );
  return found?.["position"] as number | undefined;
}

/** What was damaged keeps a hash that it does not match: a migration must not make it look whole. */
function newHash(
  table: string,
  columns: readonly Scalar[],
  added: Scalar,
  old: unknown,
  bytes?: Uint8Array,
): unknown {
  const matches = sameHash(rowHash(table, columns, bytes), old);
  return matches ? rowHash(table, [...columns, added], bytes) : old;
}
