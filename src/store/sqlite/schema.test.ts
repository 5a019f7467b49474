import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { zstdDecompressSync } from "node:zlib";
import BetterSqlite from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { fillSample, readSample } from "../../../test/support/store-sample.ts";
import { temporaryFolder } from "../../../test/support/temporary-folder.ts";
import { schemaVersion } from "./schema.ts";
import { openSqliteStore } from "./sqlite-store.ts";

function corpusOf(version: number): Uint8Array {
  const corpus = new URL(`./corpus/version-${version}.db.zst.base64`, import.meta.url);
  return zstdDecompressSync(Buffer.from(readFileSync(corpus, "utf8"), "base64"));
}

const versions = Array.from({ length: schemaVersion }, (_, index) => index + 1);

describe("databases of every version", () => {
  it.each(versions)("version %d reads as if it had been written today", async (version) => {
    using folder = temporaryFolder();
    const old = join(folder.path, "old.db");
    writeFileSync(old, corpusOf(version));
    await using store = await openSqliteStore(old);
    await using today = await openSqliteStore(join(folder.path, "new.db"));
    await fillSample(today, version);
    expect(await readSample(store)).toEqual(await readSample(today));
    expect(await store.verify()).toEqual([]);
    expect((await store.acquire("lease", "other", 1500, 1)).lease.token).toBe(2);
  });

  it("that are damaged stay so when they are brought up to date", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "old.db");
    writeFileSync(file, corpusOf(1));
    const database = new BetterSqlite(file);
    database.exec("UPDATE rows SET status = 'done' WHERE name = 'main~ann~1'");
    database.exec("UPDATE calls SET answer = '[]' WHERE call = 'call-3'");
    database.exec("UPDATE commits SET time = time + 1 WHERE position = 90");
    database.close();
    await using store = await openSqliteStore(file);
    await expect(store.row("main~ann~1")).rejects.toMatchObject({ code: "damaged" });
    await expect(store.call("claude", "call-3")).rejects.toMatchObject({ code: "damaged" });
    expect(await store.verify()).toMatchObject([
      { table: "commits", key: "90" },
      { table: "rows", key: "main~ann~1" },
      { table: "calls", key: "claude call-3" },
    ]);
    expect(await store.row("@src~file~7")).toMatchObject({ created: 3 });
  });

  it("are refused when they come from the future, and left as they are", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "state.db");
    const database = new BetterSqlite(file);
    database.pragma(`user_version = ${schemaVersion + 1}`);
    database.close();
    const before = readFileSync(file);
    await expect(openSqliteStore(file)).rejects.toMatchObject({
      code: "unsupported_format",
      facts: { found: schemaVersion + 1 },
    });
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  it("that are no databases at all are an error, not an empty store", async () => {
    using folder = temporaryFolder();
    const file = folder.write(
      "state.db",
      "this is not a database, however long it may be".repeat(100),
    );
    await expect(openSqliteStore(file)).rejects.toMatchObject({ code: "damaged" });
  });
});
