import { chmodSync, existsSync, renameSync, rmSync, statSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { type Answer, Mounted } from "./support/mounted.ts";
import { refusalOf } from "./support/refusal.ts";

const claude = { actor: "claude", kind: "agent" } as const;
const ann = { actor: "ann", kind: "person" } as const;

async function replace(mounted: Mounted, old: string, by: string): Promise<void> {
  await mounted.call("block_replace", { block_id: "a.txt", old, new: by }, claude);
}

/** What the file says when an actor's newest Edit was taken back, and what the answer says about it. */
async function undo(mounted: Mounted, actor = "claude"): Promise<{ disk: string; told: Answer }> {
  const answer = await mounted.call<{ blocks: Answer[] }>("block_undo", { actor }, ann);
  return { disk: mounted.read("a.txt"), told: answer.blocks[0]! };
}

describe("undoing what the disk did last", () => {
  const files = { "a.txt": "a\n", "b.txt": "b\n", "c.txt": "c\n" };

  test("passes over files that were first read since", async () => {
    await using mounted = await Mounted.with(files);
    await mounted.text("a.txt");
    mounted.write("a.txt", "a\nsed\n");
    expect(await mounted.text("a.txt")).toBe("a\nsed\n");
    await mounted.text("b.txt");
    await mounted.text("c.txt");
    expect((await undo(mounted, "disk")).disk).toBe("a\n");
    expect(mounted.read("b.txt")).toBe("b\n");
  });

  test("says that there is nothing where files were only read", async () => {
    await using mounted = await Mounted.with(files);
    await mounted.text("a.txt");
    await mounted.text("b.txt");
    expect(await refusalOf(mounted.call("block_undo", { actor: "disk" }, ann))).toMatchObject({
      code: "nothing_to_undo",
      message: "Nothing to undo: disk has no Edit that could be undone.",
    });
    const { versions } = await mounted.call<{ versions: { edit: string }[] }>("block_history", {
      block_id: "b.txt",
    });
    const { edit } = versions[0]!;
    expect(await refusalOf(mounted.call("block_undo", { edit }, ann))).toMatchObject({
      code: "nothing_to_undo",
      message: expect.stringContaining("as it was first read from its file"),
      facts: { edit },
    });
    expect(mounted.read("b.txt")).toBe("b\n");
  });
});

describe("undoing what another program has decided since", () => {
  test("gives back nothing when the file was set back by writing it", async () => {
    const before = "a\nb\nc\n";
    await using mounted = await Mounted.with({ "a.txt": before });
    await replace(mounted, "b", "B");
    expect(mounted.read("a.txt")).toBe("a\nB\nc\n");
    mounted.write("a.txt", before);
    expect(await mounted.text("a.txt")).toBe(before);
    expect(await undo(mounted)).toMatchObject({ disk: before, told: { diff: "", stayed: 2 } });
    expect(await mounted.text("a.txt")).toBe(before);
    // Both ways, and also when what the program did is taken back.
    await mounted.call("block_redo", { actor: "ann" }, ann);
    expect(await mounted.text("a.txt")).toBe(before);
    expect((await undo(mounted, "disk")).disk).toBe("a\nB\nc\n");
    expect((await undo(mounted)).disk).toBe(before);
  });

  test("gives back nothing when git set it back", async () => {
    const before = Array.from({ length: 20 }, (_, at) => `line ${at}\n`).join("");
    await using mounted = await Mounted.with({ "a.txt": before });
    mounted.run("git", "init", "-q");
    mounted.run("git", "add", "a.txt");
    await replace(mounted, "line 12", "line twelve");
    await replace(mounted, "line 3\n", "line three\nline three and a half\n");
    mounted.run("git", "checkout", "-q", "--", "a.txt");
    expect(await mounted.text("a.txt")).toBe(before);
    expect((await undo(mounted)).disk).toBe(before);
    expect((await undo(mounted)).disk).toBe(before);
  });

  test("gives back nothing where the disk stood in a conflict", async () => {
    await using mounted = await Mounted.with({
      "a.txt": "one\ntwo\nthree\n",
      "kumiko.toml": '[mount]\nsave = "manual"\n',
    });
    await replace(mounted, "three", "THREE claude");
    mounted.write("a.txt", "one\ntwo\nTHREE sed\n");
    expect(await mounted.text("a.txt")).toBe("one\ntwo\nTHREE sed\n");
    await undo(mounted);
    expect(await mounted.text("a.txt")).toBe("one\ntwo\nTHREE sed\n");
  });

  test.each([
    { claude: "two by claude", sed: "s/two by claude/two by sed/", after: "two by sed" },
    { claude: "two by claude", sed: "s/claude/sed/", after: "two by sed" },
    { claude: "two by claude", sed: "s/by/not by/", after: "two not by claude" },
    { claude: "two(items)", sed: "s/items/rows/", after: "two(rows)" },
    { claude: "let total = sum(items);", sed: "s/sum/add/", after: "let total = add(items);" },
    { claude: "two by a b", sed: "s/two/  two/; s/a b/a, b/", after: "  two by a, b" },
    { claude: "two by claude now", sed: "s/by/by  /; s/now/then/", after: "two by   claude then" },
    { claude: "two by claude now", sed: "s/by claude/claude by/", after: "two claude by now" },
  ])("leaves $after whole", async ({ claude: written, sed, after }) => {
    await using mounted = await Mounted.with({ "a.txt": "one\ntwo\nthree\n" });
    await replace(mounted, "two", written);
    mounted.run("sed", "-i", sed, "a.txt");
    expect(await mounted.text("a.txt")).toBe(`one\n${after}\nthree\n`);
    expect((await undo(mounted)).disk).toBe(`one\n${after}\nthree\n`);
  });

  test("takes back what the program left alone, in other lines and in the same one", async () => {
    await using mounted = await Mounted.with({ "a.txt": "one of many words\ntwo\nthree\n" });
    await replace(mounted, "many words\ntwo\n", "several words\nTWO\nand more\n");
    mounted.run("sed", "-i", "s/one/ONE/; s/three/THREE/", "a.txt");
    expect(await mounted.text("a.txt")).toBe("ONE of several words\nTWO\nand more\nTHREE\n");
    expect((await undo(mounted)).disk).toBe("ONE of many words\ntwo\nTHREE\n");
  });

  test.each([
    { sed: "s/^/  /", undone: "  line 4 of mod" },
    { sed: "s/$/;/", undone: "line 4 of mod;" },
    { sed: "s/ /  /g", undone: "line  4  of  mod" },
    { sed: "s/^line/LINE/; s/mod/MOD/", undone: "LINE 4 of MOD" },
  ])(
    "keeps what was written in lines that $sed changed, and its undoing",
    async ({ sed, undone }) => {
      const lines = Array.from({ length: 20 }, (_, at) => `line ${at} of mod\n`);
      await using mounted = await Mounted.with({ "a.txt": lines.join("") });
      await replace(mounted, "line 4 of", "line FOUR of");
      mounted.run("sed", "-i", sed, "a.txt");
      const formatted = await mounted.text("a.txt");
      const { runs } = await mounted.call<{ runs: Answer[] }>("block_blame", { block_id: "a.txt" });
      const own = runs.filter(({ actor }) => actor === "claude").map(({ text }) => text);
      expect(own).toEqual(["FOUR"]);
      const { disk, told } = await undo(mounted);
      expect(disk.split("\n")[4]).toBe(undone);
      expect(disk).toBe(formatted.replace("FOUR", "4"));
      expect(told["stayed"]).toBe(0);
    },
  );

  test("leaves what a program put into whole lines in lines of their own", async () => {
    await using mounted = await Mounted.with({ "a.txt": "one\nthree\n" });
    await replace(mounted, "three", "two\ntwo and more\nthree");
    mounted.run("sed", "-i", "s/^/  /; s/more/more;/", "a.txt");
    expect(await mounted.text("a.txt")).toBe("  one\n  two\n  two and more;\n  three\n");
    expect((await undo(mounted)).disk).toBe("  one\n  \n  ;\n  three\n");
  });

  test("PLACE-1: gives back a word where it was, also when the program changed what stands behind it", async () => {
    const lines = (indent: string): string =>
      Array.from({ length: 20 }, (_, at) => `${indent}line ${at + 1} of mod\n`).join("");
    await using mounted = await Mounted.with({ "a.txt": lines("") });
    await mounted.text("a.txt");
    mounted.write("a.txt", lines("    "));
    await mounted.text("a.txt");
    await replace(mounted, "line 9 of", "line NINE of");
    mounted.write("a.txt", mounted.read("a.txt").replace("NINE of mod\n", "NINE of modules\n"));
    await mounted.text("a.txt");
    expect((await undo(mounted)).disk).toBe(
      lines("    ").replace(" 9 of mod\n", " 9 of modules\n"),
    );
  });

  test("blames a program for the words it wrote, not for the letters", async () => {
    await using mounted = await Mounted.with({ "a.txt": "the colour of all things\n" });
    await mounted.text("a.txt");
    mounted.run("sed", "-i", "s/colour/color/", "a.txt");
    await mounted.text("a.txt");
    const { runs } = await mounted.call<{ runs: Answer[] }>("block_blame", { block_id: "a.txt" });
    expect(runs.map(({ text }) => text)).toEqual(["the ", "color", " of all things\n"]);
  });
});

describe("undoing what decided a conflict", () => {
  async function inConflict(rules = ""): Promise<Mounted> {
    const mounted = await Mounted.with({
      "a.txt": "one\ntwo\nthree\n",
      "kumiko.toml": `${rules}[mount]\nsave = "manual"\n`,
    });
    await mounted.call("block_replace", { block_id: "a.txt", old: "two", new: "mine" }, ann);
    mounted.write("a.txt", "one\ndisk\nthree\n");
    await mounted.text("a.txt");
    expect(await conflicts(mounted)).toEqual(["c1"]);
    return mounted;
  }

  async function conflicts(mounted: Mounted): Promise<unknown[]> {
    const status = await mounted.call<{ conflicts: Answer[] }>("file_status", {}, ann);
    return status.conflicts.map(({ conflict }) => conflict);
  }

  test("opens it again, and redoing closes it, also behind a restart", async () => {
    await using mounted = await inConflict();
    const decided = { conflict: "c1", choice: "both" };
    const { edit } = await mounted.call("file_resolve", decided, ann);
    expect(await mounted.text("a.txt")).toBe("one\ndisk\nmine\nthree\n");
    expect(await conflicts(mounted)).toEqual([]);
    await mounted.restart();
    await mounted.call("block_undo", { edit }, ann);
    expect(await mounted.text("a.txt")).toBe("one\ndisk\nthree\n");
    expect(await conflicts(mounted)).toEqual(["c1"]);
    await mounted.restart();
    expect(await conflicts(mounted)).toEqual(["c1"]);
    await mounted.call("block_redo", { edit }, ann);
    expect(await mounted.text("a.txt")).toBe("one\ndisk\nmine\nthree\n");
    expect(await conflicts(mounted)).toEqual([]);
    // Undone once more, it is decided anew, and the first Edit has no say in it any more.
    await mounted.call("block_undo", { edit }, ann);
    await mounted.call("file_resolve", { conflict: "c1", choice: "mine" }, ann);
    await mounted.call("block_redo", { edit }, ann);
    expect(await conflicts(mounted)).toEqual([]);
  });

  test("makes a file wait again for which somebody has to decide", async () => {
    await using mounted = await inConflict('[[rule]]\npath = "a.txt"\nlevel = "human"\n');
    const files = async (): Promise<Answer[]> =>
      (await mounted.call<{ files: Answer[] }>("file_status", { path: "a.txt" }, ann)).files;
    await mounted.call("file_resolve", { conflict: "c1", choice: "disk" }, ann);
    expect(await files()).not.toMatchObject([{ status: "conflict" }]);
    await mounted.call("block_undo", {}, ann);
    expect(await files()).toMatchObject([{ status: "conflict" }]);
    expect(mounted.read("a.txt")).toBe("one\ndisk\nthree\n");
  });

  test("is not spoken of when no line changed", async () => {
    await using mounted = await inConflict();
    const answer = await mounted.call("file_resolve", { conflict: "c1", choice: "disk" });
    expect(answer["edit"]).toBeUndefined();
    expect(await conflicts(mounted)).toEqual([]);
  });
});

describe("two sessions of one program, which act in one name", () => {
  const by = (reader: string, kind: "agent" | "person" = "agent") =>
    ({ actor: "claude-code", kind, reader }) as const;
  const files = { "a.txt": "a\n", "b.txt": "b\n" };
  async function edited(kind?: "agent" | "person"): Promise<Mounted> {
    const mounted = await Mounted.with(files);
    for (const [path, reader] of [
      ["a", "first"],
      ["b", "second"],
    ] as const) {
      const input = { block_id: `${path}.txt`, old: path, new: path.toUpperCase() };
      await mounted.call("block_replace", input, by(reader, kind));
    }
    return mounted;
  }
  const both = (mounted: Mounted): string[] => [mounted.read("a.txt"), mounted.read("b.txt")];

  test("take back and bring back only their own, unless they name what they mean", async () => {
    await using mounted = await edited();
    await mounted.call("block_undo", {}, by("first"));
    expect(both(mounted)).toEqual(["a\n", "B\n"]);
    const refused = await refusalOf(mounted.call("block_undo", {}, by("first")));
    expect(refused).toMatchObject({ code: "nothing_to_undo", facts: { actor: "claude-code" } });
    expect(await refusalOf(mounted.call("block_redo", {}, by("second")))).toMatchObject({
      code: "nothing_to_undo",
    });
    await mounted.call("block_redo", {}, by("first"));
    expect(both(mounted)).toEqual(["A\n", "B\n"]);
    for (const tool of ["block_undo", "block_redo"])
      expect(await refusalOf(mounted.call(tool, {}, by("third")))).toMatchObject({
        code: "nothing_to_undo",
      });
    const { edit } = refused.facts as { edit: string };
    await mounted.call("block_undo", { edit }, by("third"));
    expect(both(mounted)).toEqual(["A\n", "b\n"]);
  });

  test("have nothing to bring back once they wrote on", async () => {
    await using mounted = await edited();
    await mounted.call("block_undo", {}, by("first"));
    const input = { block_id: "a.txt", old: "a", new: "other" };
    await mounted.call("block_replace", input, by("first"));
    expect(await refusalOf(mounted.call("block_redo", {}, by("first")))).toMatchObject({
      code: "nothing_to_undo",
    });
  });

  test("are one person's, whose commands are a process each", async () => {
    await using mounted = await edited("person");
    for (const reader of ["third", "fourth"])
      await mounted.call("block_undo", {}, by(reader, "person"));
    expect(both(mounted)).toEqual(["a\n", "b\n"]);
  });

  test("may mean what was done before a restart: nobody knows whose that was", async () => {
    await using mounted = await edited();
    await mounted.restart();
    await mounted.call("block_undo", {}, by("second"));
    expect(both(mounted)).toEqual(["A\n", "b\n"]);
  });
});

describe("undoing what somebody did to a whole file", () => {
  const TEXT = "#!/bin/sh\necho one\n";
  const CRLF = "one\r\ntwo\r\n";

  test("brings a deleted one back as it was, and redoing deletes it, also behind restarts", async () => {
    await using mounted = await Mounted.with({ "a.sh": TEXT, "b.txt": CRLF, empty: "" });
    chmodSync(mounted.path("a.sh"), 0o755);
    for (const path of ["a.sh", "b.txt", "empty"]) {
      const before = mounted.bytes(path);
      const { mode } = statSync(mounted.path(path));
      await mounted.text(path);
      const { block_id, edit } = await mounted.call("file_delete", { path, message: "old" }, ann);
      expect(existsSync(mounted.path(path))).toBe(false);
      await mounted.restart();
      const undone = await mounted.call("block_undo", {}, ann);
      expect(undone).toMatchObject({ flipped: edit, actor: "ann", blocks: [{ block_id, path }] });
      expect([mounted.bytes(path), statSync(mounted.path(path)).mode]).toEqual([before, mode]);
      await mounted.restart();
      await mounted.call("block_redo", {}, ann);
      expect(existsSync(mounted.path(path))).toBe(false);
      // To undo what redid it brings it back as well.
      await mounted.call("block_undo", { edit }, ann);
      expect(mounted.bytes(path)).toEqual(before);
      const { versions } = await mounted.call<{ versions: Answer[] }>("block_history", {
        block_id: path,
        limit: 10,
      });
      expect(versions).toContainEqual(
        expect.objectContaining({ actor: "ann", tool: "file_delete", edit, message: "old" }),
      );
      expect(await mounted.call("file_status", { path }, ann)).toMatchObject({
        files: [{ status: "synced" }],
      });
    }
  });

  test("moves it back, with what was written to it since, and forth again", async () => {
    await using mounted = await Mounted.with({ "a.txt": "one\ntwo\n" });
    const { block_id } = await mounted.call("file_load", { path: "a.txt" });
    await mounted.call("file_move", { path: "a.txt", to: "deep/b.txt" }, ann);
    await mounted.call("block_replace", { block_id: "deep/b.txt", old: "two", new: "TWO" });
    await mounted.restart();
    await mounted.call("block_undo", {}, ann);
    expect([mounted.read("a.txt"), existsSync(mounted.path("deep/b.txt"))]).toEqual([
      "one\nTWO\n",
      false,
    ]);
    expect((await mounted.call("file_load", { path: "a.txt" }))["block_id"]).toBe(block_id);
    await mounted.call("block_redo", {}, ann);
    expect(mounted.read("deep/b.txt")).toBe("one\nTWO\n");
  });

  test("goes over nothing, and takes back only what still is as it was left", async () => {
    await using mounted = await Mounted.with({ "a.txt": "one\n", "b.txt": "two\n" });
    const moved = await mounted.call("file_move", { path: "a.txt", to: "c.txt" }, ann);
    mounted.write("a.txt", "another\n");
    const undoing = (edit: unknown, by: object = ann) =>
      refusalOf(mounted.call("block_undo", { edit }, by));
    expect((await undoing(moved["edit"])).code).toBe("already_exists");
    rmSync(mounted.path("a.txt"));
    await mounted.call("file_move", { path: "c.txt", to: "d.txt" }, ann);
    expect(await undoing(moved["edit"])).toMatchObject({ code: "conflict" });
    expect([mounted.read("d.txt"), mounted.read("b.txt")]).toEqual(["one\n", "two\n"]);
    const deleted = await mounted.call("file_delete", { path: "b.txt" }, ann);
    mounted.write("b.txt", "came back\n");
    expect((await undoing(deleted["edit"])).code).toBe("already_exists");
    expect(mounted.read("b.txt")).toBe("came back\n");
    rmSync(mounted.path("b.txt"));
    await mounted.call("block_undo", { edit: deleted["edit"] }, ann);
    expect((await undoing(deleted["edit"])).code).toBe("nothing_to_undo");
  });

  test("is for whoever may make it there, and redoing for whoever may delete it", async () => {
    const rules = '[[rule]]\npath = "kept/**"\nlevel = "read_only"\n';
    await using mounted = await Mounted.with({ "a.txt": "one\n", "b.txt": "two\n" });
    const moved = await mounted.call("file_move", { path: "a.txt", to: "c.txt" }, ann);
    const deleted = await mounted.call("file_delete", { path: "b.txt" }, ann);
    const denied = async (tool: string, edit: unknown, by: object = claude) =>
      expect((await refusalOf(mounted.call(tool, { edit }, by))).code).toBe("denied");
    // To move is to delete here, which agents ask for; to bring back is to create.
    await denied("block_undo", moved["edit"]);
    await mounted.call("block_undo", { edit: deleted["edit"] }, claude);
    expect(mounted.read("b.txt")).toBe("two\n");
    await denied("block_redo", deleted["edit"]);
    renameSync(mounted.path("b.txt"), mounted.path("elsewhere"));
    mounted.write("kumiko.toml", rules.replace("kept/**", "*.txt"));
    await mounted.restart();
    await denied("block_undo", moved["edit"], ann);
    expect(mounted.read("c.txt")).toBe("one\n");
  });

  test.each([ann, { ...claude, reader: "session" }])(
    "is done by the newest Edit of $actor, and the one before it by the next",
    async (by) => {
      const rules = '[[rule]]\npath = "**"\nlevel = "admin"\n';
      await using mounted = await Mounted.with({ "a.txt": "one\n", "kumiko.toml": rules });
      await mounted.call("block_replace", { block_id: "a.txt", old: "one", new: "ONE" }, by);
      await mounted.call("file_move", { path: "a.txt", to: "b.txt" }, by);
      await mounted.call("file_delete", { path: "b.txt" }, by);
      await mounted.call("file_create", { path: "b.txt", content: "new\n" }, by);
      await mounted.call("block_undo", {}, by);
      expect(existsSync(mounted.path("b.txt"))).toBe(false);
      await mounted.call("block_undo", {}, by);
      expect(mounted.read("b.txt")).toBe("ONE\n");
      await mounted.call("file_delete", { path: "b.txt" }, by);
      await mounted.call("block_undo", {}, by);
      expect(mounted.read("b.txt")).toBe("ONE\n");
      await refusalOf(mounted.call("block_undo", { edit: "e0-0-moves" }, by));
      await mounted.call("block_redo", {}, by);
      expect(existsSync(mounted.path("b.txt"))).toBe(false);
    },
  );

  test("comes after what was done later, one by one", async () => {
    await using mounted = await Mounted.with({ "a.txt": "one\n" });
    await mounted.call("block_replace", { block_id: "a.txt", old: "one", new: "ONE" }, ann);
    await mounted.call("file_move", { path: "a.txt", to: "b.txt" }, ann);
    await mounted.call("file_delete", { path: "b.txt" }, ann);
    await mounted.call("block_undo", {}, ann);
    expect(mounted.read("b.txt")).toBe("ONE\n");
    await mounted.call("block_undo", {}, ann);
    expect(mounted.read("a.txt")).toBe("ONE\n");
    await mounted.call("block_undo", {}, ann);
    expect(mounted.read("a.txt")).toBe("one\n");
  });
});

test("undoing an Edit of a file whose place another file has says so, also behind a restart", async () => {
  await using mounted = await Mounted.with({ "a.txt": "one\n", "b.txt": "another\n" });
  const change = { block_id: "a.txt", old: "one", new: "ONE" };
  const { edit } = await mounted.call("block_replace", change, claude);
  const block_id = mounted.mounts.first().source.files.at("a.txt")!.block;
  await mounted.call("file_delete", { path: "a.txt" }, ann);
  await mounted.call("file_move", { path: "b.txt", to: "a.txt" }, ann);
  const other = mounted.mounts.first().source.files.at("a.txt")!.block;
  for (const tool of ["block_undo", "block_redo"]) {
    const { unsaved } = await mounted.call<{ unsaved: Answer[] }>(tool, { edit }, ann);
    expect(unsaved).toMatchObject([{ path: "a.txt", block_id }]);
    expect(unsaved[0]!["why"]).toContain(`another file is there now: ${other}`);
    expect(unsaved[0]!["why"]).not.toContain("file_save");
    expect(mounted.read("a.txt")).toBe("another\n");
    await mounted.restart();
  }
});
