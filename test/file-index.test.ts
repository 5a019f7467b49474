import { existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import BetterSqlite from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { Random, realTimers } from "../src/base/index.ts";
import { readFiles } from "../src/files/file-reader.ts";
import { identityText } from "../src/files/file-stat.ts";
import { readerModule } from "../src/files/index.ts";
import { lookAt } from "../src/files/look.ts";
import type { FileIndex, IdentifiedFile } from "../src/kernel/ports.ts";
import { MemoryFileIndex, SqliteFileIndex } from "../src/store/index.ts";
import { scaled, seed } from "./support/counts.ts";
import { type TemporaryFolder, temporaryFolder } from "./support/temporary-folder.ts";

const LONG = 10 * 60_000;
const kinds = ["memory", "sqlite"] as const;
const NAMES = Array.from({ length: 8 }, (_, at) => `${at % 2 === 0 ? "" : "sub/"}f${at}.txt`);
const TEXTS = ["alpha beta\n", "beta gamma\n", "alpha\r\ndelta\r\n", "", "be\0ta", "βήτα beta\n"];
const QUERIES = ["alp", "eta", "gam", "del", "xyz"];

/** What was read of a file: nothing, when it had no text. */
interface Known {
  readonly identity: string;
  readonly text: string | undefined;
}

function openIndex(kind: (typeof kinds)[number], file: string): FileIndex {
  return kind === "memory"
    ? new MemoryFileIndex(readFiles)
    : new SqliteFileIndex({ file, timers: realTimers, reader: readerModule });
}

async function* pages(files: readonly IdentifiedFile[]): AsyncGenerator<IdentifiedFile[]> {
  yield files.slice(0, 3);
  yield files.slice(3);
}

function listed(folder: string): IdentifiedFile[] {
  return NAMES.flatMap((path) => {
    const look = lookAt(join(folder, path));
    return look === undefined ? [] : { path, identity: identityText(look) };
  });
}

const literally = (query: string) => ({ query, literal: true, ignoreCase: false });

describe.each(kinds)("an index of files (%s)", (kind) => {
  test("gives no file that it should not, and none too few", { timeout: LONG }, async () => {
    for (let run = 0; run < scaled(50); run += 1) {
      const random = new Random(seed() + run);
      using tree = temporaryFolder();
      using place = temporaryFolder();
      const file = join(place.path, "files.db");
      let index = openIndex(kind, file);
      let known = new Map<string, Known>();
      for (let step = 0; step < 40; step += 1) {
        const path = random.pick(NAMES);
        switch (random.below(7)) {
          case 0:
          case 1:
            tree.write(path, random.pick(TEXTS));
            break;
          case 2:
            rmSync(join(tree.path, path), { force: true });
            break;
          case 3:
            await index.forget(tree.path, [path]);
            known.delete(path);
            break;
          case 4:
            if (kind === "memory" || random.below(6) > 0) break;
            await index[Symbol.asyncDispose]();
            index = openIndex(kind, file);
            break;
          case 5: {
            const now = listed(tree.path);
            const other = await index.compare(tree.path, pages(now));
            const expected = now.filter((each) => known.get(each.path)?.identity !== each.identity);
            expect(other.toSorted()).toEqual(expected.map((each) => each.path).toSorted());
            const there = new Set(now.map((each) => each.path));
            known = new Map([...known].filter(([each]) => there.has(each)));
            break;
          }
          default: {
            const reading = { folder: tree.path, paths: NAMES, largest: 1000, units: 1e6 };
            await index.take(reading);
            known = new Map(
              (await index.read(reading)).flatMap((found): [string, Known][] => {
                if (!("identity" in found)) return [];
                const text = "text" in found ? found.text : undefined;
                return [[found.path, { identity: found.identity, text }]];
              }),
            );
          }
        }
        await expectCandidates(index, tree, known);
      }
      await index[Symbol.asyncDispose]();
    }
  });

  async function expectCandidates(
    index: FileIndex,
    tree: TemporaryFolder,
    known: ReadonlyMap<string, Known>,
  ): Promise<void> {
    for (const query of QUERIES) {
      const given = (await index.candidates(tree.path, literally(query))).toSorted();
      const may = [...known].filter(([, { text }]) => text !== undefined);
      const must = may.filter(([, { text }]) => text!.includes(query));
      // One of words and trigrams is exact where a literal is one trigram.
      const expected = kind === "sqlite" ? must : may;
      expect(given).toEqual(expected.map(([path]) => path).toSorted());
    }
  }

  test("keeps folders apart, and forgets one or all", async () => {
    using one = temporaryFolder();
    using other = temporaryFolder();
    using place = temporaryFolder();
    await using index = openIndex(kind, join(place.path, "files.db"));
    for (const folder of [one, other]) {
      folder.write("a.txt", "the same text\n");
      const reading = { folder: folder.path, paths: ["a.txt"], largest: 1000, units: 1000 };
      await index.take(reading);
    }
    const found = () =>
      Promise.all([one, other].map(({ path }) => index.candidates(path, literally("same"))));
    expect(await found()).toEqual([["a.txt"], ["a.txt"]]);
    await index.forget(one.path);
    expect(await found()).toEqual([[], ["a.txt"]]);
    await index.clear();
    expect(await found()).toEqual([[], []]);
  });
});

describe("an index of files in a database", () => {
  interface Sample extends Disposable {
    readonly tree: TemporaryFolder;
    readonly place: TemporaryFolder;
    readonly file: string;
  }

  async function made(): Promise<Sample> {
    const owned = new DisposableStack();
    const tree = owned.use(temporaryFolder());
    const place = owned.use(temporaryFolder());
    const file = join(place.path, "files.db");
    for (const name of NAMES) tree.write(name, `the text of ${name}\n`);
    await using index = openIndex("sqlite", file);
    await index.take({ folder: tree.path, paths: NAMES, largest: 1000, units: 1e6 });
    return { tree, file, place, [Symbol.dispose]: () => owned.dispose() };
  }

  test("that cannot be used is told of once, deleted and made anew", async () => {
    const breaks: ((file: string) => void)[] = [
      (file) =>
        writeFileSync(file, "no database at all, but long enough to be read as one".repeat(99)),
      (file) => {
        const database = new BetterSqlite(file);
        database.pragma("user_version = 77");
        database.close();
      },
    ];
    for (const damage of breaks) {
      using sample = await made();
      const { tree, file } = sample;
      damage(file);
      await using index = openIndex("sqlite", file);
      const query = literally("text");
      await expect(index.candidates(tree.path, query)).rejects.toMatchObject({
        code: "search_failed",
      });
      expect(await index.compare(tree.path, pages(listed(tree.path)))).toHaveLength(NAMES.length);
      await index.take({ folder: tree.path, paths: NAMES, largest: 1000, units: 1e6 });
      expect(await index.candidates(tree.path, query)).toHaveLength(NAMES.length);
    }
  });

  test("of another format knows nothing, which is no trouble for who compares", async () => {
    using sample = await made();
    const { tree, file } = sample;
    const database = new BetterSqlite(file);
    database.pragma("user_version = 1");
    database.exec("DROP TABLE part_words");
    database.close();
    await using index = openIndex("sqlite", file);
    expect(await index.compare(tree.path, pages(listed(tree.path)))).toHaveLength(NAMES.length);
    await index.take({ folder: tree.path, paths: NAMES, largest: 1000, units: 1e6 });
    expect(await index.candidates(tree.path, literally("text of"))).toHaveLength(NAMES.length);
  });

  test("is given up soon by a thread that took in much, and later by others", async () => {
    using sample = await made();
    const { tree, file } = sample;
    let rest: { readonly milliseconds: number; readonly run: () => void } | undefined;
    const timers = {
      after(milliseconds: number, run: () => void) {
        rest = { milliseconds, run };
        return { cancel: () => undefined };
      },
    };
    await using index = new SqliteFileIndex({ file, timers, reader: readerModule });
    const take = async (count: number): Promise<void> => {
      const paths = Array.from({ length: count }, (_, at) => NAMES[at] ?? `none${at}`);
      await index.take({ folder: tree.path, paths, largest: 1000, units: 1e6 });
    };
    await take(500);
    expect(rest!.milliseconds).toBe(10_000);
    await take(500);
    expect(rest!.milliseconds).toBe(1000);
    rest!.run();
    expect(await index.candidates(tree.path, literally("text of"))).toHaveLength(NAMES.length);
    expect(rest!.milliseconds).toBe(10_000);
  });

  test("leaves nothing behind when it is cleared, and makes nothing before it is asked", async () => {
    using sample = await made();
    const { place, file } = sample;
    expect(existsSync(file)).toBe(true);
    {
      await using index = openIndex("sqlite", file);
      await index.clear();
    }
    expect(readdirSync(place.path)).toEqual([]);
    await openIndex("sqlite", file)[Symbol.asyncDispose]();
    expect(readdirSync(place.path)).toEqual([]);
  });

  test("stops reading when it has so much, and says how far it came", async () => {
    using sample = await made();
    const { tree, file } = sample;
    await using index = openIndex("sqlite", file);
    const reading = { folder: tree.path, paths: NAMES, largest: 1000, units: 1 };
    expect(await index.read(reading)).toHaveLength(1);
    expect(await index.take(reading)).toEqual([{ path: NAMES[0], unreadable: false }]);
  });
});
