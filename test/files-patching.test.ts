import { existsSync, statSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { type Answer, Mounted } from "./support/mounted.ts";
import { refusalOf } from "./support/refusal.ts";

const THREE = "one\ntwo\nthree\n";
const ann = { actor: "ann", kind: "person" } as const;
const CHANGE = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n";
const made = (path: string, ...lines: string[]): string =>
  `--- /dev/null\n+++ b/${path}\n@@ -0,0 +1,${lines.length} @@\n${lines.map((line) => `+${line}\n`).join("")}`;

interface Patched {
  readonly edit: string;
  readonly files: readonly { path: string; block_id: string; created?: true; version: number }[];
}

describe("a patch that makes a file", () => {
  it("makes it with its folders, in the same Edit as what it changes, on disk before the answer", async () => {
    await using mounted = await Mounted.with({ "a.txt": THREE });
    const patch = made("new/b.txt", "b", "c") + CHANGE + made("d.txt", "d");
    const input = { patch, call_id: "once" };
    const answer = await mounted.call<Patched>("block_apply_patch", input);
    expect(mounted.read("new/b.txt")).toBe("b\nc\n");
    expect(mounted.read("d.txt")).toBe("d\n");
    expect(mounted.read("a.txt")).toBe("one\nTWO\nthree\n");
    expect(answer.files).toMatchObject([
      { path: "new/b.txt", created: true, version: 1 },
      { path: "a.txt", version: 2 },
      { path: "d.txt", created: true, version: 1 },
    ]);
    const history = async (path: string): Promise<Answer[]> =>
      (await mounted.call<{ versions: Answer[] }>("block_history", { block_id: path })).versions;
    for (const { path } of answer.files)
      expect((await history(path))[0]).toMatchObject({ actor: "claude", edit: answer.edit });
    // A retry says the same and makes nothing.
    expect(await mounted.call<Patched>("block_apply_patch", input)).toEqual(answer);
    // What an agent made itself is its own to take back.
    const undone = await mounted.call<{ blocks: Answer[] }>("block_undo", { edit: answer.edit });
    expect(undone.blocks).toHaveLength(3);
    expect(mounted.read("a.txt")).toBe(THREE);
    expect(["new/b.txt", "d.txt"].map((path) => existsSync(mounted.path(path)))).toEqual([
      false,
      false,
    ]);
    await mounted.call("block_redo", {});
    expect([mounted.read("new/b.txt"), mounted.read("d.txt")]).toEqual(["b\nc\n", "d\n"]);
  });

  it("makes nothing when another part does not fit, or the rules do not let it", async () => {
    const rules = '[[rule]]\npath = "locked/**"\nlevel = "read_only"\n';
    await using mounted = await Mounted.with({ "a.txt": THREE, "kumiko.toml": rules });
    const wrong = CHANGE.replace("-two", "-nowhere");
    const refusals: [string, string][] = [
      [made("b.txt", "b") + wrong, "patch_rejected"],
      [made("b.txt", "b") + made("locked/c.txt", "c") + CHANGE, "denied"],
      [made("b.txt", "b") + made("../c.txt", "c"), "outside"],
      [made("b.txt", "b") + made("b.txt", "c"), "invalid_argument"],
      [made("a.txt", "b"), "patch_rejected"],
    ];
    for (const [patch, code] of refusals) {
      const error = await refusalOf(mounted.call("block_apply_patch", { patch }));
      expect([error.code, error.message]).toEqual([code, expect.any(String)]);
      expect([existsSync(mounted.path("b.txt")), mounted.read("a.txt")]).toEqual([false, THREE]);
    }
    const patch = made("b.txt", "b") + CHANGE;
    const dry = await mounted.call("block_apply_patch", { patch, dry_run: true });
    expect(dry).toMatchObject({ success: true, files: [{ created: true }, { path: "a.txt" }] });
    expect(existsSync(mounted.path("b.txt"))).toBe(false);
    // What was tried before stands in nobody's way.
    await mounted.call("block_apply_patch", { patch });
    expect([mounted.read("b.txt"), mounted.read("a.txt")]).toEqual(["b\n", "one\nTWO\nthree\n"]);
  });

  it("is gone when it is made again and undone again, also behind a restart", async () => {
    await using mounted = await Mounted.with({});
    for (const text of ["one", "two"]) {
      await mounted.call("block_apply_patch", { patch: made("b.txt", text) });
      expect(mounted.read("b.txt")).toBe(`${text}\n`);
      await mounted.call("block_undo", {});
      expect(existsSync(mounted.path("b.txt"))).toBe(false);
      await mounted.restart();
    }
  });

  it("creates where only creating is allowed, revives what was deleted, and merges with who was faster", async () => {
    const rules = '[[rule]]\npath = "log/**"\nlevel = "append"\n';
    await using mounted = await Mounted.with({ "a.txt": THREE, "kumiko.toml": rules });
    await mounted.call("block_apply_patch", { patch: made("log/b.txt", "b") });
    expect(mounted.read("log/b.txt")).toBe("b\n");
    const { block_id } = await mounted.call("file_load", { path: "a.txt" });
    await mounted.call("file_delete", { path: "a.txt" }, ann);
    const again = await mounted.call<Patched>("block_apply_patch", {
      patch: made("a.txt", "anew"),
    });
    expect([again.files[0]!.block_id, mounted.read("a.txt")]).toEqual([block_id, "anew\n"]);
    const fresh = (await mounted.kernel.newFile({ actor: "claude" }, "c.txt"))!;
    const begun = await fresh.create({ actor: "claude" }, "mine\n");
    writeFileSync(mounted.path("c.txt"), "theirs\n");
    await mounted.kernel.makeFiles({ actor: "claude" }, [begun.block]);
    expect(mounted.read("c.txt")).toBe("theirs\nmine\n");
  });

  it("is a program if the patch says so; the mode of one that is there is left, which is told", async () => {
    await using mounted = await Mounted.with({ "a.txt": THREE });
    const header = (path: string): string => `diff --git a/${path} b/${path}\n`;
    const isProgram = (path: string): boolean => (statSync(mounted.path(path)).mode & 0o100) !== 0;
    const patch =
      `${header("run.sh")}new file mode 100755\n${made("run.sh", "echo")}` +
      `${header("empty.sh")}new file mode 100755\n` +
      `${header("plain.txt")}new file mode 100644\n${made("plain.txt", "text")}`;
    await mounted.call("block_apply_patch", { patch }, ann);
    const modes = (): boolean[] => ["run.sh", "empty.sh", "plain.txt"].map(isProgram);
    expect(modes()).toEqual([true, true, false]);
    await mounted.call("block_undo", {}, ann);
    expect(existsSync(mounted.path("run.sh"))).toBe(false);
    await mounted.call("block_redo", {}, ann);
    expect(modes()).toEqual([true, true, false]);
    const mode = `${header("a.txt")}old mode 100644\nnew mode 100755\n`;
    for (const dry_run of [true, false]) {
      const told = await mounted.call<Patched>("block_apply_patch", { patch: mode, dry_run }, ann);
      expect(told.files).toMatchObject([{ path: "a.txt", mode_kept: true }]);
    }
    expect(isProgram("a.txt")).toBe(false);
  });

  it.each([false, true])(
    "is made at the next start when a crash came between (a program: %j)",
    async (isProgram) => {
      await using mounted = await Mounted.with({ "a.txt": THREE });
      const fresh = (await mounted.kernel.newFile({ actor: "claude" }, "new/b.txt"))!;
      await fresh.create({ actor: "claude" }, "b\n", { isProgram });
      await mounted.text("a.txt");
      expect(existsSync(mounted.path("new/b.txt"))).toBe(false);
      await mounted.restart();
      expect(await mounted.text("new/b.txt")).toBe("b\n");
      expect(mounted.read("new/b.txt")).toBe("b\n");
      expect((statSync(mounted.path("new/b.txt")).mode & 0o100) !== 0).toBe(isProgram);
    },
  );

  it("is not made at the next start when a crash came behind its being taken back", async () => {
    await using mounted = await Mounted.with({ "a.txt": THREE });
    const fresh = (await mounted.kernel.newFile({ actor: "claude" }, "b.sh"))!;
    await fresh.create({ actor: "claude" }, "b\n", { isProgram: true });
    await mounted.call("block_undo", {});
    await mounted.restart();
    await mounted.text("b.sh");
    expect(existsSync(mounted.path("b.sh"))).toBe(false);
    await mounted.call("block_redo", {});
    expect(mounted.read("b.sh")).toBe("b\n");
    expect((statSync(mounted.path("b.sh")).mode & 0o100) !== 0).toBe(true);
  });

  it("is not written where files are saved by hand, and survives a restart until it is", async () => {
    await using mounted = await Mounted.with({ "kumiko.toml": '[mount]\nsave = "manual"\n' });
    await mounted.call("block_apply_patch", { patch: made("b.txt", "b") });
    expect(existsSync(mounted.path("b.txt"))).toBe(false);
    expect(await mounted.text("b.txt")).toBe("b\n");
    await mounted.restart();
    const { files } = await mounted.call<{ files: Answer[] }>("file_status", { path: "b.txt" });
    expect(files).toMatchObject([{ path: "b.txt", status: "block_ahead" }]);
    await mounted.call("file_save", {});
    expect(mounted.read("b.txt")).toBe("b\n");
  });
});
