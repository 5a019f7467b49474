import { linkSync, lstatSync, readlinkSync, symlinkSync } from "node:fs";
import { setTimeout as passing } from "node:timers/promises";
import { expect, test } from "vitest";
import { Mounted } from "./support/mounted.ts";
import { refusalOf } from "./support/refusal.ts";
import { hasVim } from "./support/programs.ts";
import { shell } from "./support/writers.ts";

const PATIENCE = 10_000;
const START = "one\ntwo\nthree\nfour\nfive\n";

/** A file and a link that leads to it, both read by somebody. */
async function linked(): Promise<Mounted> {
  const mounted = await Mounted.with({ "real/a.txt": START }, { watch: true });
  symlinkSync("real/a.txt", mounted.path("link.txt"));
  expect(await mounted.text("link.txt")).toBe(START);
  expect(await mounted.text("real/a.txt")).toBe(START);
  return mounted;
}

async function blockOf(mounted: Mounted, path: string): Promise<unknown> {
  return (await mounted.call("file_load", { path }))["block_id"];
}

async function replace(mounted: Mounted, path: string, old: string, by: string): Promise<void> {
  await mounted.call("block_replace", { block_id: path, old, new: by });
}

/** What a block says without anybody asking for its file: the watch has to tell it. */
async function until(mounted: Mounted, path: string, text: string): Promise<void> {
  const end = Date.now() + PATIENCE;
  for (;;) {
    const file = mounted.mounts.first().source.files.at(path);
    const now = file === undefined ? undefined : (await mounted.kernel.read(file.block)).text;
    if (now === text) return;
    if (Date.now() > end) expect(now).toBe(text);
    await passing(10);
  }
}

const vim = "vim -u NONE -es -c '%s/two/TWO/' -c wq link.txt";

test.each([
  ["a rename", "sed s/two/TWO/ link.txt > link.txt.new; mv link.txt.new link.txt"],
  ["sed -i", "sed -i s/two/TWO/ link.txt"],
  ["a deletion and a new file", 't=$(sed s/two/TWO/ link.txt); rm link.txt; echo "$t" > link.txt'],
])(
  "a link that is saved over by %s is a file of its own, and what it led to stays as it was",
  async (_, save) => {
    await using mounted = await linked();
    await replace(mounted, "link.txt", "four", "FOUR");
    const target = await blockOf(mounted, "real/a.txt");
    const before = START.replace("four", "FOUR");
    await shell(mounted.folder, save);
    const after = before.replace("two", "TWO");
    expect(await mounted.text("link.txt")).toBe(after);
    expect(await mounted.text("real/a.txt")).toBe(before);
    expect(await blockOf(mounted, "real/a.txt")).toBe(target);
    expect(await blockOf(mounted, "link.txt")).not.toBe(target);
    expect(lstatSync(mounted.path("link.txt")).isFile()).toBe(true);
    // From now on each goes its own way, whoever changes it.
    await replace(mounted, "link.txt", "one", "ONE of the link");
    await replace(mounted, "real/a.txt", "one", "ONE of the target");
    expect(mounted.read("link.txt")).toBe(after.replace("one", "ONE of the link"));
    expect(mounted.read("real/a.txt")).toBe(before.replace("one", "ONE of the target"));
    await shell(mounted.folder, "echo six >> link.txt; echo 6 >> real/a.txt");
    await until(mounted, "link.txt", `${after.replace("one", "ONE of the link")}six\n`);
    await until(mounted, "real/a.txt", `${before.replace("one", "ONE of the target")}6\n`);
    expect(mounted.mounts.conflicts.list()).toEqual([]);
  },
);

test("a link that is saved over with an older text takes nothing from what it led to", async () => {
  await using mounted = await linked();
  await shell(mounted.folder, "sed s/two/TWO/ link.txt > link.txt.new");
  await replace(mounted, "link.txt", "four", "FOUR");
  await shell(mounted.folder, "mv link.txt.new link.txt");
  // What it read was the other file's: here that is news.
  await replace(mounted, "link.txt", "five", "FIVE");
  const own = START.replace("two", "TWO").replace("five", "FIVE");
  expect([await mounted.text("link.txt"), mounted.read("link.txt")]).toEqual([own, own]);
  const led = START.replace("four", "FOUR");
  expect([await mounted.text("real/a.txt"), mounted.read("real/a.txt")]).toEqual([led, led]);
  expect(mounted.mounts.conflicts.list()).toEqual([]);
});

