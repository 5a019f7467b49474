/** Text that returns on disk just as it was: by git, or by the undo of an editor. */
import { describe, expect, test } from "vitest";
import { Random } from "../src/base/index.ts";
import { scaled, seed } from "./support/counts.ts";
import { Mounted } from "./support/mounted.ts";

const FIVE = "one\ntwo\nthree\nfour\nfive\n";
const claude = { actor: "claude", kind: "agent" } as const;
const ann = { actor: "ann", kind: "person" } as const;

async function repository(files: { [path: string]: string }): Promise<Mounted> {
  const mounted = await Mounted.with(files);
  git(mounted, "init", "-q");
  git(mounted, "add", ".");
  git(mounted, "commit", "-qm", "first");
  return mounted;
}

function git(mounted: Mounted, ...args: string[]): void {
  mounted.run("git", "-c", "user.name=a", "-c", "user.email=a@b.c", ...args);
}

async function replaced(mounted: Mounted, path: string, old: string, by: string): Promise<string> {
  const input = { block_id: path, old, new: by };
  return (await mounted.call<{ edit: string }>("block_replace", input, claude)).edit;
}

interface Run {
  readonly actor: string;
  readonly edit: string;
  readonly start_line: number;
  readonly end_line: number;
}

/** Who wrote which lines, in which Edit. */
async function blame(mounted: Mounted, path: string): Promise<Run[]> {
  const { runs } = await mounted.call<{ runs: Run[] }>("block_blame", { block_id: path });
  return runs.map(({ actor, edit, start_line, end_line }) => ({
    actor,
    edit,
    start_line,
    end_line,
  }));
}

async function authors(mounted: Mounted, path: string): Promise<string[]> {
  return [...new Set((await blame(mounted, path)).map(({ actor }) => actor))];
}

async function newestEdit(mounted: Mounted): Promise<string> {
  const { versions } = await mounted.call<{ versions: { edit: string }[] }>("block_history", {
    block_id: "a.txt",
  });
  return versions[0]!.edit;
}

describe("what git puts away and brings back", () => {
  test.each([1, 2])("keeps its authors, who can undo it, after %d Edits", async (edits) => {
    await using mounted = await repository({ "a.txt": FIVE });
    const first = await replaced(mounted, "a.txt", "two", "TWO");
    if (edits === 2) await replaced(mounted, "a.txt", "four", "FOUR");
    const written = mounted.read("a.txt");
    const by = await blame(mounted, "a.txt");
    for (let times = 0; times < 2; times += 1) {
      git(mounted, "stash", "-q");
      expect(await mounted.text("a.txt")).toBe(FIVE);
      expect(await authors(mounted, "a.txt")).toEqual(["disk"]);
      git(mounted, "stash", "pop", "-q");
      expect(await mounted.text("a.txt")).toBe(written);
      expect(await blame(mounted, "a.txt")).toEqual(by);
    }
    await mounted.call("block_undo", { edit: first }, claude);
    expect(mounted.read("a.txt")).toBe(edits === 2 ? FIVE.replace("four", "FOUR") : FIVE);
  });

  test("is brought back in all files that one Edit changed, or in none", async () => {
    await using mounted = await repository({ "a.txt": FIVE, "b.txt": FIVE });
    const hunk = "@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n";
    const patch = ["a.txt", "b.txt"]
      .map((path) => `--- a/${path}\n+++ b/${path}\n${hunk}`)
      .join("");
    await mounted.call("block_apply_patch", { patch }, claude);
    const [mount] = mounted.mounts.list();
    const taken = (...changed: string[]): Promise<void> =>
      mount!.source.takingIn.changed({ changed, gone: [], renamed: [] });
    const written = mounted.read("a.txt");
    for (let times = 0; times < 2; times += 1) {
      git(mounted, "stash", "-q");
      await taken("a.txt", "b.txt");
      expect(await mounted.text("b.txt")).toBe(FIVE);
      git(mounted, "stash", "pop", "-q");
      await taken("a.txt", "b.txt");
      for (const path of ["a.txt", "b.txt"]) {
        expect(await mounted.text(path)).toBe(written);
        expect(await authors(mounted, path)).toEqual(["disk", "claude"]);
      }
    }
    // Of the two only one is taken back: the Edit stands, and what is there is the disk's.
    mounted.write("a.txt", FIVE);
    await taken("a.txt");
    expect(await mounted.text("a.txt")).toBe(FIVE);
    expect(await mounted.text("b.txt")).toBe(written);
    expect(await authors(mounted, "b.txt")).toEqual(["disk", "claude"]);
  });
});

test("another branch and back leaves everything as it was, also where a file is not in both", async () => {
  await using mounted = await repository({ "a.txt": FIVE });
  git(mounted, "branch", "-q", "other");
  mounted.write("new.txt", "new\n");
  git(mounted, "add", ".");
  git(mounted, "commit", "-qm", "second");
  await mounted.text("new.txt");
  await replaced(mounted, "a.txt", "two", "TWO");
  await replaced(mounted, "a.txt", "four", "FOUR");
  git(mounted, "commit", "-qam", "third");
  const by = await blame(mounted, "a.txt");
  const [mount] = mounted.mounts.list();
  git(mounted, "checkout", "-q", "other");
  await mount!.source.takingIn.changed({ changed: ["a.txt"], gone: ["new.txt"], renamed: [] });
  expect(await mounted.text("a.txt")).toBe(FIVE);
  git(mounted, "checkout", "-q", "-");
  await mount!.source.takingIn.changed({ changed: ["a.txt", "new.txt"], gone: [], renamed: [] });
  expect(await mounted.text("new.txt")).toBe("new\n");
  expect(await blame(mounted, "a.txt")).toEqual(by);
});

