import { existsSync, renameSync } from "node:fs";
import { describe, expect, it, vi } from "vitest";
import { KumikoError } from "../src/base/index.ts";
import type { FileSource } from "../src/files/file-source.ts";
import { type Answer, Mounted } from "./support/mounted.ts";
import { refusalOf } from "./support/refusal.ts";

const ann = { actor: "ann", kind: "person" } as const;
const claude = { actor: "claude", kind: "agent", reader: "session" } as const;
const ADMIN = '[[rule]]\npath = "**"\nlevel = "admin"\n';

const FILES = {
  "a.txt": "one\ntwo\nthree\n",
  "old.txt": "bye\nbye\n",
  "c.txt": "alpha\nbeta\ngamma\n",
  "same.bin.txt": "as it is\r\n",
  "kumiko.toml": ADMIN,
};
const CHANGE = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n";
const DELETE = "--- a/old.txt\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-bye\n-bye\n";
const MOVE =
  "diff --git a/same.bin.txt b/x/same.txt\nrename from same.bin.txt\nrename to x/same.txt\n";
const MOVE_CHANGED =
  "diff --git a/c.txt b/deep/d.txt\nrename from c.txt\nrename to deep/d.txt\n" +
  "--- a/c.txt\n+++ b/deep/d.txt\n@@ -1,3 +1,3 @@\n alpha\n-beta\n+BETA\n gamma\n";
const CREATE = "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+new\n";
const EMPTY = "diff --git a/new.txt b/new.txt\nnew file mode 100644\n";
const WHOLE = CHANGE + DELETE + MOVE_CHANGED + MOVE + CREATE;
const AFTER = {
  "a.txt": "one\nTWO\nthree\n",
  "deep/d.txt": "alpha\nBETA\ngamma\n",
  "x/same.txt": "as it is\r\n",
  "new.txt": "new\n",
};

interface Patched {
  readonly success: boolean;
  readonly edit: string;
  readonly files: readonly ({ path: string; block_id: string } & Answer)[];
}

/** What is on disk of all that the patch is about. */
function disk(mounted: Mounted): { [path: string]: string } {
  const paths = [...new Set([...Object.keys(FILES), ...Object.keys(AFTER)])];
  return Object.fromEntries(
    paths.flatMap((path) =>
      path === "kumiko.toml" || !existsSync(mounted.path(path)) ? [] : [[path, mounted.read(path)]],
    ),
  );
}

const { "kumiko.toml": _, ...BEFORE } = FILES;

async function loaded(files: object = FILES): Promise<Mounted> {
  const mounted = await Mounted.with(files as typeof FILES);
  for (const path of Object.keys(BEFORE)) await mounted.text(path);
  return mounted;
}

function sourceOf(mounted: Mounted): FileSource {
  return mounted.mounts.first().source;
}

/** What a reader of everything finds: no refused call leaves anything. */
async function texts(mounted: Mounted): Promise<unknown> {
  const status = await mounted.call<{ files: Answer[] }>("file_status", {}, ann);
  return [disk(mounted), status.files.map(({ path, status: how }) => [path, how])];
}