test("a file that becomes a link again leaves its text in its block", async () => {
  await using mounted = await linked();
  await shell(mounted.folder, "sed -i s/two/TWO/ link.txt");
  expect(await mounted.text("link.txt")).toBe(START.replace("two", "TWO"));
  const block = String(await blockOf(mounted, "link.txt"));
  await shell(mounted.folder, "ln -sf real/a.txt link.txt");
  expect(await mounted.text("link.txt")).toBe(START);
  await replace(mounted, "link.txt", "four", "FOUR");
  expect(mounted.read("real/a.txt")).toBe(START.replace("four", "FOUR"));
  expect(readlinkSync(mounted.path("link.txt"))).toBe("real/a.txt");
  expect((await mounted.kernel.read(block)).text).toBe(START.replace("two", "TWO"));
});

const through: readonly (readonly [string, string])[] = [
  ["in place", 't=$(sed s/two/TWO/ link.txt); printf "%s\\n" "$t" > link.txt'],
  ["by sed that follows it", "sed -i --follow-symlinks s/two/TWO/ link.txt"],
  ["by a rename of what it leads to", "sed s/two/TWO/ link.txt > new; mv new $(readlink link.txt)"],
  ["by vim", vim],
];

for (const [name, save] of through) {
  test.skipIf(name === "by vim" && !hasVim)(
    `a link that is written through ${name} stays a link`,
    async () => {
      await using mounted = await linked();
      const target = await blockOf(mounted, "real/a.txt");
      await shell(mounted.folder, save);
      const after = START.replace("two", "TWO");
      await until(mounted, "real/a.txt", after);
      expect(await mounted.text("link.txt")).toBe(after);
      expect(await blockOf(mounted, "link.txt")).toBe(target);
      await replace(mounted, "link.txt", "four", "FOUR");
      expect(readlinkSync(mounted.path("link.txt"))).toBe("real/a.txt");
      expect(lstatSync(mounted.path("real/a.txt")).isFile()).toBe(true);
      expect(mounted.read("real/a.txt")).toBe(after.replace("four", "FOUR"));
    },
  );
}

test("rules are by path: a link to a secret is secret, another name of the same file is what its rule says", async () => {
  await using mounted = await Mounted.with({ ".env": "TOKEN=1\n" });
  symlinkSync(".env", mounted.path("link.txt"));
  linkSync(mounted.path(".env"), mounted.path("name.txt"));
  for (const path of [".env", "link.txt"])
    await expect(mounted.text(path)).rejects.toMatchObject({ code: "denied" });
  // The limit that the threat model states.
  expect(await mounted.text("name.txt")).toBe("TOKEN=1\n");
});

test("a link is neither deleted nor moved, nor what it leads to in its place", async () => {
  const OPEN = '[[rule]]\npath = "**"\nlevel = "admin"\n';
  await using mounted = await Mounted.with({ "real/a.txt": "one\n", "kumiko.toml": OPEN });
  symlinkSync("real/a.txt", mounted.path("link.txt"));
  symlinkSync("real", mounted.path("folder"));
  const removal = "@@ -1 +0,0 @@\n-one\n";
  const deleting = `--- a/link.txt\n+++ /dev/null\n${removal}`;
  const named = `--- a/x\n+++ /dev/null\n${removal}`;
  const moving =
    "diff --git a/link.txt b/b.txt\nsimilarity index 100%\nrename from link.txt\nrename to b.txt\n";
  const ways: readonly (readonly [string, object])[] = [
    ["file_delete", { path: "link.txt" }],
    ["file_delete", { path: mounted.path("link.txt") }],
    ["file_delete", { path: "@project/link.txt" }],
    ["file_move", { path: "link.txt", to: "b.txt" }],
    ["block_apply_patch", { patch: deleting }],
    ["block_apply_patch", { patch: named, blocks: { x: "link.txt" } }],
    ["block_apply_patch", { patch: named, block_id: "link.txt" }],
    ["block_apply_patch", { patch: moving }],
    ["block_apply_patch", { patch: moving, dry_run: true }],
  ];
  for (const [tool, input] of ways) {
    const { code, message, facts } = await refusalOf(mounted.call(tool, input));
    expect({ tool, code, facts }).toEqual({
      tool,
      code: "invalid_argument",
      facts: { path: "link.txt", target: "real/a.txt" },
    });
    expect(message).toContain("link.txt is a link to real/a.txt");
  }
  expect(mounted.read("link.txt")).toBe("one\n");
  // The file itself goes, also by the name of a folder that is a link.
  await mounted.call("file_move", { path: "folder/a.txt", to: "real/b.txt" });
  await mounted.call("file_delete", { path: "folder/b.txt" });
  await mounted.call("block_undo", {});
  expect(mounted.read("real/b.txt")).toBe("one\n");
});
