import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, renameSync, rmSync, statSync, utimesSync } from "node:fs";
import { setTimeout as passing } from "node:timers/promises";
import { expect, test } from "vitest";
import { Random } from "../src/base/index.ts";
import { scaled, seed } from "./support/counts.ts";
import { type Answer, Mounted } from "./support/mounted.ts";

const LINES = 10;
const start = Array.from({ length: LINES }, (_, at) => `line ${at}`);
const textOf = (lines: readonly string[]): string => `${lines.join("\n")}\n`;

async function replace(mounted: Mounted, old: string, by: string): Promise<void> {
  await mounted.call("block_replace", { block_id: "a.txt", old: `${old}\n`, new: `${by}\n` });
}

async function conflicts(mounted: Mounted): Promise<Answer[]> {
  const answer = await mounted.call<{ conflicts: Answer[] }>("file_status", { path: "a.txt" });
  return answer.conflicts;
}

test("a program that read the file before a save and writes it behind it takes nothing back", async () => {
  const random = new Random(seed());
  await using mounted = await Mounted.with({ "a.txt": textOf(start) });
  let now = start;
  for (let round = 0; round < scaled(40); round++) {
    // What is on disk now may be read by a program that writes later.
    const read = now;
    const touched = new Set<number>();
    for (let save = 0; save <= random.below(3); save++) {
      const at = random.below(LINES);
      touched.add(at);
      await replace(mounted, now[at]!, `ours ${round}.${save}`);
      now = now.with(at, `ours ${round}.${save}`);
      expect(mounted.read("a.txt")).toBe(textOf(now));
    }
    const free = start
      .keys()
      .filter((at) => !touched.has(at))
      .toArray();
    const at = free[random.below(free.length)]!;
    mounted.write("a.txt", textOf(read.with(at, `theirs ${round}`)));
    now = now.with(at, `theirs ${round}`);
    expect(await mounted.text("a.txt")).toBe(textOf(now));
    expect(mounted.read("a.txt")).toBe(textOf(now));
  }
  expect(await conflicts(mounted)).toEqual([]);
});

test("a program takes nothing back that many saves did since it read the file", async () => {
  await using mounted = await Mounted.with({ "a.txt": textOf(start) });
  let now = start;
  for (let save = 0; save < 40; save++) {
    const at = save % (LINES - 1);
    await replace(mounted, now[at]!, `ours ${save}`);
    now = now.with(at, `ours ${save}`);
  }
  mounted.write("a.txt", textOf(start.with(LINES - 1, "theirs")));
  const wanted = textOf(now.with(LINES - 1, "theirs"));
  expect(await mounted.text("a.txt")).toBe(wanted);
  expect(mounted.read("a.txt")).toBe(wanted);
  expect(await conflicts(mounted)).toEqual([]);
});

test("a text that is in git and put back without it stands", async () => {
  await using mounted = await Mounted.with({ "a.txt": textOf(start) });
  for (const args of [
    ["init", "-q"],
    ["add", "-A"],
  ])
    mounted.run("git", ...args);
  await replace(mounted, "line 2", "ours 2");
  const saved = statSync(mounted.path("a.txt")).ctimeMs;
  while (Date.now() < saved + 1_600) await passing(50);
  mounted.write("a.txt", textOf(start));
  expect(await mounted.text("a.txt")).toBe(textOf(start));
  expect(mounted.read("a.txt")).toBe(textOf(start));
});

test("the same line is in conflict, and tells whose it was", async () => {
  await using mounted = await Mounted.with({ "a.txt": textOf(start) });
  await replace(mounted, "line 2", "ours 2");
  await replace(mounted, "line 7", "ours 7");
  mounted.write("a.txt", textOf(start.with(7, "theirs")));
  expect(await mounted.text("a.txt")).toBe(textOf(start.with(2, "ours 2").with(7, "theirs")));
  expect(await conflicts(mounted)).toMatchObject([{ theirs: "disk", mine: ["claude"] }]);
});

