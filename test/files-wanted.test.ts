import { cpSync, existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Answer, Mounted } from "./support/mounted.ts";
import { refusalOf } from "./support/refusal.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const MANUAL = '[mount]\nsave = "manual"\n';
const NEW = "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,2 @@\n+claude one\n+claude two\n";
const ann = { actor: "ann", kind: "person" } as const;

/** A folder that is saved by hand, in which a patch made a file that is not on disk yet. */
async function withWanted(files: { [path: string]: string } = {}): Promise<Mounted> {
  const mounted = await Mounted.with({ "kumiko.toml": MANUAL, ...files });
  await mounted.call("block_apply_patch", { patch: NEW });
  return mounted;
}

async function conflicts(mounted: Mounted): Promise<Answer[]> {
  return (await mounted.call<{ conflicts: Answer[] }>("file_status", {}, ann)).conflicts;
}

describe("a file that is to be made", () => {
  test("keeps its place when another is renamed there, and both texts are kept", async () => {
    await using mounted = await withWanted({ "old.txt": "old\n" });
    await mounted.text("old.txt");
    const { source } = mounted.mounts.first();
    const wanted = source.files.at("new.txt")!;
    renameSync(mounted.path("old.txt"), mounted.path("new.txt"));
    const renamed = [{ from: "old.txt", to: "new.txt" }];
    await source.takingIn.changed({ changed: [], gone: [], renamed });
    expect(source.files.at("new.txt")).toBe(wanted);
    const text = await mounted.text("new.txt");
    const told = JSON.stringify(await conflicts(mounted));
    for (const line of ["claude one", "claude two", "old"])
      expect([line, text.includes(line) || told.includes(line)]).toEqual([line, true]);
    await mounted.call("file_save", {}, ann);
    expect(mounted.read("new.txt")).toBe(await mounted.text("new.txt"));
  });

  test("is not begun anew by somebody else", async () => {
    await using mounted = await withWanted();
    const create = mounted.call("file_create", { path: "new.txt", content: "ann's\n" }, ann);
    expect((await refusalOf(create)).code).toBe("already_exists");
    expect(await mounted.text("new.txt")).toBe("claude one\nclaude two\n");
  });

  test("is not made once its making was undone", async () => {
    await using mounted = await withWanted();
    await mounted.call("block_undo", {});
    await mounted.call("file_save", {}, ann);
    expect(existsSync(mounted.path("new.txt"))).toBe(false);
    await mounted.call("block_redo", {});
    await mounted.call("file_save", {}, ann);
    expect(mounted.read("new.txt")).toBe("claude one\nclaude two\n");
  });

  test("loses nothing to what somebody put there while a crash had taken its record", async () => {
    await using mounted = await withWanted();
    using place = temporaryFolder();
    // What a process that is killed now leaves.
    cpSync(mounted.home, join(place.path, "home"), { recursive: true });
    mkdirSync(join(place.path, "project"));
    cpSync(mounted.folder, join(place.path, "project"), { recursive: true });
    await mounted.stop();
    rmSync(mounted.folder, { recursive: true });
    rmSync(mounted.home, { recursive: true });
    renameSync(join(place.path, "home"), mounted.home);
    renameSync(join(place.path, "project"), mounted.folder);
    mounted.write("new.txt", "theirs\n");
    await mounted.start();
    const text = await mounted.text("new.txt");
    const told = JSON.stringify(await conflicts(mounted));
    expect(text).toContain("theirs");
    for (const line of ["claude one", "claude two"])
      expect([line, text.includes(line) || told.includes(line)]).toEqual([line, true]);
  });
});

describe("a conflict about a file that went", () => {
  const append = { block_id: "a.txt", text: "never saved\n", flush: true };
  const anew = "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+anew\n";

  test("stays when a file was begun in its place: nothing else has its text", async () => {
    await using mounted = await Mounted.with({ "kumiko.toml": MANUAL, "a.txt": "one\n" });
    await mounted.call("block_append", append);
    rmSync(mounted.path("a.txt"));
    await mounted.call("block_read", { block_id: "a.txt" }, ann);
    await mounted.call("block_apply_patch", { patch: anew }, ann);
    mounted.write("a.txt", "from elsewhere\n");
    await mounted.text("a.txt");
    expect(JSON.stringify(await conflicts(mounted))).toContain("never saved");
  });

  test("is over when the file is made again with its text", async () => {
    await using mounted = await Mounted.with({ "kumiko.toml": MANUAL, "a.txt": "one\n" });
    await mounted.call("block_append", append);
    rmSync(mounted.path("a.txt"));
    await mounted.call("block_read", { block_id: "a.txt" }, ann);
    expect(await conflicts(mounted)).toHaveLength(1);
    await mounted.call("file_save", { path: "a.txt" }, ann);
    expect(mounted.read("a.txt")).toBe("one\nnever saved\n");
    expect(await mounted.call("file_status", { path: "a.txt" }, ann)).toMatchObject({
      files: [{ status: "synced" }],
      conflicts: [],
    });
  });

  test("is none when nothing went with it", async () => {
    await using mounted = await Mounted.with({});
    await mounted.call("block_apply_patch", { patch: NEW });
    rmSync(mounted.path("new.txt"));
    await mounted.call("block_undo", {});
    await mounted.call("block_read", { block_id: "new.txt" }, ann);
    expect(await conflicts(mounted)).toEqual([]);
  });
});

describe("whoever moves a file and whoever reads where it goes", () => {
  test("do not wait for each other", async () => {
    await using mounted = await Mounted.with({ "a.txt": "one\n" });
    const { source } = mounted.mounts.first();
    const file = await source.load("a.txt");
    const places = { from: "a.txt", to: "b.txt" };
    const all = await Promise.allSettled([
      source.going.move(ann, file, places),
      source.load("b.txt"),
      source.going.move(ann, file, places),
      source.load("b.txt"),
    ]);
    expect(all.map(({ status }) => status)).toEqual([
      "fulfilled",
      "fulfilled",
      "rejected",
      "fulfilled",
    ]);
    expect(source.files.at("b.txt")).toBe(file);
  });

  test("move what they mean, and not what came there meanwhile", async () => {
    await using mounted = await Mounted.with({ "a.txt": "one\n" });
    const { source } = mounted.mounts.first();
    const file = await source.load("a.txt");
    const first = source.going.move(ann, file, { from: "a.txt", to: "b.txt" });
    const second = refusalOf(source.going.move(ann, file, { from: "a.txt", to: "c.txt" }));
    await first;
    mounted.write("a.txt", "another\n");
    expect((await second).code).toBe("conflict");
    expect([mounted.read("a.txt"), mounted.read("b.txt")]).toEqual(["another\n", "one\n"]);
  });
});
