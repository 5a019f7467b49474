import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as passing } from "node:timers/promises";
import BetterSqlite from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { KumikoError, Random, realTimers } from "../src/base/index.ts";
import { readFiles } from "../src/files/file-reader.ts";
import { FolderIndex, type FolderIndexOptions, type Listed } from "../src/files/folder-index.ts";
import { MountsPort, readerModule } from "../src/files/index.ts";
import { Ignored } from "../src/files/ignored.ts";
import { scan } from "../src/files/scan.ts";
import { readText } from "../src/files/text-form.ts";
import type { FileIndex, FileReading } from "../src/kernel/ports.ts";
import { MemoryFileIndex, SqliteFileIndex } from "../src/store/index.ts";
import { scaled, seed } from "./support/counts.ts";
import { Mounted } from "./support/mounted.ts";
import { asOrdinaryUser } from "./support/ordinary-user.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const LONG = 10 * 60_000;
const ann = { actor: "ann", kind: "person" } as const;
const claude = { actor: "claude", kind: "agent" } as const;
const MANUAL = '[mount]\nsave = "manual"\n';
const WORDS = ["alder", "birch", "cedar", "elm", "fir"];

interface Found {
  readonly blocks: {
    readonly block_id: string;
    readonly path?: string;
    readonly version?: number;
    readonly matches: { readonly line: number; readonly content: string }[];
    readonly truncated: boolean;
  }[];
  readonly truncated: boolean;
  readonly unreadable: { readonly block_id: string; readonly why: string }[];
  readonly indexing?: { readonly done: number; readonly of: number };
}

async function search(
  mounted: Mounted,
  input: { query: string; [more: string]: unknown },
  by: typeof ann | typeof claude = ann,
): Promise<Found> {
  const all = { max_blocks: 1000, max_matches_per_block: 1000 };
  return mounted.call<Found>("kernel_search", { ...all, ...input }, by);
}

async function paths(...asked: Parameters<typeof search>): Promise<string[]> {
  return (await search(...asked)).blocks.map(({ block_id, path }) => path ?? block_id);
}

function linesOf({ blocks }: Found): string[] {
  return blocks.flatMap(({ path, matches }) =>
    matches.map(({ line, content }) => `${path}:${line}:${content}`),
  );
}

function sentences(random: Random, ending: string): string {
  const lines = Array.from({ length: random.below(5) }, () =>
    Array.from({ length: 1 + random.below(3) }, () => random.pick(WORDS)).join(" "),
  );
  return lines.map((line) => line + ending).join("");
}

/** In one of the forms that text has on disk, or in none. */
function someBytes(random: Random): Uint8Array {
  const form = random.below(8);
  const text = sentences(random, form === 0 ? "\r\n" : "\n");
  if (form === 1) return Buffer.from(`\uFEFF${text}`, "utf16le");
  if (form === 2) return Buffer.from(`\0${text}`);
  return Buffer.from(text);
}

/** Every line that a search must find, by looking at everything. */
async function lookedThrough(mounted: Mounted, pattern: RegExp): Promise<string[]> {
  const texts = new Map<string, string>();
  const ignored = new Ignored(mounted.folder);
  for await (const entries of scan(realpathSync(mounted.folder), { ignored }))
    for (const { path, kind, ignored: left } of entries) {
      if (kind !== "file" || left || path.endsWith(".env")) continue;
      const read = readText(mounted.bytes(path), 1 << 24);
      if ("text" in read) texts.set(path, read.text);
    }
  for (const { path, block } of mounted.mounts.first().source.files.all())
    texts.set(path, (await mounted.kernel.read(block)).text);
  return [...texts].flatMap(([path, text]) =>
    text
      .split("\n")
      .map((line, at) => ({ line, at }))
      .filter(({ line }) => line.search(pattern) !== -1)
      .map(({ line, at }) => `${path}:${at}:${line}`),
  );
}