test("an older text that is put back stands, and so does one that comes much later", async () => {
  await using mounted = await Mounted.with({ "a.txt": textOf(start) });
  await replace(mounted, "line 2", "ours 2");
  mounted.write("a.txt", textOf(start));
  expect(await mounted.text("a.txt")).toBe(textOf(start));
  await replace(mounted, "line 3", "ours 3");
  const later = start.with(7, "theirs");
  mounted.write("a.txt", textOf(later));
  const time = Date.now() / 1000 + 60;
  utimesSync(mounted.path("a.txt"), time, time);
  expect(await mounted.text("a.txt")).toBe(textOf(later));
});

test("an older file that is put in the place of one that was saved stands as it is", async () => {
  const older = "line of another\n7\n8\n9\n";
  await using mounted = await Mounted.with({ "a.txt": textOf(start), "older.txt": older });
  await replace(mounted, "line 0", "ours\nline 0");
  // Only the system sets the time at which a file is moved.
  const saved = statSync(mounted.path("a.txt")).ctimeMs;
  while (Date.now() < saved + 1_600) await passing(100);
  renameSync(mounted.path("older.txt"), mounted.path("a.txt"));
  expect(await mounted.text("a.txt")).toBe(older);
  expect(mounted.read("a.txt")).toBe(older);
  expect(await conflicts(mounted)).toEqual([]);
});

test("what one program wrote another may take out again, together with anything else", async () => {
  await using mounted = await Mounted.with({ "a.txt": textOf(start) }, { watch: true });
  await mounted.text("a.txt");
  mounted.run("sed", "-i", "6a debug A\\ndebug B", "a.txt");
  const read = await mounted.text("a.txt");
  expect(read).toContain("debug B");
  mounted.run("sed", "-i", "-e", "/debug/d", "-e", "s/^line 2$/mine/", "a.txt");
  const wanted = textOf(start.with(2, "mine"));
  expect(await mounted.text("a.txt")).toBe(wanted);
  expect(mounted.read("a.txt")).toBe(wanted);
});

test("what a program took out and another puts back stays, with what it changes as well", async () => {
  await using mounted = await Mounted.with({ "a.txt": textOf(start) });
  await mounted.text("a.txt");
  mounted.write("a.txt", textOf(["hello", ...start]));
  await replace(mounted, "line 4", "ours");
  mounted.write("a.txt", textOf(start));
  expect(await mounted.text("a.txt")).toBe(textOf(start));
  const wanted = textOf(["hello", ...start.with(8, "theirs")]);
  mounted.write("a.txt", wanted);
  expect(await mounted.text("a.txt")).toBe(wanted);
  expect(mounted.read("a.txt")).toBe(wanted);
});

test("who announced a change has seen what was there: all of it stands", async () => {
  await using mounted = await Mounted.with({ "a.txt": textOf(start) });
  await replace(mounted, "line 5", "line 5\nours");
  const wanted = textOf(start.with(2, "theirs"));
  const by = { actor: "codex", kind: "agent" } as const;
  await mounted.call("file_changed", { path: "a.txt", begins: true, content: wanted }, by);
  mounted.write("a.txt", wanted);
  expect(await mounted.text("a.txt")).toBe(wanted);
  expect(mounted.read("a.txt")).toBe(wanted);
});

test("what git checks out stands, however shortly before something was saved", async () => {
  await using mounted = await Mounted.with({ "a.txt": textOf(start) }, { watch: true });
  const git = (...args: string[]): string =>
    mounted.run("git", "-c", "user.name=a", "-c", "user.email=a@b", ...args);
  git("init", "-q", "-b", "main");
  git("add", "-A");
  git("commit", "-qm", "one");
  git("checkout", "-qb", "other");
  mounted.write("a.txt", textOf(start.with(2, "on the other")));
  git("commit", "-qam", "two");
  git("checkout", "-q", "main");
  await mounted.text("a.txt");
  for (let round = 0; round < scaled(50); round++) {
    const before = mounted.read("a.txt");
    await replace(mounted, before.split("\n")[8]!, `ours ${round}`);
    git("commit", "-qam", `round ${round}`);
    git("checkout", "-q", "other");
    expect(await mounted.text("a.txt")).toBe(textOf(start.with(2, "on the other")));
    expect(git("status", "--short", "-uno")).toBe("");
    git("checkout", "-q", "main");
    expect(await mounted.text("a.txt")).toBe(textOf(start.with(8, `ours ${round}`)));
    expect(git("status", "--short", "-uno")).toBe("");
  }
  await replace(mounted, "line 4", "not committed");
  git("stash", "-q");
  const committed = mounted.read("a.txt");
  expect(committed).not.toContain("not committed");
  expect(await mounted.text("a.txt")).toBe(committed);
  expect(mounted.read("a.txt")).toBe(committed);
});