describe("a patch that deletes and renames files", () => {
  it("is one Edit with what it changes and makes, taken back and done again as one", async () => {
    await using mounted = await loaded();
    const blocks = await Promise.all(
      ["a.txt", "old.txt", "c.txt", "same.bin.txt"].map(
        async (path) => (await mounted.call("file_load", { path }))["block_id"] as string,
      ),
    );
    const input = { patch: WHOLE, call_id: "once", message: "tidy" };
    const [answer, meanwhile] = await Promise.all([
      mounted.call<Patched>("block_apply_patch", input, claude),
      mounted.call<Patched>("block_apply_patch", input, claude),
    ]);
    expect(meanwhile).toEqual(answer);
    expect(disk(mounted)).toEqual(AFTER);
    expect(answer).toMatchObject({
      success: true,
      files: [
        { path: "a.txt", version: 2 },
        { path: "old.txt", deleted: true, version: 2, hunks: [{ hunk: 1 }] },
        { path: "c.txt", moved_to: "deep/d.txt", version: 3, hunks: [{ hunk: 1 }] },
        { path: "same.bin.txt", moved_to: "x/same.txt", version: 2, hunks: [] },
        { path: "new.txt", created: true },
      ],
    });
    expect(answer.files.slice(0, 4).map(({ block_id }) => block_id)).toEqual(blocks);
    for (const { block_id } of answer.files) {
      const { versions } = await mounted.call<{ versions: Answer[] }>("block_history", {
        block_id,
      });
      expect(versions[0]).toMatchObject({ actor: "claude", edit: answer.edit });
    }
    const [last] = (
      await mounted.call<{ versions: Answer[] }>("block_history", { block_id: blocks[1]! })
    ).versions;
    expect(last).toMatchObject({ tool: "block_apply_patch", message: "tidy (deletes old.txt)" });
    const { runs } = await mounted.call<{ runs: Answer[] }>("block_blame", {
      block_id: "deep/d.txt",
    });
    expect(runs.find(({ actor }) => actor === "claude")).toMatchObject({ edit: answer.edit });
    await mounted.restart();
    expect(await mounted.call<Patched>("block_apply_patch", input, claude)).toEqual(answer);

    const undone = await mounted.call<{ blocks: Answer[]; edit: string }>("block_undo", {}, claude);
    expect(disk(mounted)).toEqual(BEFORE);
    expect(undone).toMatchObject({ flipped: answer.edit });
    const told = undone.blocks.map(({ path, file }) => [path, file]);
    expect(Object.fromEntries(told)).toEqual({
      "a.txt": undefined,
      "c.txt": "moves",
      "new.txt": undefined,
      "old.txt": "deletes",
      "same.bin.txt": "moves",
    });
    await mounted.restart();
    await mounted.call("block_redo", { edit: answer.edit }, ann);
    expect(disk(mounted)).toEqual(AFTER);
    // Naming the undoing means its Edit, and that is not undone any more.
    const again = refusalOf(mounted.call("block_redo", { edit: answer.edit }, ann));
    expect((await again).code).toBe("nothing_to_undo");
    await mounted.call("block_undo", { edit: answer.edit }, claude);
    expect(disk(mounted)).toEqual(BEFORE);
    expect((await mounted.call("file_load", { path: "c.txt" }))["block_id"]).toBe(blocks[2]);
    const { files } = await mounted.call<{ files: Answer[] }>("file_status", {}, ann);
    expect(files.filter(({ status }) => status !== "synced" && status !== "deleted")).toEqual([]);
  });

  it("may be only that, by the file's path or by its block", async () => {
    await using mounted = await loaded();
    const { block_id } = await mounted.call("file_load", { path: "old.txt" });
    await mounted.call("block_apply_patch", { patch: DELETE, block_id, call_id: "1" }, ann);
    expect(existsSync(mounted.path("old.txt"))).toBe(false);
    await mounted.call("block_apply_patch", { patch: MOVE, block_id: "same.bin.txt" }, ann);
    expect(mounted.read("x/same.txt")).toBe(FILES["same.bin.txt"]);
    await mounted.call("block_apply_patch", { patch: DELETE, block_id, call_id: "1" }, ann);
    await mounted.call("block_undo", {}, ann);
    await mounted.call("block_undo", {}, ann);
    expect(disk(mounted)).toEqual(BEFORE);
    // An empty file has no lines that a hunk could take.
    mounted.write("old.txt", "");
    const patch =
      "diff --git a/old.txt b/old.txt\ndeleted file mode 100644\nindex e69de29..0000000\n";
    await mounted.call("block_apply_patch", { patch }, ann);
    expect(existsSync(mounted.path("old.txt"))).toBe(false);
  });

  it("leaves what others wrote when it is taken back", async () => {
    await using mounted = await loaded();
    const { edit } = await mounted.call("block_apply_patch", { patch: WHOLE }, claude);
    const gamma = { block_id: "deep/d.txt", old: "gamma", new: "GAMMA" };
    await mounted.call("block_replace", gamma, ann);
    await mounted.call("block_undo", { edit }, ann);
    expect(disk(mounted)).toEqual({ ...BEFORE, "c.txt": "alpha\nbeta\nGAMMA\n" });
  });

  it("is told by a dry run, which changes nothing", async () => {
    await using mounted = await loaded();
    const { head } = mounted.kernel.feed;
    const dry = await mounted.call("block_apply_patch", { patch: WHOLE, dry_run: true }, claude);
    expect(dry).toMatchObject({
      success: true,
      files: [
        { path: "a.txt" },
        { path: "old.txt", deleted: true, version: 1 },
        { path: "c.txt", moved_to: "deep/d.txt" },
        { moved_to: "x/same.txt" },
        { created: true },
      ],
    });
    const patch = DELETE.replace("-bye\n-bye", "-bye\n-never") + MOVE;
    const wrong = await mounted.call<Patched>(
      "block_apply_patch",
      { patch, dry_run: true },
      claude,
    );
    expect(wrong.success).toBe(false);
    expect(wrong.files.map(({ error }) => (error as Answer | undefined)?.["code"])).toEqual([
      "patch_rejected",
      undefined,
    ]);
    expect([disk(mounted), mounted.kernel.feed.head]).toEqual([BEFORE, head]);
  });

  it("goes on in folders that are saved by hand: files go at once, text when it is saved", async () => {
    const manual = `${ADMIN}[mount]\nsave = "manual"\n`;
    await using mounted = await loaded({ ...FILES, "kumiko.toml": manual });
    await mounted.call("block_apply_patch", { patch: WHOLE }, claude);
    const { "new.txt": _new, ...there } = AFTER;
    expect(disk(mounted)).toEqual({
      ...there,
      "a.txt": BEFORE["a.txt"],
      "deep/d.txt": BEFORE["c.txt"],
    });
    await mounted.call("file_save", {}, ann);
    expect(disk(mounted)).toEqual(AFTER);
    await mounted.call("block_undo", {}, claude);
    await mounted.call("file_save", {}, ann);
    expect(disk(mounted)).toEqual(BEFORE);
  });
});