describe("what somebody takes back in an editor, and brings back", () => {
  test("is the disk's Edit, which is undone when just that returns", async () => {
    await using mounted = await Mounted.with({ "a.txt": FIVE });
    await replaced(mounted, "a.txt", "two", "TWO");
    const written = mounted.read("a.txt");
    const by = await blame(mounted, "a.txt");
    mounted.write("a.txt", FIVE);
    expect(await mounted.text("a.txt")).toBe(FIVE);
    expect(await newestEdit(mounted)).not.toMatch(/-undoes-/);
    // People who want it back find it under that name.
    await mounted.call("block_undo", { actor: "disk" }, ann);
    expect(mounted.read("a.txt")).toBe(written);
    await mounted.call("block_redo", {}, ann);
    expect(mounted.read("a.txt")).toBe(FIVE);
    // What a person did last is not the disk's to undo.
    mounted.write("a.txt", written);
    expect(await mounted.text("a.txt")).toBe(written);
    expect(await authors(mounted, "a.txt")).toEqual(["disk"]);
    mounted.write("a.txt", FIVE);
    expect(await mounted.text("a.txt")).toBe(FIVE);
    expect(await newestEdit(mounted)).toMatch(/-undoes-/);
    await mounted.call("block_undo", { actor: "disk" }, ann);
    expect(mounted.read("a.txt")).toBe(written);
    expect(await blame(mounted, "a.txt")).toEqual(by);
  });

  test("is not undone where the block has something that is not on disk", async () => {
    await using mounted = await Mounted.with({
      "a.txt": FIVE,
      "kumiko.toml": '[mount]\nsave = "manual"\n',
    });
    await replaced(mounted, "a.txt", "two", "STAGED");
    const staged = await mounted.text("a.txt");
    mounted.write("a.txt", `${FIVE}six\n`);
    expect(await mounted.text("a.txt")).toBe(`${staged}six\n`);
    // Just what the block said before: but what the file said was never that.
    mounted.write("a.txt", staged);
    expect(await mounted.text("a.txt")).toBe(staged);
    expect(await newestEdit(mounted)).not.toMatch(/-undoes-/);
  });

  test("leaves alone what the same Edit changed before", async () => {
    const before = Array.from({ length: 10 }, (_, at) => `${at}\n`).join("");
    await using mounted = await Mounted.with({ "a.txt": before });
    await mounted.text("a.txt");
    const [mount] = mounted.mounts.list();
    const written = async (text: string, epoch: number): Promise<void> => {
      mounted.write("a.txt", text);
      const told = { epoch, changed: ["a.txt"], gone: [], renamed: [] };
      await mount!.source.takingIn.changed(told);
      expect(await mounted.text("a.txt")).toBe(text);
    };
    await written(before.replace("1", "ONE"), 7);
    await replaced(mounted, "a.txt", "9", "NINE");
    const kept = mounted.read("a.txt");
    await written(kept.replace("4", "FOUR"), 7);
    // Its second part is taken back: undoing the Edit would take the first one away, too.
    await written(kept, 8);
    expect(mounted.read("a.txt")).toBe(kept);
    expect(await newestEdit(mounted)).not.toMatch(/-undoes-/);
  });
});

test("whatever returns, block and file say the same, and undoing every Edit gives what was loaded", async () => {
  const random = new Random(seed());
  for (let round = 0; round < scaled(40); round += 1) {
    await using mounted = await Mounted.with({ "a.txt": FIVE });
    const texts = [FIVE];
    await mounted.text("a.txt");
    for (let step = 0; step < 8; step += 1) {
      const lines = mounted.read("a.txt").split("\n");
      const line = random.below(lines.length - 1);
      if (random.below(2) === 0) {
        const operation = { op: "replace", start_line: line, end_line: line + 1 };
        const operations = [{ ...operation, content: `claude ${round} ${step}` }];
        await mounted.call("block_edit", { block_id: "a.txt", operations });
      } else {
        lines[line] = `disk ${round} ${step}`;
        const isOld = random.below(3) > 0;
        mounted.write("a.txt", isOld ? texts[random.below(texts.length)]! : lines.join("\n"));
      }
      expect(await mounted.text("a.txt")).toBe(mounted.read("a.txt"));
      texts.push(mounted.read("a.txt"));
    }
    type Row = { edit: string; version: number };
    const { versions } = await mounted.call<{ versions: Row[] }>("block_history", {
      block_id: "a.txt",
      limit: 100,
    });
    for (const { edit, version } of versions) {
      if (version === 1 || /undoes|redoes/.test(edit)) continue;
      if (await mounted.kernel.isActive(edit)) await mounted.call("block_undo", { edit }, ann);
    }
    expect(mounted.read("a.txt")).toBe(FIVE);
  }
});
