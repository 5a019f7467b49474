import { closeSync, openSync, rmSync, symlinkSync, writeSync } from "node:fs";
import { setTimeout as passing } from "node:timers/promises";
import { expect, test } from "vitest";
import { scaled } from "./support/counts.ts";
import { Mounted } from "./support/mounted.ts";
import { runProgram } from "./support/process.ts";

const LONG = 15 * 60_000;
const LINES = 20_000;
const START = `${`${"x".repeat(99)}\n`.repeat(LINES - 1)}0\n`;

/**
 * Saves by a rename; when that is 100 ms old, and just being read, empties the file for a moment, as most programs do before
 * they write it.
 */
const WRITER = `
import os, sys, time
path, rounds = sys.argv[1], int(sys.argv[2])
for round in range(rounds):
    with open(path) as file:
        lines = file.read().split("\\n")
    lines[-2] = str(round + 1)
    text = "\\n".join(lines)
    with open(path + ".new", "w") as file:
        file.write(text)
    os.rename(path + ".new", path)
    time.sleep(max(0, os.stat(path).st_mtime + 0.1 + (round % 8) / 1000 - time.time()))
    with open(path, "w") as file:
        time.sleep(0.05)
        file.write(text)
    time.sleep(0.15)
`;

test(
  "a file that is emptied for a moment, just when it is read, is not taken for empty",
  { timeout: LONG },
  async () => {
    await using mounted = await Mounted.with({ "a.txt": START }, { watch: true });
    const rounds = scaled(100);
    const done = new AbortController();
    const args = ["-c", WRITER, mounted.path("a.txt"), String(rounds)];
    const writing = runProgram("python3", args).finally(() => done.abort());
    const input = { block_id: "a.txt", range: { start: 0, end: 1 } };
    const seen = new Set<number>();
    while (!done.signal.aborted) {
      seen.add((await mounted.call<{ line_count: number }>("block_read", input)).line_count);
      await passing(1);
    }
    expect(await writing).toMatchObject({ code: 0, stderr: "" });
    expect([...seen]).toEqual([LINES]);
    expect(await mounted.text("a.txt")).toBe(START.replace(/0\n$/, `${rounds}\n`));
  },
);

test.runIf(process.platform === "linux")(
  "a file that whoever writes it has left empty for a second is not taken for empty",
  async () => {
    await using mounted = await Mounted.with({ "a.txt": "one\ntwo\nthree\n" }, { watch: true });
    await mounted.text("a.txt");
    const operations = [{ op: "replace", start_line: 0, end_line: 1, content: "ONE" }];
    await mounted.call("block_edit", { block_id: "a.txt", operations });
    const writer = openSync(mounted.path("a.txt"), "w");
    const reading = mounted.text("a.txt");
    await passing(1_000);
    writeSync(writer, "one\ntwo\nTHREE\n");
    closeSync(writer);
    // It had read the text before the agent's edit.
    expect(await reading).toBe("ONE\ntwo\nTHREE\n");
    // One that stays empty is empty.
    const other = openSync(mounted.path("a.txt"), "w");
    expect(await mounted.text("a.txt")).toBe("");
    closeSync(other);
  },
);

test.runIf(process.platform === "linux")(
  "a file that whoever writes it has left half-written for a second is not taken for whole",
  async () => {
    await using mounted = await Mounted.with({ "a.txt": "one\ntwo\nthree\n" }, { watch: true });
    await mounted.text("a.txt");
    const writer = openSync(mounted.path("a.txt"), "w");
    writeSync(writer, "one\ntwo\n");
    const reading = mounted.text("a.txt");
    await passing(1_000);
    writeSync(writer, "THREE\n");
    closeSync(writer);
    expect(await reading).toBe("one\ntwo\nTHREE\n");
  },
);

test("a folder that became a circle, and git's that nobody may look at, keep nobody from the rest", async () => {
  await using mounted = await Mounted.with({ "d/b.txt": "one\n", "a.txt": "one\n" });
  for (const path of ["d/b.txt", "a.txt"]) await mounted.text(path);
  await mounted.stop();
  rmSync(mounted.path("d"), { recursive: true });
  symlinkSync("d", mounted.path("d"));
  symlinkSync(".git", mounted.path(".git"));
  mounted.write("a.txt", "ONE\n");
  await mounted.start();
  expect(await mounted.text("a.txt")).toBe("ONE\n");
  const answer = await mounted.call<{ files: { path: string; status: string }[] }>(
    "file_status",
    {},
  );
  expect(answer.files).toContainEqual(
    expect.objectContaining({ path: "d/b.txt", status: "deleted" }),
  );
});

test("a file that is taken away and written anew was never gone", async () => {
  await using mounted = await Mounted.with({ "a.txt": "one\ntwo\n" }, { watch: true });
  await mounted.text("a.txt");
  rmSync(mounted.path("a.txt"));
  const reading = mounted.text("a.txt");
  await passing(30);
  mounted.write("a.txt", "one\nTWO\n");
  expect(await reading).toBe("one\nTWO\n");
  // One that stays away is gone.
  rmSync(mounted.path("a.txt"));
  const edit = { block_id: "a.txt", old: "one", new: "ONE" };
  await expect(mounted.call("block_replace", edit)).rejects.toMatchObject({ code: "not_on_disk" });
});