describe("a search in files that nobody has loaded", () => {
  it("finds what looking through everything finds", { timeout: LONG }, async () => {
    const names = ["a.txt", "b.txt", "d/a.txt", "d/b.md", "d/e/c.txt", "left/out.txt", ".env"];
    for (let run = 0; run < scaled(30); run++) {
      const random = new Random(seed() + run);
      await using mounted = await Mounted.with({ "kumiko.toml": MANUAL, ".gitignore": "left/\n" });
      for (let step = 0; step < 25; step++) {
        const path = random.pick(names);
        const isThere = mounted.mounts.first().source.disk.identity(path) !== undefined;
        const isOpen = path !== ".env" && !path.startsWith("left/");
        switch (random.below(6)) {
          case 0:
          case 1:
            mounted.write(path, someBytes(random));
            break;
          case 2:
            rmSync(mounted.path(path), { force: true });
            break;
          case 3: {
            const to = random.pick(names);
            if (!isThere) break;
            mkdirSync(join(mounted.path(to), ".."), { recursive: true });
            renameSync(mounted.path(path), mounted.path(to));
            break;
          }
          case 4:
            if (isThere && isOpen) await mounted.call("file_load", { path }).catch(refusedAsText);
            break;
          default: {
            const [file] = mounted.mounts.first().source.files.all();
            if (file === undefined) break;
            // The block alone: memory is ahead of the disk.
            await mounted.kernel.editText(ann, {
              blocks: [file.block],
              operation: "change",
              translate: () => [{ at: 0, remove: 0, insert: `${random.pick(WORDS)} in memory\n` }],
              answer: () => undefined,
            });
          }
        }
        const word = random.pick(WORDS);
        const query = random.pick([word, `${word.slice(0, 2)}.${word.slice(3)}`, "ir", "^\\w+$"]);
        const found = await search(mounted, { query });
        expect(found).toMatchObject({ truncated: false, unreadable: [] });
        const expected = await lookedThrough(mounted, new RegExp(query));
        expect(linesOf(found).toSorted(), query).toEqual(expected.toSorted());
        const unloaded = found.blocks.filter(({ version }) => version === undefined);
        expect(found.blocks.slice(-unloaded.length || Infinity)).toEqual(unloaded);
        const order = unloaded.map(({ block_id }) => block_id);
        expect(order).toEqual(order.toSorted());
      }
    }
  });

  it.each([false, true])("says what it cannot look into (watched: %s)", async (watch) => {
    await asOrdinaryUser(async () => {
      using place = temporaryFolder();
      const folder = join(place.path, "project");
      for (const path of ["project/a.txt", "project/closed/b.txt", "project/out/c.txt"])
        place.write(path, "elm\n");
      place.write("project/.gitignore", "out/\n");
      const closed = ["closed", "out"].map((path) => join(folder, path));
      for (const each of closed) chmodSync(each, 0o000);
      try {
        await using mounted = await Mounted.with({}, { watch, folder });
        if (watch) await mounted.mounts.indexed();
        const told = [{ block_id: "closed", why: "it cannot be looked at (EACCES)" }];
        const found = await search(mounted, { query: "elm" });
        expect([linesOf(found), found.unreadable]).toEqual([["a.txt:0:elm"], told]);
        for (const [prefix, unreadable] of [
          ["closed/", told],
          ["@project/closed/b", told],
          ["a", []],
        ] as const)
          expect(await search(mounted, { query: "elm", path_prefix: prefix })).toMatchObject({
            unreadable,
          });
      } finally {
        for (const each of closed) chmodSync(each, 0o755);
      }
    });
  });

  it("leaves out what is no text, too large, ignored or a link, and reads other forms", async () => {
    const utf16 = Buffer.from("\uFEFFfir in UTF-16\r\nelm\r\n", "utf16le");
    await using mounted = await Mounted.with({
      "kumiko.toml": "[mount]\nlargest = 100\n",
      ".gitignore": "out/\n*.log\n",
      "nul.bin": "fir\0fir\n",
      "latin.txt": Buffer.from([0x66, 0x69, 0x72, 0xe9]),
      "large.txt": "fir\n".repeat(30),
      "out/a.txt": "fir\n",
      "a.log": "fir\n",
      "crlf.txt": "elm\r\nfir\r\n",
      "utf16.txt": utf16,
      "plain.txt": "elm\nfir",
    });
    symlinkSync("plain.txt", mounted.path("link.txt"));
    const found = await search(mounted, { query: "fir$|fir in" });
    expect(linesOf(found)).toEqual([
      "crlf.txt:1:fir",
      "plain.txt:1:fir",
      "utf16.txt:0:fir in UTF-16",
    ]);
    expect(found.unreadable).toEqual([]);
    await mounted.call("file_load", { path: "plain.txt" });
    expect((await search(mounted, { query: "fir$" })).blocks).toMatchObject([
      { block_id: "@project~file~1", path: "plain.txt", version: 1 },
      { block_id: "crlf.txt", path: "crlf.txt" },
    ]);
  });

  it("keeps its limits over blocks and files together, and its filters", async () => {
    const files = Object.fromEntries(
      Array.from({ length: 9 }, (_, at) => [`${at < 5 ? "x" : "y"}/${at}.txt`, "elm\nelm\nelm\n"]),
    );
    await using mounted = await Mounted.with(files);
    await mounted.call("file_load", { path: "y/8.txt" });
    const some = await search(mounted, { query: "elm", max_blocks: 3, max_matches_per_block: 2 });
    expect(some.truncated).toBe(true);
    expect(some.blocks.map(({ path }) => path)).toEqual(["y/8.txt", "x/0.txt", "x/1.txt"]);
    for (const { matches, truncated } of some.blocks)
      expect([matches.length, truncated]).toEqual([2, true]);
    expect(await search(mounted, { query: "elm", max_blocks: 9 })).toMatchObject({
      truncated: false,
    });
    expect((await search(mounted, { query: "elm", max_blocks: 1 })).truncated).toBe(true);
    expect(await paths(mounted, { query: "elm", path_prefix: "y/" })).toHaveLength(4);
    expect(await paths(mounted, { query: "elm", path_prefix: "@project/x/" })).toHaveLength(5);
    expect(await paths(mounted, { query: "elm", kinds: ["text"] })).toEqual([]);
    await mounted.kernel.contexts.create("main", "ann");
    expect(await paths(mounted, { query: "elm", context: "main" })).toEqual([]);
  });

  it("calls files so that tools find them again", async () => {
    await using mounted = await Mounted.with({
      "a b.txt": "elm 1\n",
      "main~claude~7": "elm 2\n",
      "@other/a.txt": "elm 3\n",
    });
    using other = temporaryFolder();
    other.write("a.txt", "elm 4\n");
    await mounted.mounts.mount("other", { root: realpathSync(other.path) });
    const { blocks } = await search(mounted, { query: "elm" });
    expect(blocks).toHaveLength(4);
    for (const { block_id, matches } of blocks)
      expect((await mounted.text(block_id)).trimEnd()).toBe(matches[0]!.content);
    await mounted.mounts.unmount("other");
    expect(await paths(mounted, { query: "elm" })).toHaveLength(3);
  });
});