describe("a patch of files is refused whole", () => {
  it("when one of them cannot be what it says", async () => {
    const rules = '[[rule]]\npath = "locked/**"\nlevel = "read_only"\n';
    await using mounted = await loaded({ ...FILES, "kumiko.toml": rules + ADMIN, "y.txt": "y\n" });
    await mounted.text("y.txt");
    const before = await texts(mounted);
    const { head } = mounted.kernel.feed;
    const to = (path: string): string =>
      MOVE_CHANGED.replaceAll("deep/d.txt", path).replace("b/deep/d.txt", `b/${path}`);
    const refusals: [string, string, string][] = [
      [DELETE.replace("-1,2 +0,0 @@\n-bye", "-1,1 +0,0 @@"), "patch_rejected", "not in the patch"],
      [DELETE.replace("-bye\n-bye", "-bye\n-never"), "patch_rejected", "old.txt"],
      [to("y.txt"), "already_exists", "y.txt is there already"],
      [to("old.txt") + DELETE, "already_exists", "old.txt is there already"],
      [to("locked/d.txt"), "denied", "may not create locked/d.txt"],
      [to("../d.txt"), "outside", "d.txt"],
      [to("new.txt") + CREATE, "invalid_argument", "new.txt"],
      [to("x/same.txt") + MOVE, "invalid_argument", "x/same.txt"],
      [to("x") + MOVE, "invalid_argument", "x/same.txt would be in @project/x,"],
      [to("new.txt/x/d.txt") + CREATE, "invalid_argument", "would be in @project/new.txt,"],
      [
        CREATE + CREATE.replace("new.txt", "new.txt/x"),
        "invalid_argument",
        "would be in @project/new.txt,",
      ],
      [CHANGE.replaceAll("a.txt", "old.txt") + DELETE, "invalid_argument", "old.txt"],
      [MOVE_CHANGED.replace("-beta", "-never"), "patch_rejected", "c.txt"],
      [DELETE.replaceAll("old.txt", "none.txt"), "not_on_disk", "none.txt"],
    ];
    for (const [part, code, words] of refusals)
      for (const patch of [CREATE.replaceAll("new.txt", "n.txt") + MOVE + part, part]) {
        if (patch !== part && part.includes("same")) continue;
        const error = await refusalOf(mounted.call("block_apply_patch", { patch }, claude));
        expect([part, error.code, error.message]).toEqual([
          part,
          code,
          expect.stringContaining(words),
        ]);
        expect([part, await texts(mounted)]).toEqual([part, before]);
      }
    expect(mounted.kernel.feed.head).toBe(head);
  });

  it("when its author may change the file, and not delete or move it", async () => {
    await using mounted = await loaded({ ...FILES, "kumiko.toml": "" });
    for (const part of [DELETE, MOVE, MOVE_CHANGED]) {
      const call = mounted.call("block_apply_patch", { patch: CHANGE + part }, claude);
      expect(await refusalOf(call)).toMatchObject({
        code: "denied",
        facts: { operation: "delete" },
      });
    }
    expect(disk(mounted)).toEqual(BEFORE);
  });

  it("when somebody has to decide about one of them, or its text could not be saved", async () => {
    const rules = `[[rule]]\npath = "old.txt"\nlevel = "human"\n${ADMIN}[mount]\nsave = "manual"\n`;
    await using mounted = await loaded({ ...FILES, "kumiko.toml": rules });
    await mounted.call("block_replace", { block_id: "old.txt", old: "bye\nbye", new: "mine" }, ann);
    mounted.write("old.txt", "disk's\n");
    await mounted.text("old.txt");
    const now = await mounted.text("old.txt");
    const taking = DELETE.replace("-bye\n-bye\n", `-${now}`).replace("-1,2", "-1,1");
    const { head } = mounted.kernel.feed;
    const waits = await refusalOf(
      mounted.call("block_apply_patch", { patch: CHANGE + taking }, ann),
    );
    expect([waits.code, waits.message]).toEqual([
      "conflict",
      expect.stringContaining("resolve c1"),
    ]);
    expect([mounted.read("a.txt"), mounted.read("old.txt")]).toEqual([FILES["a.txt"], "disk's\n"]);
    expect(mounted.kernel.feed.head).toBe(head);
  });

  it("when others write to a file that it deletes, also after the version it was made for", async () => {
    await using mounted = await loaded();
    await mounted.call("block_append", { block_id: "old.txt", text: "wait\n", flush: true }, ann);
    const refused = await refusalOf(
      mounted.call("block_apply_patch", { patch: DELETE, base_version: 1 }, claude),
    );
    expect([refused.code, refused.message]).toEqual([
      "conflict",
      expect.stringContaining("others wrote 5"),
    ]);
    expect(await mounted.text("old.txt")).toBe("bye\nbye\nwait\n");
  });
});

