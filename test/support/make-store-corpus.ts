/**
 * Writes src/store/sqlite/corpus/version-<n>.db.zst.base64, a database as this version makes it. Run once per
 * version of the schema, by hand, and never again once that version was released.
 *
 *   node test/support/make-store-corpus.ts
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { zstdCompressSync } from "node:zlib";
import { openSqliteStore } from "../../src/store/index.ts";
import { schemaVersion } from "../../src/store/sqlite/schema.ts";
import { root } from "./process.ts";
import { fillSample } from "./store-sample.ts";
import { temporaryFolder } from "./temporary-folder.ts";

using folder = temporaryFolder();
const file = join(folder.path, "state.db");
{
  await using store = await openSqliteStore(file);
  await fillSample(store, schemaVersion);
}
const base64 = zstdCompressSync(readFileSync(file)).toString("base64");
const lines = base64.match(/.{1,110}/g)!.map((line) => `${line}\n`);
const name = `version-${schemaVersion}.db.zst.base64`;
writeFileSync(join(root, "src/store/sqlite/corpus", name), lines.join(""));