describe("the rules", () => {
  const rules = [
    '[[rule]]\npath = "hidden/**"\nlevel = "secret"\n',
    '[[rule]]\npath = "asked/**"\nlevel = "read_only"\nescalate = ["read"]\n',
    '[[rule]]\npath = "people/**"\nlevel = "human"\n',
  ].join("\n");
  const files = {
    "kumiko.toml": rules,
    "hidden/a.txt": "elm\n",
    ".env": "elm\n",
    "asked/a.txt": "elm\n",
    "people/a.txt": "elm\n",
    "open.txt": "elm\n",
  };

  it("decide for each caller what is found, and keep secrets from the index", async () => {
    await using mounted = await Mounted.with(files);
    expect(await paths(mounted, { query: "elm" }, ann)).toEqual([
      "asked/a.txt",
      "open.txt",
      "people/a.txt",
    ]);
    expect(await paths(mounted, { query: "elm" }, claude)).toEqual(["open.txt", "people/a.txt"]);
    const none = await search(mounted, { query: "elm", max_blocks: 2 }, claude);
    expect(none.truncated).toBe(false);
    expect(indexedPaths(mounted)).toEqual([]);
  });

  it("that change take what became secret out of the index", { timeout: LONG }, async () => {
    await using mounted = await Mounted.with(files, { watch: true });
    await mounted.mounts.indexed();
    const all = ["asked/a.txt", "kumiko.toml", "open.txt", "people/a.txt"];
    expect(indexedPaths(mounted)).toEqual(all);
    mounted.write("kumiko.toml", '[[rule]]\npath = "people/**"\nlevel = "secret"\n');
    await until(async () => {
      await mounted.mounts.indexed();
      const known = indexedPaths(mounted);
      return !known.includes("people/a.txt") && known.includes("hidden/a.txt");
    });
    expect(await paths(mounted, { query: "elm" }, claude)).toEqual([
      "asked/a.txt",
      "hidden/a.txt",
      "open.txt",
    ]);
  });

  it(
    "that change leave no word of what became secret in any file of ours",
    { timeout: LONG },
    async () => {
      const key = "correcthorsebatterystaple";
      const given = { "keys/mine.txt": `${key}\n`, "open.txt": "elm\n" };
      await using mounted = await Mounted.with(given, { watch: true });
      await mounted.mounts.indexed();
      const holds = (): boolean => storedBytes(mounted).includes(key);
      expect(holds()).toBe(true);
      mounted.write("kumiko.toml", '[[rule]]\npath = "keys/**"\nlevel = "secret"\n');
      await until(() => !holds());
      await mounted.mounts.indexed();
      expect(holds()).toBe(false);
      expect(await paths(mounted, { query: "elm" }, claude)).toEqual(["open.txt"]);
    },
  );
});

