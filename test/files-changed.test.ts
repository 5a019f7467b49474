import { rmSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { Mounted } from "./support/mounted.ts";

const THREE = "one\ntwo\nthree\n";
const claude = { actor: "claude", kind: "agent" } as const;
const ann = { actor: "ann", kind: "person" } as const;

interface Version {
  readonly version: number;
  readonly actor: string;
  readonly edit: string;
  readonly tool?: string;
  readonly turn?: string;
  readonly call?: string;
}

async function versions(mounted: Mounted, block_id: string): Promise<Version[]> {
  return (await mounted.call<{ versions: Version[] }>("block_history", { block_id })).versions;
}

const actors = async (mounted: Mounted, path: string): Promise<string[]> =>
  (await versions(mounted, path)).map(({ actor }) => actor).toReversed();

describe("what somebody writes with tools of their own", () => {
  test("is theirs when they say so afterwards", async () => {
    await using mounted = await Mounted.with({ "a.txt": THREE });
    await mounted.call("file_load", { path: "a.txt" });
    mounted.write("a.txt", "one\nTWO\nthree\n");
    const input = { path: "a.txt", tool: "Edit", turn: "t7" };
    const by = { ...claude, call: "call-1" };
    const answer = await mounted.call("file_changed", input, by);
    expect(answer).toMatchObject({ path: "a.txt", version: 2, status: "synced" });
    const [newest] = await versions(mounted, "a.txt");
    expect(newest).toMatchObject({ actor: "claude", tool: "Edit", turn: "t7", call: "call-1" });
    // Nothing new is nobody's.
    expect(await mounted.call("file_changed", input, by)).toMatchObject({ version: 2 });
  });

  test("is theirs when they said so beforehand, whoever comes upon it", async () => {
    await using mounted = await Mounted.with({ "a.txt": THREE, "b.txt": THREE });
    const content = "one\nTWO\nthree\n";
    await mounted.call("file_changed", { path: "a.txt", begins: true, content }, claude);
    mounted.write("a.txt", content);
    expect(await mounted.text("a.txt")).toBe("one\nTWO\nthree\n");
    expect(await actors(mounted, "a.txt")).toEqual(["disk", "claude"]);
    // What was there before it began is not.
    await mounted.call("file_load", { path: "b.txt" });
    mounted.write("b.txt", "ONE\ntwo\nthree\n");
    await mounted.call("file_changed", { path: "b.txt", begins: true }, claude);
    mounted.write("b.txt", "ONE\ntwo\nTHREE\n");
    await mounted.call("file_changed", { path: "b.txt" }, claude);
    expect(await actors(mounted, "b.txt")).toEqual(["disk", "disk", "claude"]);
    // It is over with that.
    mounted.write("b.txt", "ONE\nTWO\nTHREE\n");
    await mounted.text("b.txt");
    expect(await actors(mounted, "b.txt")).toEqual(["disk", "disk", "claude", "disk"]);
  });

  test("at every level, also where they might not have written: it has happened", async () => {
    for (const level of ["human", "partner", "read_only", "secret"]) {
      await using mounted = await Mounted.with({
        "a.txt": THREE,
        "kumiko.toml": `[[rule]]\npath = "a.txt"\nlevel = "${level}"\n`,
      });
      const said = { path: "a.txt", tool: "Edit" };
      await mounted.call("file_changed", { ...said, begins: true }, claude);
      mounted.write("a.txt", "one\nTWO\nthree\n");
      await mounted.call("file_changed", said, claude);
      const { versions: all } = await mounted.call<{ versions: Version[] }>(
        "block_history",
        { block_id: "a.txt" },
        ann,
      );
      expect([level, all.map(({ actor }) => actor)]).toEqual([level, ["claude", "disk"]]);
      // And nothing else is allowed by it.
      const edit = { block_id: "a.txt", old: "one", new: "ONE" };
      await expect(mounted.call("block_replace", edit, claude)).rejects.toMatchObject({
        code: "denied",
      });
    }
  });

  test("is theirs only if it is what they said, however late it comes", async () => {
    await using mounted = await Mounted.with({ "a.txt": THREE, "new.txt": "" });
    const edits = [{ old: "two", new: "TWO" }];
    const begins = { path: "a.txt", begins: true, edits, tool: "Edit", turn: "s1" };
    await mounted.call("file_changed", begins, { ...claude, call: "c1" });
    // The person is asked, refuses, and writes something else; later the tool is asked for again and allowed.
    mounted.write("a.txt", "one\ntwo\nthree\nby ann in vim\n");
    await mounted.text("a.txt");
    mounted.write("a.txt", "one\nTWO\nthree\nby ann in vim\n");
    await mounted.text("a.txt");
    expect(await actors(mounted, "a.txt")).toEqual(["disk", "disk", "claude"]);
    expect((await versions(mounted, "a.txt"))[0]).toMatchObject({ call: "c1", turn: "s1" });
    await mounted.call("file_changed", { path: "b.txt", begins: true, content: "b\n" }, claude);
    mounted.write("b.txt", "of ann\n");
    expect(await mounted.text("b.txt")).toBe("of ann\n");
    expect(await actors(mounted, "b.txt")).toEqual(["disk"]);
  });

  test.each(["their second word", "a reading"])(
    "is theirs without what others wrote in the same moment, found by %s",
    async (finder) => {
      await using mounted = await Mounted.with({ "a.txt": THREE });
      await mounted.call("file_load", { path: "a.txt" });
      const edits = [{ old: "three", new: "THREE" }];
      const by = { ...claude, call: "c1" };
      await mounted.call("file_changed", { path: "a.txt", begins: true, edits }, by);
      mounted.write("a.txt", "ONE by ann\ntwo\nTHREE\n");
      if (finder === "a reading") await mounted.text("a.txt");
      await mounted.call("file_changed", { path: "a.txt" }, by);
      expect(await actors(mounted, "a.txt")).toEqual(["disk", "claude", "disk"]);
      expect(await mounted.text("a.txt")).toBe("ONE by ann\ntwo\nTHREE\n");
      await mounted.restart();
      expect(await actors(mounted, "a.txt")).toEqual(["disk", "claude", "disk"]);
      await mounted.call("block_undo", {}, claude);
      expect(mounted.read("a.txt")).toBe("ONE by ann\ntwo\nthree\n");
    },
  );

  test("is nobody's any more once they gave it up, the call or the turn", async () => {
    await using mounted = await Mounted.with({ "a.txt": THREE, "b.txt": THREE });
    const edits = [{ old: "two", new: "TWO" }];
    const begins = { begins: true, edits, turn: "s1" };
    for (const path of ["a.txt", "b.txt"])
      await mounted.call("file_changed", { ...begins, path }, { ...claude, call: path });
    await mounted.call(
      "file_changed",
      { path: "a.txt", given_up: true },
      { ...claude, call: "a.txt" },
    );
    // That of another turn, and of another actor, withdraws nothing.
    await mounted.call("file_changed", { given_up: true, turn: "s2" }, claude);
    await mounted.call("file_changed", { given_up: true, turn: "s1" }, ann);
    for (const path of ["a.txt", "b.txt"]) mounted.write(path, "one\nTWO\nthree\n");
    await mounted.text("a.txt");
    await mounted.text("b.txt");
    expect(await actors(mounted, "a.txt")).toEqual(["disk", "disk"]);
    expect(await actors(mounted, "b.txt")).toEqual(["disk", "claude"]);
    await mounted.call(
      "file_changed",
      { ...begins, path: "b.txt", edits: [{ old: "one", new: "ONE" }] },
      claude,
    );
    await mounted.call("file_changed", { given_up: true, turn: "s1" }, claude);
    mounted.write("b.txt", "ONE\nTWO\nthree\n");
    await mounted.text("b.txt");
    expect(await actors(mounted, "b.txt")).toEqual(["disk", "claude", "disk"]);
  });

  test("is nobody's beforehand if they do not say what it will be", async () => {
    await using mounted = await Mounted.with({ "a.txt": THREE });
    await mounted.call("file_changed", { path: "a.txt", begins: true }, claude);
    mounted.write("a.txt", "written by ann in vim\n");
    await mounted.text("a.txt");
    expect(await actors(mounted, "a.txt")).toEqual(["disk", "disk"]);
  });

  test("is refused when what is said of it contradicts itself", async () => {
    await using mounted = await Mounted.with({ "a.txt": THREE });
    const path = "a.txt";
    for (const input of [
      {},
      { path, content: "x" },
      { path, begins: true, given_up: true },
      { path, begins: true, content: "x", holds: ["x"] },
    ])
      await expect(mounted.call("file_changed", input, claude)).rejects.toMatchObject({
        code: "invalid_argument",
      });
  });

  test("is not passed over when a session undoes without saying what: it may be its own", async () => {
    await using mounted = await Mounted.with({ "a.txt": THREE, "b.txt": THREE });
    const session = { ...claude, reader: "session" };
    const another = { ...claude, reader: "another" };
    const replace = (old: string, by: string, caller: typeof session): Promise<unknown> =>
      mounted.call("block_replace", { block_id: "b.txt", old, new: by }, caller);
    await replace("two", "TWO", session);
    const [here] = await versions(mounted, "b.txt");
    const change = async (text: string): Promise<Version> => {
      mounted.write("a.txt", text);
      await mounted.call("file_changed", { path: "a.txt" }, { ...claude, reader: "hook" });
      return (await versions(mounted, "a.txt"))[0]!;
    };
    await mounted.text("a.txt");
    const native = await change("one\nTWO\nthree\n");
    const undecided = {
      code: "nothing_to_undo",
      message: expect.stringContaining("of no session that is known"),
      facts: { edit: native.edit, here: here!.edit },
    };
    await expect(mounted.call("block_undo", {}, session)).rejects.toMatchObject(undecided);
    // What another session makes then hides it no less.
    await replace("three", "THREE", another);
    await replace("THREE", "Three", another);
    await expect(mounted.call("block_undo", {}, session)).rejects.toMatchObject(undecided);
    expect(mounted.read("b.txt")).toBe("one\nTWO\nThree\n");
    await mounted.call("block_undo", { edit: native.edit }, session);
    expect(mounted.read("a.txt")).toBe(THREE);
    // What is older than the session's own leaves no doubt.
    await change("one\ntwo\nTHREE\n");
    await replace("one", "ONE", session);
    await replace("Three", "three", another);
    await mounted.call("block_undo", {}, session);
    expect(mounted.read("b.txt")).toBe("one\nTWO\nthree\n");
  });

  test("the last one who said so is believed", async () => {
    await using mounted = await Mounted.with({ "a.txt": THREE });
    const edits = [{ old: "two", new: "TWO" }];
    await mounted.call("file_changed", { path: "a.txt", begins: true, edits }, claude);
    await mounted.call("file_changed", { path: "a.txt", begins: true, edits }, ann);
    mounted.write("a.txt", "one\nTWO\nthree\n");
    await mounted.text("a.txt");
    expect(await actors(mounted, "a.txt")).toEqual(["disk", "ann"]);
  });

  test("one epoch of the disk is one Edit, but for what was announced", async () => {
    await using mounted = await Mounted.with({ "a.txt": THREE, "b.txt": THREE, "c.txt": THREE });
    const paths = ["a.txt", "b.txt", "c.txt"];
    for (const path of paths) await mounted.call("file_load", { path });
    const edits = [{ old: "two", new: "TWO" }];
    await mounted.call("file_changed", { path: "b.txt", begins: true, edits }, claude);
    for (const path of paths) mounted.write(path, "one\nTWO\nthree\n");
    const { source } = mounted.mounts.first();
    await source.takingIn.changed({ changed: paths, gone: [], renamed: [] });
    const newest = await Promise.all(
      paths.map(async (path) => (await versions(mounted, path))[0]!),
    );
    expect(newest.map(({ actor }) => actor)).toEqual(["disk", "claude", "disk"]);
    expect(newest[0]!.edit).toBe(newest[2]!.edit);
    expect(newest[1]!.edit).not.toBe(newest[0]!.edit);
  });

  test("a new file is its author's, and one that went away is told so", async () => {
    await using mounted = await Mounted.with({ "a.txt": THREE });
    const input = { path: "new.txt", begins: true, content: "new\n" };
    const begun = await mounted.call("file_changed", input, claude);
    expect(begun).toEqual({ path: "new.txt", status: "not_loaded" });
    mounted.write("new.txt", "new\n");
    await mounted.call("file_changed", { path: "new.txt" }, claude);
    expect(await actors(mounted, "new.txt")).toEqual(["claude"]);
    rmSync(mounted.path("new.txt"));
    const gone = await mounted.call("file_changed", { path: "new.txt" }, claude);
    expect(gone).toMatchObject({ status: "deleted" });
  });

  test.each([ann, claude])(
    "is merged with what $actor wrote in the block, and in conflict with it",
    async (writer) => {
      await using mounted = await Mounted.with({
        "a.txt": THREE,
        "kumiko.toml": '[mount]\nsave = "manual"\n',
      });
      await mounted.call("block_replace", { block_id: "a.txt", old: "two", new: "BLOCK" }, writer);
      mounted.write("a.txt", "ONE\nDISK\nthree\n");
      await mounted.call("file_changed", { path: "a.txt" }, claude);
      const { conflicts } = await mounted.call<{ conflicts: object[] }>("file_status", {});
      expect(conflicts).toMatchObject([{ theirs: "claude", mine: [writer.actor] }]);
      expect(await mounted.text("a.txt")).toContain("ONE\n");
    },
  );
});