describe("a patch that fails halfway", () => {
  const failing = new KumikoError("file_unwritable", "The folder may not be written to.", {});

  it("is taken back, and is nobody's to redo", async () => {
    await using mounted = await loaded();
    await mounted.call("block_replace", { block_id: "c.txt", old: "gamma", new: "GAMMA" }, claude);
    const now = { ...BEFORE, "c.txt": "alpha\nbeta\nGAMMA\n" };
    const patch = WHOLE.replace(" gamma\n", " GAMMA\n");
    for (const by of [claude, ann]) {
      const { disk: files } = sourceOf(mounted);
      const remove = vi.spyOn(files, "remove").mockRejectedValueOnce(failing);
      const refused = await refusalOf(mounted.call("block_apply_patch", { patch }, by));
      expect([remove.mock.calls.length, refused.code]).toEqual([1, "file_unwritable"]);
      remove.mockRestore();
      expect(disk(mounted)).toEqual(now);
      const redo = await refusalOf(mounted.call("block_redo", {}, by));
      expect(redo.code).toBe("nothing_to_undo");
    }
    const { versions } = await mounted.call<{ versions: Answer[] }>("block_history", {
      block_id: "a.txt",
    });
    expect(versions[0]).toMatchObject({
      actor: "system",
      // Not in the error's own words, which may be about a file that not everybody may read.
      message: "It could not be done whole: a file cannot be written",
    });
    await mounted.restart();
    expect(disk(mounted)).toEqual(now);
    // What was tried before stands in nobody's way.
    await mounted.call("block_apply_patch", { patch }, claude);
    expect(disk(mounted)).toEqual({ ...AFTER, "deep/d.txt": "alpha\nBETA\nGAMMA\n" });
    await mounted.call("block_undo", {}, claude);
    await mounted.call("block_undo", {}, claude);
    expect(disk(mounted)).toEqual(BEFORE);
  });

  it("is taken back when somebody writes to what it deletes just then", async () => {
    await using mounted = await loaded();
    const { disk: files } = sourceOf(mounted);
    const move = files.move.bind(files);
    vi.spyOn(files, "move").mockImplementationOnce(async (from, to) => {
      await move(from, to);
      await mounted.call(
        "block_replace",
        { block_id: "old.txt", old: "bye\nbye", new: "bye\nbye\nwait" },
        ann,
      );
    });
    const refused = await refusalOf(mounted.call("block_apply_patch", { patch: WHOLE }, claude));
    expect(refused.code).toBe("patch_rejected");
    expect(disk(mounted)).toEqual({ ...BEFORE, "old.txt": "bye\nbye\nwait\n" });
  });

  it("makes no file that was to be empty, also later", async () => {
    await using mounted = await loaded();
    const { disk: files } = sourceOf(mounted);
    const { "old.txt": _old, ...withoutOld } = BEFORE;
    vi.spyOn(files, "remove").mockRejectedValueOnce(failing);
    await refusalOf(mounted.call("block_apply_patch", { patch: DELETE + EMPTY }, claude));
    await mounted.restart();
    expect(disk(mounted)).toEqual(BEFORE);
    await mounted.call("block_apply_patch", { patch: DELETE + EMPTY }, claude);
    expect(mounted.read("new.txt")).toBe("");
    for (let round = 0; round < 2; round++) {
      await mounted.call("block_undo", {}, claude);
      expect(disk(mounted)).toEqual(BEFORE);
      await mounted.restart();
      await mounted.call("block_redo", {}, claude);
      expect(disk(mounted)).toEqual({ ...withoutOld, "new.txt": "" });
    }
  });

  it("makes none either when a text beside it was just changed by somebody else", async () => {
    await using mounted = await loaded();
    const { making } = sourceOf(mounted);
    const begin = making.begin.bind(making);
    vi.spyOn(making, "begin").mockImplementationOnce(async (...args) => {
      const begun = await begin(...args);
      await mounted.call("block_replace", { block_id: "a.txt", old: "two", new: "2" }, ann);
      return begun;
    });
    const patch = CHANGE + EMPTY;
    const refused = await refusalOf(mounted.call("block_apply_patch", { patch }, claude));
    expect(refused.code).toBe("patch_rejected");
    const left = { ...BEFORE, "a.txt": "one\n2\nthree\n" };
    expect(disk(mounted)).toEqual(left);
    await mounted.restart();
    expect(disk(mounted)).toEqual(left);
  });

  it("makes no file again that was deleted before, and begun anew by it", async () => {
    await using mounted = await loaded({ ...FILES, "new.txt": "of old\n" });
    await mounted.text("new.txt");
    await mounted.call("file_delete", { path: "new.txt" }, ann);
    const { disk: files } = sourceOf(mounted);
    vi.spyOn(files, "remove").mockRejectedValueOnce(failing);
    await refusalOf(mounted.call("block_apply_patch", { patch: WHOLE }, claude));
    expect(disk(mounted)).toEqual(BEFORE);
    await mounted.restart();
    expect(disk(mounted)).toEqual(BEFORE);
    await mounted.call("block_undo", {}, ann);
    expect(mounted.read("new.txt")).toBe("of old\n");
  });

  it("says so with its Edit when it cannot be taken back", async () => {
    await using mounted = await loaded();
    const { disk: files } = sourceOf(mounted);
    vi.spyOn(files, "remove").mockImplementationOnce(() => {
      // Another program is where the file would go back to.
      mounted.write("same.bin.txt", "another\n");
      return Promise.reject(failing);
    });
    const refused = await refusalOf(mounted.call("block_apply_patch", { patch: WHOLE }, claude));
    expect([refused.code, refused.message]).toEqual([
      "done_in_part",
      expect.stringMatching(/may not be written to.*something else is at same.bin.txt.*block_undo/),
    ]);
    renameSync(mounted.path("same.bin.txt"), mounted.path("elsewhere"));
    await mounted.call("block_undo", { edit: refused.facts["edit"] }, claude);
    expect(disk(mounted)).toEqual(BEFORE);
  });
});

