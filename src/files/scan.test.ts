import { execFileSync } from "node:child_process";
import { lstatSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../test/support/temporary-folder.ts";
import { Ignored } from "./ignored.ts";
import { type Entry, scan, type ScanOptions, type Unseen } from "./scan.ts";

async function all(root: string, options: Partial<ScanOptions> = {}): Promise<Entry[]> {
  const entries: Entry[] = [];
  for await (const some of scan(root, { ignored: new Ignored(root), ...options })) {
    entries.push(...some);
  }
  return entries;
}

test("a scan gives what is there as the system says it is", async () => {
  using folder = temporaryFolder();
  for (let i = 0; i < 2500; i++) folder.write(`d${i % 7}/e${i % 30}/f${i}`, "x".repeat(i % 50));
  const progress: number[] = [];
  const entries = await all(folder.path, { onProgress: (count) => progress.push(count) });
  const there = readdirSync(folder.path, { recursive: true }) as string[];
  expect(entries.map(({ path }) => path).toSorted()).toEqual(there.toSorted());
  const wrong = entries.filter(({ path, kind, size, inode, nanoseconds, mode }) => {
    const stats = lstatSync(join(folder.path, path), { bigint: true });
    const isKind = kind === (stats.isDirectory() ? "folder" : "file");
    const isSize = BigInt(size) === stats.size && BigInt(mode) === stats.mode;
    return !isKind || !isSize || inode !== stats.ino || nanoseconds !== stats.mtimeNs;
  });
  expect(wrong).toEqual([]);
  expect(progress).toEqual([1000, 2000, entries.length]);
});

test("links are listed and never followed, out of the folder or in a circle", async () => {
  using outside = temporaryFolder();
  outside.write("secret", "");
  using folder = temporaryFolder();
  folder.write("d/file", "");
  symlinkSync(outside.path, join(folder.path, "out"));
  symlinkSync("..", join(folder.path, "d", "circle"));
  symlinkSync("nowhere", join(folder.path, "dangling"));
  execFileSync("mkfifo", [join(folder.path, "pipe")]);
  const kinds = Object.fromEntries((await all(folder.path)).map(({ path, kind }) => [path, kind]));
  expect(kinds).toEqual({
    d: "folder",
    "d/file": "file",
    "d/circle": "link",
    dangling: "link",
    out: "link",
    pipe: "other",
  });
});

test("an ignored folder is one entry; nothing in it is looked at", async () => {
  using folder = temporaryFolder();
  folder.write(".gitignore", "node_modules\n*.log\n");
  folder.write("a/node_modules/m/index.js", "");
  folder.write("a/b.log", "");
  folder.write(".git/HEAD", "");
  const entries = await all(folder.path);
  expect(Object.fromEntries(entries.map(({ path, ignored }) => [path, ignored]))).toEqual({
    ".git": true,
    ".gitignore": false,
    a: false,
    "a/b.log": true,
    "a/node_modules": true,
  });
});

test("a name that is not UTF-8 is reported and left out; one that holds U+FFFD is a name", async () => {
  using folder = temporaryFolder();
  writeFileSync(Buffer.concat([Buffer.from(`${folder.path}/bad-`), Buffer.from([0xff])]), "");
  folder.write("good-\uFFFD", "");
  folder.write("line\nend", "");
  const unseen: Unseen[] = [];
  const entries = await all(folder.path, { onUnseen: (one) => unseen.push(one) });
  expect(entries.map(({ path }) => path).toSorted()).toEqual(["good-\uFFFD", "line\nend"]);
  expect(unseen).toEqual([
    { path: "bad-\uFFFD", why: "bad_name", reason: "not valid UTF-8: 6261642dff" },
  ]);
});

test("what the system refuses to show is reported, and everything else is given", async () => {
  using folder = temporaryFolder();
  folder.write("open/file", "");
  const name = "d".repeat(200);
  const line = `for i in $(seq 25); do mkdir ${name}; cd -P ${name}; done`;
  execFileSync("bash", ["-ec", line], { cwd: folder.path });
  const unseen: Unseen[] = [];
  const entries = await all(folder.path, { onUnseen: (one) => unseen.push(one) });
  // Node cannot remove what it cannot name.
  execFileSync("rm", ["-r", name], { cwd: folder.path });
  expect(entries.map(({ path }) => path)).toContain("open/file");
  expect(unseen.map(({ why, reason }) => [why, reason])).toEqual([["unreadable", "ENAMETOOLONG"]]);
});

test("a scan that is called off ends; a root that is not there is refused", async () => {
  using folder = temporaryFolder();
  for (let i = 0; i < 2000; i++) folder.write(`f${i}`, "");
  const stop = new AbortController();
  const seen = all(folder.path, { signal: stop.signal, onProgress: () => stop.abort() });
  await expect(seen).rejects.toMatchObject({ code: "aborted" });
  const nothing = all(join(folder.path, "nothing"));
  await expect(nothing).rejects.toMatchObject({ code: "file_unreadable" });
});
