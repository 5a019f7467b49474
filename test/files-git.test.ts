/** Git at work in a folder in which agents save. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as passing } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { Mounted } from "./support/mounted.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const start = Array.from({ length: 10 }, (_, at) => `line ${at}`);
const textOf = (lines: readonly string[]): string => `${lines.join("\n")}\n`;
const HERE = textOf(start);
const OTHER = textOf(start.with(2, "OTHER"));
const PATIENT = { timeout: 20_000 };
const SLOW = "a.txt filter=slow\n";

let mounted: Mounted;
afterEach(() => mounted[Symbol.asyncDispose]());

const BY = ["-c", "user.name=a", "-c", "user.email=a@b"];

function gitIn(cwd: string): (...args: string[]) => string {
  return (...args) => execFileSync("git", [...BY, ...args], { cwd, encoding: "utf8" });
}

function git(...args: string[]): string {
  return mounted.run("git", ...BY, ...args);
}

/** Two branches, of which the other one has another line in both files. */
async function repository(files: { [path: string]: string } = {}, below = "."): Promise<void> {
  const all = { "a.txt": HERE, "b.txt": HERE, "c.txt": "c", ".gitattributes": SLOW, ...files };
  mounted = await Mounted.with({}, { watch: true });
  mkdirSync(mounted.path(below), { recursive: true });
  const at = (path: string): string => `${below}/${path}`;
  for (const [path, content] of Object.entries(all)) mounted.write(at(path), content);
  git("-C", below, "init", "-q", "-b", "main");
  git("-C", below, "add", "-A");
  git("-C", below, "commit", "-qm", "one");
  git("-C", below, "checkout", "-qb", "other");
  for (const path of ["a.txt", "b.txt"]) mounted.write(at(path), OTHER);
  git("-C", below, "commit", "-qam", "two");
  git("-C", below, "checkout", "-q", "main");
  for (const path of ["a.txt", "b.txt"]) await mounted.text(at(path));
}

/** Git in the middle of what it does: its filter, `smudge` or `clean`, waits to be let go. */
async function begun(filter: string, command: string): Promise<{ goOn(): Promise<void> }> {
  const gate = temporaryFolder();
  const [waits, go] = [join(gate.path, "waits"), join(gate.path, "go")];
  const environment = {
    GIT_CONFIG_COUNT: "1",
    GIT_CONFIG_KEY_0: `filter.slow.${filter}`,
    GIT_CONFIG_VALUE_0: `touch ${waits}; until test -e ${go}; do sleep 0.01; done; cat`,
    GIT_AUTHOR_NAME: "a",
    GIT_AUTHOR_EMAIL: "a@b",
    GIT_COMMITTER_NAME: "a",
    GIT_COMMITTER_EMAIL: "a@b",
  };
  const env = { ...process.env, ...environment };
  const program = spawn("sh", ["-c", command], { cwd: mounted.folder, stdio: "ignore", env });
  const ended = once(program, "exit");
  while (!existsSync(waits)) {
    if (program.exitCode !== null) throw new Error(`${command} ended with ${program.exitCode}`);
    await passing(1);
  }
  return {
    async goOn() {
      gate.write("go", "");
      expect(await ended).toEqual([0, null]);
      gate[Symbol.dispose]();
    },
  };
}

async function replace(path: string, old: string, by: string): Promise<void> {
  await mounted.call("block_replace", { block_id: path, old: `${old}\n`, new: `${by}\n` });
}

/** What block and file say, when they say the same and nobody has to decide anything. */
async function said(path: string): Promise<string> {
  for (;;) {
    const text = await mounted.text(path);
    const { conflicts } = await mounted.call<{ conflicts: object[] }>("file_status", { path });
    if (conflicts.length > 0) throw new Error(JSON.stringify(conflicts));
    // What the watch takes in it saves afterwards.
    if (text === mounted.read(path)) return text;
    await passing(5);
  }
}

