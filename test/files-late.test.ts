import { closeSync, ftruncateSync, openSync, writeSync } from "node:fs";
import { setTimeout as passing } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import { Mounted } from "./support/mounted.ts";
import { openFiles } from "./support/open-files.ts";

const SOON = { timeout: 5_000, interval: 20 };
const START = "one\ntwo\nthree\nfour\n";

/** A program that has a file open. */
class Holder implements Disposable {
  readonly descriptor: number;

  constructor(path: string, flags: "a" | "r+") {
    this.descriptor = openSync(path, flags);
  }

  write(text: string): void {
    writeSync(this.descriptor, text);
  }

  /** Empties it and writes it anew, as a program does that saves in place. */
  empty(): void {
    ftruncateSync(this.descriptor, 0);
  }

  [Symbol.dispose](): void {
    closeSync(this.descriptor);
  }
}

async function replaceLine(mounted: Mounted, line: number, content: string): Promise<void> {
  const operations = [{ op: "replace", start_line: line, end_line: line + 1, content }];
  await mounted.call("block_edit", { block_id: "a.txt", operations });
}

/** Files in whose place another stands, and that are open still. */
function replaced(): string[] {
  return openFiles().filter((path) => /(a\.txt|\.kumiko-.*) \(deleted\)$/.test(path));
}

async function both(mounted: Mounted): Promise<string> {
  const text = await mounted.text("a.txt");
  expect(mounted.read("a.txt")).toBe(text);
  return text;
}

// Elsewhere what was replaced does not stay open.
describe.runIf(process.platform === "linux")("late writes", () => {
  test("what a program appends to a file that it opened before a save is in the new one, once", async () => {
    await using mounted = await Mounted.with({ "a.txt": START }, { watch: true });
    await mounted.text("a.txt");
    using holder = new Holder(mounted.path("a.txt"), "a");
    await replaceLine(mounted, 0, "ONE");
    holder.write("five\n");
    const once = "ONE\ntwo\nthree\nfour\nfive\n";
    await vi.waitFor(async () => expect(await both(mounted)).toBe(once), SOON);
    // It goes on as long as it writes.
    holder.write("six\n");
    const twice = `${once}six\n`;
    await vi.waitFor(async () => expect(await both(mounted)).toBe(twice), SOON);
    const { runs } = await mounted.call<{ runs: { actor: string }[] }>("block_blame", {
      block_id: "a.txt",
    });
    expect([runs[0]?.actor, runs.at(-1)?.actor]).toEqual(["claude", "disk"]);
    await mounted.call("block_undo", {});
    expect(await both(mounted)).toBe("one\ntwo\nthree\nfour\nfive\nsix\n");
  });

  test("what a program writes in place, slowly, over a file that was replaced is merged when it is whole", async () => {
    await using mounted = await Mounted.with({ "a.txt": START }, { watch: true });
    await mounted.text("a.txt");
    using holder = new Holder(mounted.path("a.txt"), "r+");
    await replaceLine(mounted, 0, "ONE");
    holder.empty();
    await passing(250);
    expect(mounted.read("a.txt")).toBe("ONE\ntwo\nthree\nfour\n");
    holder.write("one\ntwo\nTHREE\nfour\n");
    const merged = "ONE\ntwo\nTHREE\nfour\n";
    await vi.waitFor(async () => expect(await both(mounted)).toBe(merged), SOON);
    expect(mounted.mounts.conflicts.list()).toEqual([]);
  });

  test("what a program made of a text that it read even earlier takes nothing back", async () => {
    await using mounted = await Mounted.with({ "a.txt": START }, { watch: true });
    const read = await mounted.text("a.txt");
    await replaceLine(mounted, 0, "ONE");
    using holder = new Holder(mounted.path("a.txt"), "r+");
    await replaceLine(mounted, 1, "TWO");
    holder.empty();
    holder.write(read.replace("four", "FOUR"));
    const merged = "ONE\nTWO\nthree\nFOUR\n";
    await vi.waitFor(async () => expect(await both(mounted)).toBe(merged), SOON);
  });

  test("what was purged does not come back with what is appended to the file that had it", async () => {
    await using mounted = await Mounted.with({ "a.txt": START }, { watch: true });
    await mounted.text("a.txt");
    using holder = new Holder(mounted.path("a.txt"), "a");
    await mounted.kernel.purge({ actor: "ann", kind: "person" }, { text: "two" });
    const purged = await both(mounted);
    expect(purged).not.toContain("two");
    holder.write("five\n");
    await passing(500);
    expect(await both(mounted)).toBe(purged);
  });

  test("of two who changed the same line in the same moment none is lost", async () => {
    await using mounted = await Mounted.with({ "a.txt": START }, { watch: true });
    await mounted.text("a.txt");
    using holder = new Holder(mounted.path("a.txt"), "r+");
    await replaceLine(mounted, 0, "agent");
    holder.write("own");
    await vi.waitFor(() => expect(mounted.mounts.conflicts.list()).toHaveLength(1), SOON);
    const [conflict] = mounted.mounts.conflicts.list();
    await vi.waitFor(async () => {
      const text = await both(mounted);
      const sides = [text, conflict!.lost];
      expect(sides.some((side) => side.includes("agent"))).toBe(true);
      expect(sides.some((side) => side.includes("own"))).toBe(true);
    }, SOON);
  });

  test("what was written when the kernel stops is there when it starts again", async () => {
    await using mounted = await Mounted.with({ "a.txt": START }, { watch: true });
    await mounted.text("a.txt");
    using holder = new Holder(mounted.path("a.txt"), "a");
    await replaceLine(mounted, 0, "ONE");
    holder.write("five\n");
    await mounted.restart();
    expect(await both(mounted)).toBe("ONE\ntwo\nthree\nfour\nfive\n");
  });

  test("what is no text is told, and the file stays what it is", async () => {
    await using mounted = await Mounted.with({ "a.txt": START }, { watch: true });
    await mounted.text("a.txt");
    using holder = new Holder(mounted.path("a.txt"), "a");
    await replaceLine(mounted, 0, "ONE");
    holder.write("\0");
    const told = () =>
      mounted.mounts
        .first()
        .troubles()
        .map(({ message }) => message);
    await vi.waitFor(() => expect(told()).toMatchObject([/a\.txt at the moment of a save/]), SOON);
    expect(await both(mounted)).toBe("ONE\ntwo\nthree\nfour\n");
  });

  test("who saves many times in a row keeps few files open", async () => {
    await using mounted = await Mounted.with({ "a.txt": START }, { watch: true });
    await mounted.text("a.txt");
    // For longer than one is kept.
    const end = Date.now() + 1_500;
    for (let round = 0; Date.now() < end; round++) await replaceLine(mounted, 0, `round ${round}`);
    expect(replaced().length).toBeLessThan(20);
    // Also beside another program.
    mounted.write("a.txt", `${mounted.read("a.txt")}five\n`);
    await mounted.text("a.txt");
    for (let round = 0; round < 200; round++) await replaceLine(mounted, 0, `again ${round}`);
    expect(replaced().length).toBeGreaterThan(20);
    expect(replaced().length).toBeLessThan(100);
    await vi.waitFor(() => expect(replaced().length).toBe(0), SOON);
  });
});
