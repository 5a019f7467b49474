import BetterSqlite from "better-sqlite3";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import { TextMatcher } from "../../../base/search/index.ts";
import { openSqliteStore } from "../../index.ts";
import { Connection } from "../connection.ts";
import { Tables } from "../tables.ts";
import { CandidateFinder } from "./candidates.ts";
import { IndexFile, indexFileOf } from "./index-file.ts";

const matcher = new TextMatcher({ query: "needle", literal: true, ignoreCase: false });

/** What is there of an index before its first transaction: nothing, or a database without tables. */
const beginnings: ((file: string) => void)[] = [
  (file) => writeFileSync(file, ""),
  (file) => {
    using database = new DisposableStack();
    const made = database.adopt(new BetterSqlite(file), (each) => each.close());
    made.pragma("journal_mode = WAL");
  },
];

test("an index that is just being made is not there yet, and is used when it is", async () => {
  for (const begin of beginnings) {
    using folder = temporaryFolder();
    const state = join(folder.path, "state.db");
    await using _ = await openSqliteStore(state);
    using tables = new Tables(Connection.reader(state), false);
    const finder = new CandidateFinder(tables, state);
    begin(indexFileOf(state));
    const before = finder.find(matcher);
    expect(before.blocks).toEqual([]);
    expect(finder.unusable).toBeUndefined();
    using index = IndexFile.open(state, tables.journal);
    index.together(() => index.put(1, 1, "a needle"));
    const behind = finder.find(matcher);
    expect(finder.unusable).toBeUndefined();
    // With the index a moment is one of two databases.
    expect(before.moment).not.toContain(",");
    expect(behind.moment).toContain(",");
  }
});