describe("what is saved after git looked and before it writes", () => {
  test("stays, also if the index is made anew before anybody can ask it", async () => {
    await repository();
    // A prompt asks for the status; what was touched is written into the index then.
    const command = "git checkout -q other && touch c.txt && git status";
    const program = await begun("smudge", command);
    await replace("b.txt", "line 8", "OURS");
    await program.goOn();
    expect(await said("b.txt")).toBe(textOf(start.with(2, "OTHER").with(8, "OURS")));
  });

  test("stays beside what `git stash pop` brings back", async () => {
    await repository();
    for (const path of ["a.txt", "b.txt"]) mounted.write(path, textOf(start.with(5, "STASHED")));
    expect(await mounted.text("b.txt")).toContain("STASHED");
    git("stash", "-q");
    expect(await said("b.txt")).toBe(HERE);
    const program = await begun("smudge", "git stash pop");
    await replace("b.txt", "line 8", "OURS");
    await program.goOn();
    expect(await said("b.txt")).toBe(textOf(start.with(5, "STASHED").with(8, "OURS")));
  });

  test("stays where `git stash` did not put it away", async () => {
    await repository();
    mounted.write("a.txt", `${HERE}more\n`);
    await mounted.text("a.txt");
    const program = await begun("clean", "git stash");
    await replace("b.txt", "line 8", "OURS");
    await program.goOn();
    expect(await said("a.txt")).toBe(HERE);
    expect(await said("b.txt")).toBe(textOf(start.with(8, "OURS")));
    expect(git("stash", "show", "--name-only", "stash@{0}")).toBe("a.txt\n");
  });
});

test("what git checks out in a repository within the folder stands, however shortly before something was saved", async () => {
  await repository({}, "within/deeper");
  const path = "within/deeper/b.txt";
  await replace(path, "line 8", "OURS");
  git("-C", "within/deeper", "commit", "-qam", "three");
  git("-C", "within/deeper", "checkout", "-q", "other");
  expect(await said(path)).toBe(OTHER);
});

test("what git checks out in a working tree stands, however shortly before something was saved", async () => {
  await repository({});
  git("worktree", "add", "-q", "within/tree", "-b", "third");
  const path = "within/tree/b.txt";
  await mounted.text(path);
  await replace(path, "line 8", "OURS");
  git("-C", "within/tree", "commit", "-qam", "three");
  git("-C", "within/tree", "checkout", "-q", "--detach", "other");
  expect(await said(path)).toBe(OTHER);
});

test("what a program made of an older text is merged, also if it is added to git's index at once", async () => {
  await repository();
  await replace("b.txt", "line 8", "OURS");
  mounted.write("b.txt", textOf(start.with(5, "THEIRS")));
  git("add", "b.txt");
  expect(await said("b.txt")).toBe(textOf(start.with(5, "THEIRS").with(8, "OURS")));
});

test.each(["above the folder", "elsewhere"])(
  "what git checks out is one Edit, also where it keeps its index %s",
  async (place) => {
    using outside = temporaryFolder();
    const top = join(outside.path, "repository");
    const atTop = gitIn(top);
    for (const path of ["a.txt", "b.txt"]) outside.write(`repository/below/${path}`, HERE);
    outside.write("repository/.gitattributes", "b.txt filter=slow\n");
    atTop("init", "-q", "-b", "main");
    atTop("add", "-A");
    atTop("commit", "-qm", "one");
    const tree = place === "elsewhere" ? join(outside.path, "tree") : top;
    if (tree !== top) atTop("worktree", "add", "-q", tree, "-b", "third");
    mounted = await Mounted.with({}, { watch: true, folder: join(tree, "below") });
    const inTree = gitIn(tree);
    inTree("checkout", "-q", "-b", "other");
    for (const path of ["a.txt", "b.txt"]) await replace(path, "line 2", "OURS");
    const before = await authors();
    inTree("commit", "-qam", "two");
    for (const branch of ["main", "other"]) {
      const program = await begun("smudge", `git checkout -q --detach ${branch}`);
      // Longer than a file takes to come to rest.
      const written = statSync(mounted.path("a.txt")).mtimeMs;
      while (Date.now() < written + 300) await passing(20);
      await program.goOn();
      // Who asks for one of them by a tool has that one taken in at once.
      const wanted = branch === "other" ? textOf(start.with(2, "OURS")) : HERE;
      for (const path of ["a.txt", "b.txt"])
        await expect.poll(() => told(path), PATIENT).toBe(wanted);
      const [ofA, ofB] = await Promise.all(["a.txt", "b.txt"].map(newestEdit));
      expect(ofA).toBe(ofB);
    }
    expect(await authors()).toEqual(before);
  },
);

/** What a block says, without a look at its file. */
async function told(path: string): Promise<string> {
  const [mount] = mounted.mounts.list();
  return (await mounted.kernel.read(mount!.source.files.at(path)!.block)).text;
}

async function newestEdit(path: string): Promise<string> {
  const { versions } = await mounted.call<{ versions: { edit: string }[] }>("block_history", {
    block_id: path,
  });
  return versions[0]!.edit;
}

/** Of both files, who wrote which lines. */
async function authors(): Promise<unknown> {
  const runs: unknown[] = [];
  for (const block_id of ["a.txt", "b.txt"])
    runs.push((await mounted.call("block_blame", { block_id }))["runs"]);
  return runs;
}
