import type { Database } from "better-sqlite3";
import { KumikoError } from "../../base/errors.ts";
import type { Connection } from "./connection.ts";
import { migrateTo2 } from "./migrate-to-2.ts";

/**
 * One entry per version, applied in order; an entry that was released never changes. `user_version` counts
 * those applied, and `migrations` says when.
 *
 * Every table that holds content has a `hash`: see row-hash.ts.
 */
const migrations: readonly (string | ((connection: Connection) => void))[] = [
  `
  -- Texts that many rows share. Kept twice: one damaged copy must not take every row with it.
  CREATE TABLE names (
    id INTEGER PRIMARY KEY,
    text TEXT NOT NULL,
    copy TEXT NOT NULL,
    hash BLOB NOT NULL
  );
  CREATE UNIQUE INDEX names_by_text ON names (text);
  CREATE UNIQUE INDEX names_by_copy ON names (copy);

  -- How far each block has come. has_row tells a block without a row from one whose row is gone.
  CREATE TABLE heads (
    block INTEGER PRIMARY KEY,
    version INTEGER NOT NULL,
    position INTEGER NOT NULL,
    has_row INTEGER NOT NULL,
    hash BLOB NOT NULL
  );

  CREATE TABLE commits (
    position INTEGER PRIMARY KEY,
    block INTEGER NOT NULL,
    version INTEGER NOT NULL,
    actor INTEGER NOT NULL,
    time INTEGER NOT NULL,
    edit TEXT NOT NULL,
    call TEXT,
    message TEXT,
    model INTEGER,
    turn TEXT,
    body BLOB NOT NULL,
    hash BLOB NOT NULL
  );
  CREATE UNIQUE INDEX commits_by_block ON commits (block, version);

  -- Compacted commits of one block: see segment-codec.ts.
  CREATE TABLE segments (
    block INTEGER NOT NULL,
    first_version INTEGER NOT NULL,
    last_version INTEGER NOT NULL,
    first_position INTEGER NOT NULL,
    last_position INTEGER NOT NULL,
    raw INTEGER NOT NULL,
    data BLOB NOT NULL,
    hash BLOB NOT NULL
  );
  CREATE UNIQUE INDEX segments_by_version ON segments (block, first_version);
  CREATE UNIQUE INDEX segments_by_position ON segments (block, first_position);

  -- Which block's segments hold the positions that are no longer in commits: see places.ts.
  CREATE TABLE places (
    page INTEGER PRIMARY KEY,
    runs BLOB NOT NULL,
    hash BLOB NOT NULL
  );

  CREATE TABLE rows (
    name TEXT PRIMARY KEY,
    block INTEGER NOT NULL,
    context INTEGER NOT NULL,
    parent INTEGER NOT NULL,
    place TEXT NOT NULL,
    kind TEXT NOT NULL,
    role TEXT NOT NULL,
    status TEXT NOT NULL,
    attributes TEXT NOT NULL,
    version INTEGER NOT NULL,
    position INTEGER NOT NULL,
    hash BLOB NOT NULL
  ) WITHOUT ROWID;
  CREATE UNIQUE INDEX rows_by_parent ON rows (context, parent, place);
  CREATE INDEX rows_by_context ON rows (context, name);
  CREATE INDEX rows_by_status ON rows (status, name);

  CREATE TABLE sequences (
    context TEXT NOT NULL,
    actor TEXT NOT NULL,
    last INTEGER NOT NULL,
    hash BLOB NOT NULL,
    PRIMARY KEY (context, actor)
  ) WITHOUT ROWID;

  CREATE TABLE calls (
    actor INTEGER NOT NULL,
    call TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    answer TEXT NOT NULL,
    hash BLOB NOT NULL,
    PRIMARY KEY (actor, call)
  ) WITHOUT ROWID;

  CREATE TABLE keyframes (
    block INTEGER PRIMARY KEY,
    version INTEGER NOT NULL,
    data BLOB NOT NULL,
    hash BLOB NOT NULL
  );
  CREATE TABLE snapshots (
    block INTEGER PRIMARY KEY,
    version INTEGER NOT NULL,
    data BLOB NOT NULL,
    hash BLOB NOT NULL
  );

  CREATE TABLE settings (
    space TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    hash BLOB NOT NULL,
    PRIMARY KEY (space, key)
  ) WITHOUT ROWID;

  -- A released lease stays with held = 0, so that its token never comes again.
  CREATE TABLE leases (
    name TEXT PRIMARY KEY,
    holder TEXT NOT NULL,
    token INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    held INTEGER NOT NULL,
    hash BLOB NOT NULL
  ) WITHOUT ROWID;

  -- Counts recoveries: see recovery.ts.
  CREATE TABLE incarnations (
    number INTEGER PRIMARY KEY,
    time INTEGER NOT NULL,
    cause TEXT NOT NULL
  );
  `,
  migrateTo2,
  // Which tool was called: a number of names. What was there before has none and keeps its hashes.
  "ALTER TABLE commits ADD COLUMN tool INTEGER",
];

export const schemaVersion = migrations.length;

/** Before anything is changed in it: a database from the future is refused and left as it is. */
export function checkVersion(database: Database): void {
  const found = versionOf(database);
  if (found <= schemaVersion) return;
  throw new KumikoError(
    "unsupported_format",
    `The database is of version ${found}, and this kumiko knows versions up to ${schemaVersion}: use a newer kumiko.`,
    { found, known: schemaVersion },
  );
}

/** Brings a database up to date, each version in its own transaction. */
export function migrate(connection: Connection, now: number, upTo = schemaVersion): void {
  const { database } = connection;
  const found = versionOf(database);
  for (let version = found + 1; version <= upTo; version += 1) {
    database
      .transaction(() => {
        database.exec(
          "CREATE TABLE IF NOT EXISTS migrations (version INTEGER PRIMARY KEY, time INTEGER NOT NULL)",
        );
        const migration = migrations[version - 1]!;
        if (typeof migration === "string") database.exec(migration);
        else migration(connection);
        database.prepare("INSERT INTO migrations VALUES (?, ?)").run(version, now);
        database.pragma(`user_version = ${version}`);
      })
      .immediate();
  }
}

function versionOf(database: Database): number {
  return database.pragma("user_version", { simple: true }) as number;
}