describe("undoing a patch of files", () => {
  it("is refused whole when one file cannot go back", async () => {
    await using mounted = await loaded();
    const { edit } = await mounted.call("block_apply_patch", { patch: WHOLE }, claude);
    const refused = async (): Promise<string> => {
      const { head } = mounted.kernel.feed;
      const { code } = await refusalOf(mounted.call("block_undo", { edit }, claude));
      expect(mounted.kernel.feed.head).toBe(head);
      return code;
    };
    mounted.write("old.txt", "another\n");
    expect(await refused()).toBe("already_exists");
    renameSync(mounted.path("old.txt"), mounted.path("elsewhere"));
    await mounted.call("file_move", { path: "deep/d.txt", to: "z.txt" }, ann);
    expect(await refused()).toBe("conflict");
    await mounted.call("block_undo", {}, ann);
    expect(disk(mounted)).toEqual(AFTER);
    mounted.write("kumiko.toml", '[[rule]]\npath = "c.txt"\nlevel = "read_only"\n' + ADMIN);
    await mounted.restart();
    expect(await refused()).toBe("denied");
    expect(disk(mounted)).toEqual(AFTER);
    mounted.write("kumiko.toml", ADMIN);
    await mounted.restart();
    await mounted.call("block_undo", { edit }, claude);
    expect(disk(mounted)).toEqual(BEFORE);
  });

  it("is taken back itself when it fails halfway, and so is redoing", async () => {
    await using mounted = await loaded();
    const { edit } = await mounted.call("block_apply_patch", { patch: WHOLE }, claude);
    const { disk: files } = sourceOf(mounted);
    const failing = new KumikoError("file_unwritable", "No.", {});
    const move = files.move.bind(files);
    const second = (): void => {
      vi.spyOn(files, "move").mockImplementationOnce(move).mockRejectedValueOnce(failing);
    };
    second();
    expect((await refusalOf(mounted.call("block_undo", { edit }, claude))).code).toBe(failing.code);
    expect(disk(mounted)).toEqual(AFTER);
    await mounted.call("block_undo", { edit }, claude);
    expect(disk(mounted)).toEqual(BEFORE);
    second();
    expect((await refusalOf(mounted.call("block_redo", { edit }, claude))).code).toBe(failing.code);
    expect(disk(mounted)).toEqual(BEFORE);
    await mounted.call("block_redo", { edit }, claude);
    expect(disk(mounted)).toEqual(AFTER);
  });

  it("makes files again that an autosave removed before it failed", async () => {
    await using mounted = await loaded();
    const { edit } = await mounted.call("block_apply_patch", { patch: CREATE + MOVE }, claude);
    const after = disk(mounted);
    const { disk: files } = sourceOf(mounted);
    vi.spyOn(files, "move").mockImplementationOnce(async () => {
      await vi.waitFor(() => expect(existsSync(mounted.path("new.txt"))).toBe(false), 5_000);
      throw new KumikoError("file_unwritable", "No.", {});
    });
    await refusalOf(mounted.call("block_undo", { edit }, claude));
    expect(disk(mounted)).toEqual(after);
  });

  it("waits until it has been carried out", async () => {
    await using mounted = await loaded();
    const { disk: files } = sourceOf(mounted);
    const move = files.move.bind(files);
    const codes: string[] = [];
    vi.spyOn(files, "move").mockImplementationOnce(async (from, to) => {
      await move(from, to);
      codes.push((await refusalOf(mounted.call("block_undo", {}, claude))).code);
    });
    await mounted.call("block_apply_patch", { patch: WHOLE }, claude);
    expect([codes, disk(mounted)]).toEqual([["being_written"], AFTER]);
    await mounted.call("block_undo", {}, claude);
    expect(disk(mounted)).toEqual(BEFORE);
  });

  it("is not done again over what others wrote since", async () => {
    await using mounted = await loaded();
    const { edit } = await mounted.call("block_apply_patch", { patch: DELETE }, claude);
    await mounted.call("block_undo", { edit }, claude);
    const adding = { block_id: "old.txt", text: "bob\n", flush: true };
    const { edit: added } = await mounted.call("block_append", adding, ann);
    const refused = await refusalOf(mounted.call("block_redo", { edit }, claude));
    expect([refused.code, mounted.read("old.txt")]).toEqual(["conflict", "bye\nbye\nbob\n"]);
    await mounted.call("block_undo", { edit: added }, ann);
    await mounted.call("block_redo", { edit }, claude);
    expect(existsSync(mounted.path("old.txt"))).toBe(false);
  });

  it("happens once, however many ask for it", async () => {
    await using mounted = await loaded();
    await mounted.call("block_replace", { block_id: "a.txt", old: "one", new: "1" }, claude);
    const patch = DELETE + MOVE;
    const { edit } = await mounted.call("block_apply_patch", { patch }, claude);
    const same = { call_id: "undo" };
    const [one, other] = await Promise.all([
      mounted.call("block_undo", same, claude),
      mounted.call("block_undo", same, claude),
    ]);
    expect(other).toEqual(one);
    expect(disk(mounted)).toEqual({ ...BEFORE, "a.txt": "1\ntwo\nthree\n" });
    const named = { edit, call_id: "named" };
    const twice = ["block_redo", "block_redo"].map((tool) => mounted.call(tool, named, claude));
    const [first, second] = await Promise.all(twice);
    expect(second).toEqual(first);
    await mounted.call("block_undo", { edit }, claude);
    const both = await Promise.allSettled([
      mounted.call("block_redo", { edit }, claude),
      mounted.call("block_redo", { edit }, ann),
    ]);
    expect(both.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
  });
});

it("a file stays where it is when the journal cannot say that it went", async () => {
  await using mounted = await loaded();
  const failing = new KumikoError("journal_unwritable", "No.", {});
  for (const [tool, input] of [
    ["file_delete", { path: "old.txt" }],
    ["file_move", { path: "old.txt", to: "moved.txt" }],
    ["block_apply_patch", { patch: WHOLE }],
  ] as const) {
    const marking = vi.spyOn(mounted.kernel, "changeState").mockRejectedValueOnce(failing);
    expect((await refusalOf(mounted.call(tool, input, ann))).code).toBe("journal_unwritable");
    expect([tool, disk(mounted)]).toEqual([tool, BEFORE]);
    expect(existsSync(mounted.path("moved.txt"))).toBe(false);
    marking.mockRestore();
  }
  await mounted.call("block_apply_patch", { patch: WHOLE }, ann);
  expect(disk(mounted)).toEqual(AFTER);
});