test("git takes nothing of what is saved while it works, and nobody takes what it writes for gone", async () => {
  const files = { "a.txt": textOf(start), "b.txt": textOf(start) };
  await using mounted = await Mounted.with(
    { ...files, ".gitattributes": "*.txt filter=slow\n" },
    { watch: true },
  );
  const git = (...args: string[]): string =>
    mounted.run("git", "-c", "user.name=a", "-c", "user.email=a@b", ...args);
  git("init", "-q", "-b", "main");
  git("add", "-A");
  git("commit", "-qm", "one");
  git("checkout", "-qb", "other");
  for (const path of Object.keys(files)) mounted.write(path, textOf(start.with(2, "OTHER")));
  git("commit", "-qam", "two");
  git("checkout", "-q", "main");
  for (const path of Object.keys(files)) await mounted.text(path);
  // It looks at all files, then takes each away, and is long in writing it.
  const slow = ["-c", "filter.slow.smudge=sleep 0.6; cat", "checkout", "-q", "other"];
  const program = spawn("git", slow, { cwd: mounted.folder, stdio: "ignore" });
  const ended = once(program, "exit");
  while (existsSync(mounted.path("a.txt"))) await passing(1);
  const reading = mounted.text("a.txt");
  await mounted.call("block_replace", { block_id: "b.txt", old: "line 8\n", new: "OURS 8\n" });
  expect(existsSync(mounted.path("a.txt"))).toBe(false);
  expect(await ended).toEqual([0, null]);
  expect(await reading).toBe(textOf(start.with(2, "OTHER")));
  const wanted = textOf(start.with(2, "OTHER").with(8, "OURS 8"));
  expect(await mounted.text("b.txt")).toBe(wanted);
  // What the watch took in first it saves afterwards.
  await expect.poll(() => mounted.read("b.txt"), { timeout: 20_000 }).toBe(wanted);
  expect(await conflicts(mounted)).toEqual([]);
});

// Seen beside checkouts on a busy machine: what had been saved was gone, since only the last write's time was asked for.
test.for(["a program", "git"])(
  "a program takes nothing back although %s writes on top of it before anything of that is taken in",
  { timeout: 20_000 },
  async (who) => {
    await using mounted = await Mounted.with({ "a.txt": textOf(start) }, { watch: true });
    mounted.run("git", "init", "-q");
    await mounted.mounts.watched();
    await replace(mounted, "line 2", "ours 2");
    const saved = statSync(mounted.path("a.txt")).ctimeMs;
    const lock = mounted.path(".git/index.lock");
    // Nothing is taken in as long as git is at work.
    mounted.write(".git/index.lock", "");
    mounted.write("a.txt", textOf(start.with(5, "theirs")));
    const file = mounted.mounts.first().source.files.at("a.txt")!;
    while (file.writtenSince === undefined) await passing(10);
    while (Date.now() < saved + 1_600) await passing(10);
    const onTop = textOf(start.with(5, "theirs").with(8, "others"));
    if (who === "git") {
      mounted.write("b.txt", onTop);
      rmSync(lock);
      mounted.run("git", "add", "b.txt");
      mounted.write(".git/index.lock", "");
    }
    mounted.write("a.txt", onTop);
    renameSync(lock, mounted.path(who === "git" ? ".git/index" : ".git/other"));
    const wanted = textOf(start.with(2, "ours 2").with(5, "theirs").with(8, "others"));
    expect(await mounted.text("a.txt")).toBe(wanted);
    expect(mounted.read("a.txt")).toBe(wanted);
    expect(await conflicts(mounted)).toEqual([]);
  },
);
