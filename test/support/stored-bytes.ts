import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { zstdDecompressSync } from "node:zlib";
import BetterSqlite from "better-sqlite3";

/**
 * Where a text is found in what a SQLite store has on disk: raw in any of its files, free pages and WAL
 * included, or in what its rows keep compressed. Segments keep the first bytes of each body as differences,
 * so it must not stand there.
 */
export function placesOf(secret: string, folder: string, file: string): string[] {
  const raw = readdirSync(folder).filter((name) =>
    readFileSync(join(folder, name)).includes(secret),
  );
  using database = reading(join(folder, file));
  const packed = ["segments", "keyframes", "snapshots"].filter((table) =>
    database.data(table).some((data) => unpacked(table, data).includes(secret)),
  );
  return [...raw, ...packed];
}

function unpacked(table: string, data: Buffer): Buffer {
  if (table === "segments") return zstdDecompressSync(data);
  return data[0] === 1 ? zstdDecompressSync(data.subarray(1)) : data;
}

function reading(path: string): Disposable & { data(table: string): Buffer[] } {
  const database = new BetterSqlite(path, { readonly: true });
  return {
    data: (table) =>
      database
        .prepare<[], { data: Buffer }>(`SELECT data FROM ${table}`)
        .all()
        .map((row) => row.data),
    [Symbol.dispose]: () => database.close(),
  };
}