describe("a folder that is watched", () => {
  it("is searched without rule files that are ignored, until they are not", async () => {
    await using mounted = await Mounted.with(
      { ".gitignore": ".kumikoignore\n", ".kumikoignore": "*.elm\n", "elm.txt": "elm\n" },
      { watch: true },
    );
    const found = () => paths(mounted, { query: "elm" });
    const finds = (path: string) => until(async () => (await found()).includes(path));
    await mounted.mounts.watched();
    await finds("elm.txt");
    mounted.write(".kumikoignore", "# elm\n");
    renameSync(mounted.path("elm.txt"), mounted.path("e.txt"));
    await finds("e.txt");
    expect(await found()).toEqual(["e.txt"]);
    mounted.write(".gitignore", "");
    await finds(".kumikoignore");
    expect(await found()).toEqual([".kumikoignore", "e.txt"]);
  });

  it("is searched as it is, whatever happens to its files", { timeout: LONG }, async () => {
    await using mounted = await Mounted.with(
      { "a.txt": "elm\n", "b.txt": "fir\n" },
      { watch: true },
    );
    const finds = (query: string, ...expected: string[]) =>
      until(
        async () => JSON.stringify(await paths(mounted, { query })) === JSON.stringify(expected),
      );
    await mounted.mounts.indexed();
    expect(await paths(mounted, { query: "elm" })).toEqual(["a.txt"]);
    mounted.write("c/d.txt", "an elm\n");
    await finds("elm", "a.txt", "c/d.txt");
    renameSync(mounted.path("a.txt"), mounted.path("z.txt"));
    await finds("elm", "c/d.txt", "z.txt");
    mounted.write("z.txt", "no tree\n");
    await finds("elm", "c/d.txt");
    rmSync(mounted.path("c"), { recursive: true });
    await finds("elm");
    mounted.write(".gitignore", "b.txt\n");
    await finds("fir");
    await mounted.restart();
    expect(await paths(mounted, { query: "no tree" })).toEqual(["z.txt"]);
  });

  it("is searched once where a file was indexed before it was loaded", async () => {
    const files = { "kumiko.toml": MANUAL, "a.txt": "elm\n", "b.txt": "elm\n" };
    await using mounted = await Mounted.with(files, { watch: true });
    await mounted.mounts.indexed();
    await mounted.call("file_load", { path: "a.txt" });
    await mounted.call("block_replace", { block_id: "a.txt", old: "elm", new: "elm in memory" });
    expect(linesOf(await search(mounted, { query: "elm" }))).toEqual([
      "a.txt:0:elm in memory",
      "b.txt:0:elm",
    ]);
    // A purge is about blocks: nothing of them may stay in an index that knew their files before.
    expect(indexedPaths(mounted)).toEqual(["a.txt", "b.txt", "kumiko.toml"]);
    await new MountsPort(mounted.mounts).purge((text) => text);
    await mounted.mounts.indexed();
    expect(indexedPaths(mounted)).toEqual(["b.txt", "kumiko.toml"]);
  });

  it("finds what comes in the place of a file that went on with its block", async () => {
    await using mounted = await Mounted.with({ "a.txt": "elm\n" }, { watch: true });
    await mounted.mounts.indexed();
    await mounted.text("a.txt");
    renameSync(mounted.path("a.txt"), mounted.path("b.txt"));
    mounted.write("a.txt", "fir\n");
    const found = async () =>
      [
        ...(await paths(mounted, { query: "elm" })),
        ...(await paths(mounted, { query: "fir" })),
      ].join();
    await until(async () => (await found()) === "b.txt,a.txt");
    await mounted.restart();
    expect(await found()).toBe("b.txt,a.txt");
  });

  it("leaves the index at once, however large it is, and the others are found as before", async () => {
    using place = temporaryFolder();
    for (let at = 0; at < 1_100; at++) place.write(`${at}.txt`, `elm ${at}\n`);
    await using mounted = await Mounted.with({ "a.txt": "elm\n" }, { watch: true });
    await mounted.mounts.mount("large", { root: realpathSync(place.path) });
    await mounted.mounts.indexed();
    expect(indexedPaths(mounted)).toHaveLength(1_101);
    await mounted.mounts.unmount("large");
    expect(await paths(mounted, { query: "elm" })).toEqual(["a.txt"]);
    await mounted.mounts.indexed();
    expect(indexedPaths(mounted)).toEqual(["a.txt"]);
  });

  it("that is gone for a while is told of, and is found again", { timeout: LONG }, async () => {
    await using mounted = await Mounted.with({ "a.txt": "elm\n" }, { watch: true });
    await mounted.mounts.indexed();
    renameSync(mounted.folder, `${mounted.folder}-away`);
    const { blocks, unreadable } = await search(mounted, { query: "elm" });
    expect([blocks, unreadable.map(({ block_id }) => block_id)]).toEqual([[], ["@project"]]);
    renameSync(`${mounted.folder}-away`, mounted.folder);
    await until(async () => (await paths(mounted, { query: "elm" })).length === 1);
  });

  it("says how far its index is when there is too much to look through without", async () => {
    class Broken extends MemoryFileIndex {
      override async compare(): Promise<string[]> {
        throw new KumikoError("search_failed", "There is no room for an index.");
      }
    }
    using tree = temporaryFolder();
    for (let at = 0; at < 2_001; at++) tree.write(`${at}.txt`, at === 7 ? "elm\n" : "");
    const told: string[] = [];
    const index = new FolderIndex({
      root: realpathSync(tree.path),
      index: new Broken(readFiles),
      timers: realTimers,
      largest: 1000,
      isSecret: () => false,
      hasBlock: () => false,
      onTrouble: (error) => void told.push(error.message),
    });
    const list = await listOf(tree.path);
    index.start(() => list);
    await index.settled();
    const query = { query: "elm", literal: true, ignoreCase: false };
    const { known, unknown } = await index.candidates(query);
    expect([known.length, unknown.length]).toEqual([0, 2_001]);
    await index[Symbol.asyncDispose]();
    expect(told).toEqual(["There is no room for an index."]);
  });
});

