import { execFileSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { compileGlob, Random } from "../src/base/index.ts";
import { Ignored } from "../src/files/ignored.ts";
import { Listing } from "../src/files/listing.ts";
import { scan } from "../src/files/scan.ts";
import { scaled, seed } from "./support/counts.ts";
import { Mounted } from "./support/mounted.ts";
import { asOrdinaryUser } from "./support/ordinary-user.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";
import { makeOutside, makeRoot } from "./support/ways-out.ts";

const NAMES = ["a", "a-b", "a.b", "a0", "b", "B", "é", "z z", "node_modules", "x.log"];
const PATTERNS = [undefined, "*.log", "/a", "a/**", "/a/b/*", "**/z z", "{a,b}/B", "b/"];

/** What a scan of everything finds, in the order of paths. */
async function scanned(root: string, ignored: Ignored, all: boolean): Promise<string[]> {
  const found: string[] = [];
  for await (const entries of scan(root, { ignored }))
    for (const { path, kind, ignored: left } of entries)
      if ((kind === "file" || kind === "link") && (all || !left)) found.push(path);
  return found.toSorted();
}

/** Makes every folder that was just changed as old as none was before. */
function age(root: string, seconds: number): void {
  const folders = readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name));
  for (const each of [root, ...folders])
    if (statSync(each).mtimeMs > 1e9) utimesSync(each, seconds, seconds);
}

test("pages are what a scan of everything finds, whatever changes between them", async () => {
  const random = new Random(seed());
  const clock = { now: () => Date.now() };
  let ages = 0;
  for (let run = 0; run < scaled(100); run++) {
    using folder = temporaryFolder();
    if (random.below(2) === 0) folder.write(".gitignore", "node_modules/\n*.log\n");
    const path = (): string =>
      Array.from({ length: 1 + random.below(3) }, () => random.pick(NAMES)).join("/");
    const write = (): void => {
      const file = join(folder.path, path());
      try {
        mkdirSync(dirname(file), { recursive: true });
        if (random.below(5) === 0) symlinkSync("nowhere", file);
        else writeFileSync(file, "x".repeat(random.below(9)));
      } catch {
        // A folder is there, or a file is on the way.
      }
    };
    for (let file = random.below(40); file > 0; file--) write();
    const ignored = new Ignored(folder.path);
    const listing = new Listing({ root: folder.path, ignored, clock });
    for (const pattern of PATTERNS) {
      // The names of a folder are remembered only when nothing can have come in the same moment.
      if (random.below(2) === 0) age(folder.path, ++ages);
      const glob = pattern === undefined ? undefined : compileGlob(pattern);
      const matching = (await scanned(folder.path, ignored, false)).filter(
        (each) => glob?.matches(each) !== false,
      );
      const pages: string[] = [];
      for (let after = ""; ;) {
        const limit = 1 + random.below(5);
        const { files, more } = await listing.page({ after, glob, ignored: false }, limit);
        expect(files.length).toBe(more ? limit : Math.min(files.length, limit));
        pages.push(...files.map((each) => each.path));
        if (!more) break;
        after = pages.at(-1)!;
      }
      expect(pages).toEqual(matching);
      for (let change = random.below(3); change > 0; change--) {
        write();
        rmSync(join(folder.path, path()), { recursive: true, force: true });
      }
    }
  }
});

test("a page goes on behind a path that is not there any more", async () => {
  await using mounted = await Mounted.with({ a: "", "b/c": "", "b/d": "", e: "" });
  const list = (after: string) =>
    mounted.call<{ files: { path: string }[]; after?: string }>("file_list", { after, limit: 2 });
  const first = await list("");
  expect(first).toMatchObject({ files: [{ path: "a" }, { path: "b/c" }], after: "b/c" });
  rmSync(mounted.path("b/c"));
  renameSync(mounted.path("a"), mounted.path("b/ca"));
  const { files, after } = await list(first.after!);
  expect([files.map(({ path }) => path), after]).toEqual([["b/ca", "b/d"], "b/d"]);
  expect((await list("b/d")).files.map(({ path }) => path)).toEqual(["e"]);
});

test("what is ignored is listed when it is asked for, with what is below it, but never git's own", async () => {
  await using mounted = await Mounted.with({
    ".gitignore": "out/\n",
    ".git/HEAD": "",
    "out/deep/made": "",
    kept: "",
  });
  const paths = async (input: object): Promise<string[]> =>
    (await mounted.call<{ files: { path: string }[] }>("file_list", input)).files.map(
      ({ path }) => path,
    );
  expect(await paths({})).toEqual([".gitignore", "kept"]);
  expect(await paths({ ignored: true })).toEqual([".gitignore", "kept", "out/deep/made"]);
});

