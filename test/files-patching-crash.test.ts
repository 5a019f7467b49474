import { spawn } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type Answer, Mounted } from "./support/mounted.ts";
import { root } from "./support/process.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const LONG = 15 * 60_000;
const ann = { actor: "ann", kind: "person" } as const;
const BEFORE = { "a.txt": "one\ntwo\n", "old.txt": "bye\n", "c.txt": "alpha\nbeta\n" };
const AFTER = { "a.txt": "one\nTWO\n", "deep/d.txt": "alpha\nBETA\n", "new.txt": "new\n" };
const PATCH =
  "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+new\n" +
  "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n" +
  "diff --git a/c.txt b/deep/d.txt\nrename from c.txt\nrename to deep/d.txt\n" +
  "--- a/c.txt\n+++ b/deep/d.txt\n@@ -1,2 +1,2 @@\n alpha\n-beta\n+BETA\n" +
  "--- a/old.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-bye\n";

function disk(mounted: Mounted): { [path: string]: string } {
  const paths = new Set([...Object.keys(BEFORE), ...Object.keys(AFTER)]);
  const there = [...paths].filter((path) => existsSync(mounted.path(path)));
  return Object.fromEntries(there.map((path) => [path, mounted.read(path)]));
}

/** Whether the patch was carried out: the process did not come so far as to die. */
async function patched(place: string, step: number): Promise<boolean> {
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  const child = join(root, "test/support/patching-child.ts");
  const running = spawn(process.execPath, [child, place, PATCH, String(step)], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let stderr = "";
  running.stderr.setEncoding("utf8").on("data", (chunk: string) => (stderr += chunk));
  running.on("error", reject);
  running.on("close", (code, signal) => {
    if (signal === "SIGKILL") resolve(false);
    else if (code === 0) resolve(true);
    else reject(new Error(stderr));
  });
  return promise;
}

it(
  "a patch that dies at any step loses nothing, says what it did not come to, and can be taken back",
  { timeout: LONG },
  async () => {
    using place = temporaryFolder();
    let steps = 0;
    for (let isDone = false; !isDone; steps++) {
      rmSync(place.path, { recursive: true, force: true });
      mkdirSync(join(place.path, "project"), { recursive: true });
      const files = { ...BEFORE, "kumiko.toml": '[[rule]]\npath = "**"\nlevel = "admin"\n' };
      for (const [path, text] of Object.entries(files))
        writeFileSync(join(place.path, "project", path), text);
      const blocks: { [path: string]: string } = {};
      {
        await using mounted = await Mounted.at(place.path, { watch: false });
        for (const path of Object.keys(BEFORE))
          blocks[path] = (await mounted.call("file_load", { path }))["block_id"] as string;
      }
      isDone = await patched(place.path, steps);
      await using mounted = await Mounted.at(place.path);
      if (isDone) expect(disk(mounted)).toEqual(AFTER);
      await expectTold(mounted, `step ${steps}`);
      await expectRestorable(mounted, blocks, `step ${steps}`);
    }
    expect(steps).toBeGreaterThan(7);
  },
);

/** What the next process says of it is what is to be done still. */
async function expectTold(mounted: Mounted, step: string): Promise<void> {
  await mounted.mounts.watched();
  const left = [
    ...(existsSync(mounted.path("c.txt")) ? ["c.txt is to be moved to deep/d.txt"] : []),
    ...(existsSync(mounted.path("old.txt")) ? ["old.txt is to be deleted"] : []),
  ];
  const told = left.length === 0 ? [] : [expect.stringContaining(`done: ${left.join(", ")}. Do`)];
  expect([step, troublesOf(mounted)]).toEqual([step, told]);
}

function troublesOf(mounted: Mounted): string[] {
  return mounted.mounts
    .first()
    .troubles()
    .map(({ message }) => message);
}

async function expectRestorable(
  mounted: Mounted,
  blocks: { readonly [path: string]: string },
  step: string,
): Promise<void> {
  // Every text is in its block as it was or as it became, whatever became of its file.
  const texts: { [path: string]: readonly string[] } = {
    "a.txt": [BEFORE["a.txt"], AFTER["a.txt"]],
    "c.txt": [BEFORE["c.txt"], AFTER["deep/d.txt"]],
    "old.txt": [BEFORE["old.txt"]],
  };
  for (const [path, block] of Object.entries(blocks))
    expect([step, texts[path]]).toEqual([
      step,
      expect.arrayContaining([await mounted.text(block)]),
    ]);
  // The newest Edit of its author is the patch, if any of it is known.
  const undoing = mounted.call("block_undo", { actor: "claude" }, ann);
  const undone = await undoing.catch((error: unknown) => error as Answer);
  if ("code" in undone) expect([step, undone["code"]]).toEqual([step, "nothing_to_undo"]);
  // Nobody has to be told any more of what was taken back.
  else expect([step, troublesOf(mounted)]).toEqual([step, []]);
  // What the journal had not heard of yet looks as if another program had done it.
  if (!existsSync(mounted.path("old.txt")))
    await mounted.call("file_save", { path: "old.txt" }, ann);
  if (existsSync(mounted.path("deep/d.txt"))) {
    const { block_id } = await mounted.call("file_load", { path: "deep/d.txt" });
    // A file that was moved, and the journal not told, is known again where the next process knows what there was.
    const isFollowed = block_id === blocks["c.txt"];
    const text = isFollowed ? BEFORE["c.txt"] : AFTER["deep/d.txt"];
    expect([step, mounted.read("deep/d.txt")]).toEqual([step, text]);
    if (isFollowed) await mounted.call("file_move", { path: "deep/d.txt", to: "c.txt" }, ann);
    else rmSync(mounted.path("deep/d.txt"));
  }
  if (!existsSync(mounted.path("c.txt"))) await mounted.call("file_save", { path: "c.txt" }, ann);
  expect([step, disk(mounted)]).toEqual([step, BEFORE]);
  for (const [path, block] of Object.entries(blocks))
    expect([step, (await mounted.call("file_load", { path }))["block_id"]]).toEqual([step, block]);
  const { conflicts } = await mounted.call<{ conflicts: Answer[] }>("file_status", {}, ann);
  expect([step, conflicts]).toEqual([step, []]);
}
