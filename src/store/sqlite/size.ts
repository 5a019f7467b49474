import { statSync } from "node:fs";
import type { Connection } from "./connection.ts";
import { isUnreadable } from "./salvage/structure.ts";
import type { Tables } from "./tables.ts";

const kinds: { readonly [table: string]: string } = {
  commits: "journal",
  segments: "segments",
  places: "segments",
  keyframes: "keyframes",
  snapshots: "snapshots",
  rows: "rows",
  heads: "rows",
  names: "rows",
  sequences: "rows",
  edits: "rows",
  actors: "rows",
  calls: "calls",
};

/** Bytes on disk, indexes with their tables. `other` has settings, leases, free pages and the WAL. */
export function sizeByKind({ connection }: Tables, file: string): { [kind: string]: number } {
  const bytes = Object.fromEntries([...Object.values(kinds), "other"].map((kind) => [kind, 0]));
  for (const part of partsOf(connection, file)) {
    const kind = kinds[String(part["name"])] ?? "other";
    bytes[kind]! += part["bytes"] as number;
  }
  const free = connection.get(
    "SELECT freelist_count * page_size AS bytes FROM pragma_freelist_count, pragma_page_size",
  );
  bytes["other"]! += free?.["bytes"] as number;
  bytes["other"]! += statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  return bytes;
}

/** Of one whose pages cannot all be told apart, only how much there is in all. */
function partsOf(connection: Connection, file: string): { readonly [column: string]: unknown }[] {
  try {
    return connection.all(
      `SELECT schema.tbl_name AS name, sum(stat.pgsize) AS bytes
       FROM dbstat AS stat LEFT JOIN sqlite_schema AS schema ON schema.name = stat.name
       WHERE stat.aggregate = TRUE GROUP BY 1`,
    );
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    return [{ name: "other", bytes: statSync(file).size }];
  }
}