describe("the index of a folder", () => {
  it("is left alone by edits of a file that has a block, and by none of a secret", async () => {
    const asked: unknown[] = [];
    class Told extends MemoryFileIndex {
      override async forget(folder: string, which: readonly string[] = []): Promise<void> {
        asked.push({ forget: which });
        await super.forget(folder, which);
      }
      override take(reading: FileReading): ReturnType<MemoryFileIndex["take"]> {
        asked.push({ take: reading.paths });
        return super.take(reading);
      }
    }
    using tree = temporaryFolder();
    tree.write("a.txt", "elm\n");
    const is = { block: false, secret: false };
    await using index = folderIndex(realpathSync(tree.path), new Told(readFiles), {
      hasBlock: () => is.block,
      isSecret: () => is.secret,
    });
    const list = await listOf(tree.path);
    index.start(() => list);
    const known = async (change: readonly string[], gone: readonly string[] = []) => {
      asked.length = 0;
      index.changed(change, gone);
      await index.settled();
      const query = { query: "elm", literal: true, ignoreCase: false };
      return (await index.candidates(query)).known;
    };
    expect(await known(["a.txt"])).toEqual(["a.txt"]);
    is.block = true;
    expect(await known(["a.txt"])).toEqual(["a.txt"]);
    expect(asked).toEqual([]);
    index.again();
    expect(await known([])).toEqual([]);
    is.block = false;
    expect(await known(["a.txt"])).toEqual(["a.txt"]);
    is.secret = true;
    expect(await known(["a.txt"])).toEqual([]);
    expect(asked).toEqual([{ forget: ["a.txt"] }]);
    is.secret = false;
    expect(await known(["a.txt"])).toEqual(["a.txt"]);
    is.block = true;
    expect(await known([], ["a.txt"])).toEqual([]);
    expect(asked).toEqual([{ forget: ["a.txt"] }]);
  });

  it("takes in what it passed over for its block when that went on without it", async () => {
    using tree = temporaryFolder();
    tree.write("a.txt", "elm\n");
    let block = true;
    await using index = folderIndex(realpathSync(tree.path), new MemoryFileIndex(readFiles), {
      hasBlock: () => block,
    });
    const list = await listOf(tree.path);
    index.start(() => list);
    const found = async () => {
      await index.settled();
      const query = { query: "elm", literal: true, ignoreCase: false };
      const { known, unknown } = await index.candidates(query);
      return { known, unknown };
    };
    // As when a block moves on in a later part of the epoch that tells of the new file.
    index.changed(["a.txt"], []);
    expect(await found()).toEqual({ known: [], unknown: [] });
    block = false;
    expect(await found()).toEqual({ known: [], unknown: ["a.txt"] });
    expect(await found()).toEqual({ known: ["a.txt"], unknown: [] });
  });

  const names = Array.from({ length: 12 }, (_, at) => `${at % 3}/f${at}.txt`);

  it(
    "never misses a file, and knows all of them when it is left alone",
    { timeout: LONG },
    async () => {
      for (let run = 0; run < scaled(20); run++) {
        const random = new Random(seed() + run);
        using tree = temporaryFolder();
        using place = temporaryFolder();
        const root = realpathSync(tree.path);
        await using files = openFiles(place.path);
        let list: Listed = [];
        await using index = folderIndex(root, files);
        index.start(() => list);
        for (let step = 0; step < 30; step++) {
          const came = new Set<string>();
          const gone = new Set<string>();
          for (let count = random.below(4); count >= 0; count--) {
            const path = random.pick(names);
            if (random.below(3) > 0) {
              tree.write(path, sentences(random, "\n"));
              came.add(path);
              gone.delete(path);
            } else {
              rmSync(join(root, path), { force: true });
              gone.add(path);
              came.delete(path);
            }
          }
          list = await listOf(root);
          index.changed([...came], [...gone]);
          if (random.below(4) === 0) index.again();
          if (random.below(3) === 0) await index.settled();
          const word = random.pick(WORDS);
          const query = { query: word, literal: true, ignoreCase: false };
          const { known, unknown } = await index.candidates(query);
          const given = new Set([...known, ...unknown]);
          const holding = Array.from(list, ([path]) => path).filter((path) =>
            readFileSync(join(root, path), "utf8").includes(word),
          );
          expect(holding.filter((path) => !given.has(path))).toEqual([]);
          if (step % 10 < 9) continue;
          await index.settled();
          const all = await index.candidates(query);
          expect(all.unknown).toEqual([]);
          expect(all.known.toSorted()).toEqual(holding.toSorted());
        }
      }
    },
  );

  it("reads nothing after a restart but what changed", async () => {
    using tree = temporaryFolder();
    using place = temporaryFolder();
    const root = realpathSync(tree.path);
    for (const name of names) tree.write(name, `the elm of ${name}\n`);
    tree.write("no.bin", "\0");
    const start = async (): Promise<string[]> => {
      await using files = openFiles(place.path);
      const taken: string[] = [];
      const counting: FileIndex = Object.assign(Object.create(files), {
        compare: files.compare.bind(files),
        candidates: files.candidates.bind(files),
        forget: files.forget.bind(files),
        take: async (reading: Parameters<FileIndex["take"]>[0]) => {
          const found = await files.take(reading);
          taken.push(...found.map(({ path }) => path));
          return found;
        },
      });
      await using index = folderIndex(root, counting);
      const list = await listOf(root);
      index.start(() => list);
      await index.settled();
      const query = { query: "elm", literal: true, ignoreCase: false };
      expect((await index.candidates(query)).known).toHaveLength(names.length);
      return taken.toSorted();
    };
    expect(await start()).toEqual([...names, "no.bin"].toSorted());
    expect(await start()).toEqual([]);
    tree.write(names[0]!, "another elm, longer than before\n");
    utimesSync(join(root, names[1]!), 1, 1);
    expect(await start()).toEqual([names[0]!, names[1]!].toSorted());
    expect(await start()).toEqual([]);
  });
});