/** Each path with how it is listed; none may keep the others from it. */
async function listed(mounted: Mounted): Promise<{ [path: string]: string }> {
  interface Listed {
    readonly path: string;
    readonly permission: string;
    readonly status: string;
  }
  const { files } = await mounted.call<{ files: Listed[] }>("file_list", {});
  return Object.fromEntries(
    files.map(({ path, permission, status }) => [path, `${permission} ${status}`]),
  );
}

test("every link is listed as what it leads to, wherever that is", async () => {
  using place = temporaryFolder();
  const root = join(makeOutside(place.path), "root");
  makeRoot(root);
  execFileSync("mkfifo", [join(root, "pipe")]);
  symlinkSync("pipe", join(root, "to-pipe"));
  symlinkSync("pipe/below", join(root, "below-pipe"));
  symlinkSync(".", join(root, "to-root"));
  writeFileSync(join(root, "zeros"), new Uint8Array(9));
  symlinkSync("zeros", join(root, "to-zeros"));
  await using mounted = await Mounted.with({}, { folder: root });
  const nowhere = "none unreadable";
  const text = "read_write not_loaded";
  expect(await listed(mounted)).toEqual({
    "absolute-in": text,
    "back-in": text,
    "below-pipe": nowhere,
    "chain-in": text,
    "chain-in-2": text,
    circle: nowhere,
    "circle-2": nowhere,
    "dangling-in": nowhere,
    inside: "none folder",
    "notes.txt": text,
    "out-absolute": nowhere,
    "out-chain": nowhere,
    "out-chain-2": nowhere,
    "out-chain-3": nowhere,
    "out-dangling": nowhere,
    "out-dangling-folder": nowhere,
    "out-file": nowhere,
    "out-folder": nowhere,
    "prefix-twin": nowhere,
    "proc-cwd": nowhere,
    "proc-root": nowhere,
    slash: nowhere,
    "sub/deep-out": nowhere,
    "sub/in.txt": text,
    "to-pipe": nowhere,
    "to-root": "none folder",
    "to-zeros": "read_write binary",
    up: nowhere,
    zeros: "read_write binary",
  });
  // What is listed as a folder is read as one, and what it leads to has a block as soon as the link is read.
  await expect(mounted.text("inside")).rejects.toMatchObject({
    code: "not_on_disk",
    message: "sub is a folder: give the path of a file in it.",
  });
  expect(await mounted.text("chain-in")).toBe("notes");
  expect(await listed(mounted)).toMatchObject({
    "chain-in": "read_write synced",
    "notes.txt": "read_write synced",
  });
});

test("what cannot be looked into is told, where the listing would have it", async () => {
  await asOrdinaryUser(async () => {
    const files = { "a.txt": "a\n", "closed/b.txt": "b\n", "named/c.txt": "c\n", "out/d": "d\n" };
    await using mounted = await Mounted.with({ ".gitignore": "out/\n", ...files });
    const listing = async (input: object) => {
      const answer = await mounted.call<{ files: { path: string }[]; unlisted?: object[] }>(
        "file_list",
        input,
      );
      return [answer.files.map(({ path }) => path), answer.unlisted];
    };
    // It remembers what is in them, which says nothing any more.
    await listing({});
    for (const [folder, mode] of [
      ["closed", 0o000],
      ["named", 0o444],
      ["out", 0o000],
    ] as const)
      chmodSync(mounted.path(folder), mode);
    try {
      const closed = { path: "closed", reason: "EACCES" };
      const named = { path: "named", reason: "EACCES" };
      expect(await listing({})).toEqual([
        [".gitignore", "a.txt"],
        [closed, named],
      ]);
      expect(await listing({ pattern: "*.css" })).toEqual([[], [closed]]);
      expect(await listing({ pattern: "/named" })).toEqual([[], [named]]);
      expect(await listing({ pattern: "/a.txt" })).toEqual([["a.txt"], undefined]);
      expect(await listing({ after: "d" })).toEqual([[], [named]]);
    } finally {
      for (const folder of ["closed", "named", "out"]) chmodSync(mounted.path(folder), 0o755);
    }
    expect((await listing({}))[1]).toBeUndefined();
  });
});

test("a link into a folder that cannot be entered is listed, with all others", async () => {
  await asOrdinaryUser(async () => {
    await using mounted = await Mounted.with({ "a.txt": "a\n", "closed/b.txt": "b\n" });
    symlinkSync("closed/b.txt", mounted.path("to-b"));
    chmodSync(mounted.path("closed"), 0o000);
    try {
      expect(await listed(mounted)).toEqual({
        "a.txt": "read_write not_loaded",
        "to-b": "none unreadable",
      });
    } finally {
      chmodSync(mounted.path("closed"), 0o755);
    }
  });
});