async function listOf(root: string): Promise<Listed> {
  const list: Listed[] = [];
  for await (const entries of scan(root, { ignored: new Ignored(root) }))
    list.push(entries.filter(({ kind }) => kind === "file").map((entry) => [entry.path, entry]));
  return list.flatMap((page) => [...page]);
}

function openFiles(place: string): SqliteFileIndex {
  const file = join(place, "files.db");
  return new SqliteFileIndex({ file, timers: realTimers, reader: readerModule });
}

function folderIndex(
  root: string,
  index: FileIndex,
  left: Partial<Pick<FolderIndexOptions, "isSecret" | "hasBlock">> = {},
): FolderIndex {
  return new FolderIndex({
    root,
    index,
    timers: realTimers,
    largest: 1_000,
    isSecret: () => false,
    hasBlock: () => false,
    ...left,
    onTrouble: (error) => {
      throw error;
    },
  });
}

/** What the database says, whoever has it open. */
function indexedPaths({ home }: Mounted): string[] {
  const database = new BetterSqlite(join(home, "kernels", "project", "files.db"));
  try {
    // It may just be made anew.
    const made = database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'files'").get();
    if (made === undefined) return [];
    return database.prepare("SELECT path FROM files ORDER BY path").pluck().all() as string[];
  } finally {
    database.close();
  }
}

/** All that is kept of the kernel. */
function storedBytes({ home }: Mounted): Buffer {
  const folder = join(home, "kernels", "project");
  const files = readdirSync(folder, { withFileTypes: true }).filter((each) => each.isFile());
  return Buffer.concat(files.map(({ name }) => bytesOf(join(folder, name))));
}

/** A file that was deleted since it was listed holds nothing. */
function bytesOf(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return Buffer.alloc(0);
  }
}

function refusedAsText(error: unknown): void {
  if (!(error instanceof KumikoError) || error.code !== "file_unreadable") throw error;
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + 20_000;
  while (!(await isSo())) {
    if (Date.now() > end) throw new Error("it did not come to that");
    await passing(10);
  }
}
