import { chmodSync, closeSync, existsSync, openSync, rmSync, statSync, writeSync } from "node:fs";
import { describe, expect, test, vi } from "vitest";
import { KumikoError } from "../src/base/index.ts";
import { Mounted } from "./support/mounted.ts";

const claude = { actor: "claude", kind: "agent" } as const;
const codex = { actor: "codex", kind: "agent" } as const;
const ann = { actor: "ann", kind: "person" } as const;
const OPEN = { "kumiko.toml": '[[rule]]\npath = "**"\nlevel = "admin"\n' };
const MANUAL = { "kumiko.toml": '[mount]\nsave = "manual"\n' };

const full = new KumikoError("file_unwritable", "the disk is full", {});

const MAKING = {
  file_create: (path: string) => ({ path, content: "new\n" }),
  block_apply_patch: (path: string) => ({
    patch: `--- /dev/null\n+++ b/${path}\n@@ -0,0 +1 @@\n+new\n`,
  }),
};
const MAKING_EMPTY = {
  file_create: (path: string) => ({ path, content: "" }),
  block_apply_patch: (path: string) => ({
    patch: `diff --git a/${path} b/${path}\nnew file mode 100644\n`,
  }),
};

describe("a file that cannot be made", () => {
  const ways = Object.entries(MAKING);
  const closed = new KumikoError("file_unwritable", "its folder is closed", {});

  async function expectNothingMade(mounted: Mounted, path: string): Promise<void> {
    expect(existsSync(mounted.path(path))).toBe(false);
    expect(await mounted.call("file_status", {}, claude)).toMatchObject({
      files: [{ path: "before.txt", status: "synced" }],
      conflicts: [],
    });
    await expect(mounted.call("block_redo", {}, claude)).rejects.toMatchObject({
      code: "nothing_to_undo",
    });
    expect(await mounted.call("block_undo", {}, claude)).toMatchObject({
      blocks: [{ path: "before.txt" }],
    });
    expect(mounted.read("before.txt")).toBe("before\n");
  }

  async function edited(): Promise<Mounted> {
    const mounted = await Mounted.with({ ...OPEN, "before.txt": "before\n" });
    const edit = { block_id: "before.txt", old: "before", new: "after" };
    await mounted.call("block_replace", edit, claude);
    return mounted;
  }

  test.each(ways)(
    "%s: is refused before anything is done where the folder is closed",
    async (tool, input) => {
      await using mounted = await edited();
      const { kernel } = mounted;
      vi.spyOn(mounted.mounts.first().source.disk, "checkMakes").mockImplementation(() => {
        throw closed;
      });
      const made = vi.spyOn(kernel, "createFile");
      const refused = mounted.call(tool, input("new.txt"), claude);
      await expect(refused).rejects.toThrow(closed.message);
      expect(made).not.toHaveBeenCalled();
      await expectNothingMade(mounted, "new.txt");
    },
  );

  test.each(ways)(
    "%s: is nobody's Edit where the disk is full, now or later",
    async (tool, input) => {
      await using mounted = await edited();
      const { disk } = mounted.mounts.first().source;
      const save = vi.spyOn(disk, "save").mockRejectedValue(full);
      const call = { ...claude, call: "once" };
      await expect(mounted.call(tool, input("deep/new.txt"), call)).rejects.toThrow(full.message);
      save.mockRestore();
      await mounted.restart();
      await expectNothingMade(mounted, "deep/new.txt");
      // The same call again is made anew.
      await mounted.call(tool, input("deep/new.txt"), call);
      expect(mounted.read("deep/new.txt")).toBe("new\n");
      await mounted.call("block_undo", {}, claude);
      expect(existsSync(mounted.path("deep/new.txt"))).toBe(false);
    },
  );

  test("takes the whole patch back", async () => {
    await using mounted = await edited();
    const { disk } = mounted.mounts.first().source;
    const save = disk.save.bind(disk);
    vi.spyOn(disk, "save").mockImplementation((path, ...how) =>
      path === "new.txt" ? Promise.reject(full) : save(path, ...how),
    );
    const patch = `--- a/before.txt\n+++ b/before.txt\n@@ -1 +1 @@\n-after\n+later\n${MAKING.block_apply_patch("new.txt").patch}`;
    await expect(mounted.call("block_apply_patch", { patch }, claude)).rejects.toThrow(
      full.message,
    );
    expect(mounted.read("before.txt")).toBe("after\n");
    await expectNothingMade(mounted, "new.txt");
  });
});

describe("a file that went and cannot be made anew", () => {
  const ways = Object.entries(MAKING);
  const { file_create: creating } = MAKING;
  const unsaving = [
    ...ways.map(([tool, input]) => ({ tool, input, how: OPEN })),
    // A patch is staged there.
    { tool: "file_create", input: creating, how: MANUAL },
  ];
  const path = "f.txt";

  test.each(unsaving)(
    "keeps what was not saved for when it comes back: $tool (%#)",
    async (way) => {
      await using mounted = await Mounted.with({ ...way.how, [path]: "old\nb\n" });
      const { disk } = mounted.mounts.first().source;
      const save = vi.spyOn(disk, "save").mockRejectedValue(full);
      await mounted.call("block_replace", { block_id: path, old: "old", new: "UNSAVED" }, claude);
      rmSync(mounted.path(path));
      await expect(mounted.call(way.tool, way.input(path), claude)).rejects.toThrow(full.message);
      save.mockRestore();
      expect(await mounted.call("file_status", {}, ann)).toMatchObject({
        conflicts: [{ gone: true }],
      });
      mounted.write(path, "old\nb\nc\n");
      expect(await mounted.text(path)).toBe("UNSAVED\nb\nc\n");
      expect(await mounted.call("file_status", {}, ann)).toMatchObject({ conflicts: [] });
    },
  );

  /** One that was a program with line ends of its own. */
  async function gone(): Promise<Mounted> {
    const mounted = await Mounted.with({ ...OPEN, [path]: "old\r\nb\r\n" });
    chmodSync(mounted.path(path), 0o755);
    await mounted.call("block_replace", { block_id: path, old: "old", new: "new" }, claude);
    rmSync(mounted.path(path));
    return mounted;
  }

  async function expectGoneAsBefore(mounted: Mounted): Promise<void> {
    expect(existsSync(mounted.path(path))).toBe(false);
    const status = await mounted.call<{ files: object[] }>("file_status", {}, ann);
    expect(status).toMatchObject({ files: [{ path, status: "deleted" }], conflicts: [] });
    expect(status.files[0]).not.toHaveProperty("why");
  }

  function expectBack(mounted: Mounted): void {
    expect(mounted.read(path)).toBe("new\r\nb\r\n");
    expect(statSync(mounted.path(path)).mode & 0o777).toBe(0o755);
  }

  const backs = [
    ["file_save", { path }],
    ["block_rollback", { block_id: path, version: 2 }],
  ] as const;
  const returns = ways.flatMap(([tool, input]) =>
    backs.map(([back, asked]) => ({ tool, input, back, asked })),
  );

  test.each(returns)(
    "is as deleted as before, also later, and as it was when it is back: $tool, $back",
    async ({ tool, input, back, asked }) => {
      await using mounted = await gone();
      const save = vi.spyOn(mounted.mounts.first().source.disk, "save").mockRejectedValue(full);
      for (let round = 0; round < 2; round++)
        await expect(mounted.call(tool, input(path), claude)).rejects.toThrow(full.message);
      save.mockRestore();
      await expectGoneAsBefore(mounted);
      await mounted.restart();
      await expectGoneAsBefore(mounted);
      await mounted.call(back, asked, ann);
      expectBack(mounted);
    },
  );

  test("keeps its form and mode where what is to be in it is refused", async () => {
    await using mounted = await gone();
    await expect(
      mounted.call("file_create", { path, content: "\0" }, claude),
    ).rejects.toMatchObject({ code: "invalid_argument" });
    await mounted.call("file_save", { path }, ann);
    expectBack(mounted);
  });

  test("is gone again where the rest of its patch fails", async () => {
    await using mounted = await gone();
    const { disk } = mounted.mounts.first().source;
    const save = disk.save.bind(disk);
    const saving = vi
      .spyOn(disk, "save")
      .mockImplementation((to, ...how) =>
        to === "g.txt" ? Promise.reject(full) : save(to, ...how),
      );
    const patch = [path, "g.txt"].map((each) => MAKING.block_apply_patch(each).patch).join("");
    await expect(mounted.call("block_apply_patch", { patch }, claude)).rejects.toThrow(
      full.message,
    );
    expect(saving.mock.calls.map(([to]) => to)).toContain(path);
    saving.mockRestore();
    await expectGoneAsBefore(mounted);
    await mounted.call("file_save", { path }, ann);
    expectBack(mounted);
  });
});

describe("the Edit that made a file", () => {
  const ways = [
    ...Object.entries(MAKING).map((way) => [...way, "new\n"] as const),
    ...Object.entries(MAKING_EMPTY).map((way) => [...way, ""] as const),
  ];

  test.each(ways)(
    "%s: undone, the file is gone; redone, it is back (%#)",
    async (tool, input, text) => {
      await using mounted = await Mounted.with({ ...OPEN, "before.txt": "before\n" });
      await mounted.call(
        "block_replace",
        { block_id: "before.txt", old: "before", new: "after" },
        claude,
      );
      await mounted.call(tool, input("deep/new.txt"), claude);
      const file = mounted.path("deep/new.txt");
      for (let round = 0; round < 3; round++) {
        expect(mounted.read("deep/new.txt")).toBe(text);
        await mounted.call("block_undo", {}, claude);
        expect(existsSync(file)).toBe(false);
        expect(await mounted.call("file_status", { path: "deep/new.txt" }, ann)).toMatchObject({
          files: [{ status: "deleted" }],
          conflicts: [],
        });
        if (round === 1) await mounted.restart();
        await mounted.call("block_redo", {}, claude);
      }
      expect(mounted.read("deep/new.txt")).toBe(text);
      // Made again where it was undone, it is an Edit of its own.
      await mounted.call("block_undo", {}, claude);
      await mounted.call(tool, input("deep/new.txt"), claude);
      expect(mounted.read("deep/new.txt")).toBe(text);
      await mounted.call("block_undo", {}, claude);
      expect(existsSync(file)).toBe(false);
      // What comes back by another hand is as it was written there.
      mounted.write("deep/new.txt", text);
      expect(await mounted.text("deep/new.txt")).toBe(text);
      await mounted.restart();
      expect(await mounted.text("deep/new.txt")).toBe(text);
      expect(mounted.read("deep/new.txt")).toBe(text);
      // The Edit before was never meant.
      expect(mounted.read("before.txt")).toBe("after\n");
    },
  );

  test("leaves an empty file that another program begins to write anew", async () => {
    await using mounted = await Mounted.with(OPEN);
    await mounted.call("file_create", { path: "new.txt", content: "" }, claude);
    const { kernel } = mounted;
    const isUnmade = kernel.isUnmade.bind(kernel);
    const { disk } = mounted.mounts.first().source;
    const [remove, atRest] = [disk.remove.bind(disk), disk.atRest.bind(disk)];
    let descriptor = 0;
    const decided = Promise.withResolvers<void>();
    vi.spyOn(kernel, "isUnmade").mockImplementationOnce((block) => {
      descriptor = openSync(mounted.path("new.txt"), "w");
      vi.spyOn(disk, "remove").mockImplementationOnce((...args) =>
        remove(...args).finally(() => decided.resolve()),
      );
      vi.spyOn(disk, "atRest").mockImplementationOnce((...args) => {
        decided.resolve();
        return atRest(...args);
      });
      return isUnmade(block);
    });
    const undone = mounted.call("block_undo", {}, claude);
    await decided.promise;
    writeSync(descriptor, "theirs\n");
    closeSync(descriptor);
    await undone;
    expect(mounted.read("new.txt")).toBe("theirs\n");
    expect(await mounted.text("new.txt")).toBe("theirs\n");
  });

  test.each(["", "new\n"])(
    "leaves a file that a program has open until it is closed, and what was written then (%j)",
    async (content) => {
      await using mounted = await Mounted.with(OPEN);
      const { source } = mounted.mounts.first();
      for (const path of ["written.txt", "left.txt", "deleted.txt"]) {
        await mounted.call("file_create", { path, content }, claude);
        const descriptor = openSync(mounted.path(path), "a");
        // What it was when it was opened is known, as a watch would tell.
        await mounted.text(path);
        const undone = await mounted.call("block_undo", {}, claude);
        expect(undone).toMatchObject({ unsaved: [{ path, why: expect.stringContaining("open") }] });
        expect(undone).not.toMatchObject({ blocks: [{ made: false }] });
        if (path === "written.txt") writeSync(descriptor, "theirs\n");
        // Somebody says it once more: then it does not wait.
        if (path === "deleted.txt") await mounted.call("file_delete", { path }, ann);
        closeSync(descriptor);
        if (path === "deleted.txt") expect(existsSync(mounted.path(path))).toBe(false);
        await source.saving.saveAll([source.files.at(path)!.block]);
      }
      expect(mounted.mounts.conflicts.list()).toEqual([]);
      expect(mounted.read("written.txt")).toContain("theirs\n");
      expect(await mounted.text("written.txt")).toBe(mounted.read("written.txt"));
      expect(existsSync(mounted.path("left.txt"))).toBe(false);
    },
  );

  test.each(["", "new\n"])(
    "is not what somebody did to the empty file that another made there since (%j)",
    async (content) => {
      await using mounted = await Mounted.with(OPEN);
      await mounted.call("file_create", { path: "new.txt", content }, claude);
      await mounted.call("block_undo", {}, claude);
      mounted.write("new.txt", "");
      await mounted.call("file_delete", { path: "new.txt" }, ann);
      const back = await mounted.call("block_undo", {}, ann);
      expect(back).toMatchObject({ blocks: [{ file: "deletes" }] });
      expect(back).not.toMatchObject({ blocks: [{ made: false }] });
      expect(mounted.read("new.txt")).toBe("");
      const read = { block_id: "new.txt" };
      await mounted.call("block_read", read, ann);
      const operations = [{ op: "insert", line: 0, content: "ann" }];
      await mounted.call("block_edit", { ...read, operations }, ann);
      expect(mounted.read("new.txt")).toContain("ann");
      await mounted.call("block_undo", {}, ann);
      expect(mounted.read("new.txt")).toBe("");
      const { versions } = await mounted.call<{ versions: { actor: string }[] }>(
        "block_history",
        read,
      );
      expect(versions.map(({ actor }) => actor)).toContain("disk");
    },
  );

  const gone = {
    "by a program": async (mounted: Mounted) => {
      rmSync(mounted.path("new.txt"));
      await mounted.text("new.txt");
    },
    "a moment ago": async (mounted: Mounted) => rmSync(mounted.path("new.txt")),
    "by a tool": (mounted: Mounted) => mounted.call("file_delete", { path: "new.txt" }, claude),
  };
  const again = Object.entries({ ...MAKING, ...MAKING_EMPTY }).flatMap(([tool, input], at) =>
    Object.entries(gone).flatMap(([how, go]) =>
      ["old\n", "new\n", ""].map((before) => ({ tool, input, at, how, go, before })),
    ),
  );

  test.each(again)(
    "is one where a file was deleted $how as well: $tool $at, before that $before",
    async ({ tool, input, go, before }) => {
      await using mounted = await Mounted.with({ ...OPEN, "other.txt": "one\n" });
      const there = (): boolean => existsSync(mounted.path("new.txt"));
      await mounted.call("block_replace", { block_id: "other.txt", old: "one", new: "1" }, claude);
      await mounted.call("file_create", { path: "new.txt", content: before }, claude);
      await go(mounted);
      await mounted.call(tool, input("new.txt"), claude);
      const made = mounted.read("new.txt");
      const undone = await mounted.call("block_undo", {}, claude);
      expect(undone).toMatchObject({ blocks: [{ path: "new.txt", made: false }] });
      expect(undone).not.toHaveProperty("unsaved");
      expect(there()).toBe(false);
      await mounted.restart();
      expect(there()).toBe(false);
      await mounted.call("block_redo", {}, claude);
      expect(mounted.read("new.txt")).toBe(made);
      await mounted.call("block_undo", {}, claude);
      expect(there()).toBe(false);
      // Nothing of it stands in the way of what was done before.
      for (let undo = 0; mounted.read("other.txt") !== "one\n"; undo++) {
        expect(undo).toBeLessThan(3);
        await mounted.call("block_undo", {}, claude);
      }
      expect(there()).toBe(false);
    },
  );

  test("is what was one, whatever somebody says of the block", async () => {
    await using mounted = await Mounted.with({ "a.txt": "one\ntwo\n" });
    await mounted.text("a.txt");
    const change = { block_id: "a.txt", old: "two", new: "TWO" };
    const { version } = await mounted.call("block_replace", change, claude);
    const say = (block_id: string, made: unknown) =>
      mounted.call("block_status", { block_id, metadata: { made } }, claude);
    await say("a.txt", [version]);
    await mounted.call("block_undo", {}, claude);
    expect(mounted.read("a.txt")).toBe("one\ntwo\n");
    await mounted.call("file_create", { path: "new.txt", content: "old\n" }, claude);
    await mounted.call("file_delete", { path: "new.txt" }, ann);
    await mounted.call("file_create", { path: "new.txt", content: "new\n" }, claude);
    const read = await mounted.call("block_read", { block_id: "new.txt" }, claude);
    expect(read["metadata"]).toEqual({ path: "new.txt" });
    await say("new.txt", null);
    await mounted.restart();
    await mounted.call("block_undo", { actor: "claude" }, claude);
    expect(existsSync(mounted.path("new.txt"))).toBe(false);
  });

  const others = {
    "was emptied by another": async (mounted: Mounted) => {
      const all = { block_id: "new.txt", old: "old\n", new: "" };
      await mounted.call("block_replace", all, claude);
    },
    "was emptied by a program": (mounted: Mounted) => mounted.write("new.txt", ""),
    "another made where it had gone": async (mounted: Mounted) => {
      await gone["by a program"](mounted);
      await mounted.call("file_create", { path: "new.txt", content: "" }, claude);
    },
    "a program made where it had gone": async (mounted: Mounted) => {
      await gone["by a program"](mounted);
      mounted.write("new.txt", "");
    },
  };

  test.each(Object.entries(others))("leaves the empty file that %s", async (_, come) => {
    await using mounted = await Mounted.with({ "kumiko.toml": "" });
    await mounted.call("file_create", { path: "new.txt", content: "old\n" }, codex);
    await come(mounted);
    await mounted.text("new.txt");
    const undone = await mounted.call("block_undo", {}, codex);
    expect(mounted.read("new.txt")).toBe("");
    expect(undone).not.toMatchObject({ blocks: [{ made: expect.anything() }] });
    await mounted.restart();
    expect(await mounted.text("new.txt")).toBe("");
    // It was there all the time.
    const redone = await mounted.call("block_redo", {}, codex);
    expect(redone).not.toMatchObject({ blocks: [{ made: expect.anything() }] });
  });

  test("leaves what somebody put back that was there before, and who may not delete may undo it", async () => {
    await using mounted = await Mounted.with({ "a.txt": "one\ntwo\n" });
    await mounted.text("a.txt");
    rmSync(mounted.path("a.txt"));
    await mounted.call("file_create", { path: "a.txt", content: "mine\n" }, claude);
    mounted.write("a.txt", "one\ntwo\n");
    expect(await mounted.text("a.txt")).toBe("one\ntwo\n");
    await mounted.call("block_undo", { actor: "claude" }, codex);
    expect(existsSync(mounted.path("a.txt"))).toBe(true);
  });

  test("leaves what came back because its deletion was undone", async () => {
    await using mounted = await Mounted.with(OPEN);
    await mounted.call("file_create", { path: "new.txt", content: "old\n" }, ann);
    await mounted.call("file_delete", { path: "new.txt" }, ann);
    await mounted.call("file_create", { path: "new.txt", content: "" }, claude);
    await mounted.call("block_undo", {}, claude);
    await mounted.call("block_undo", {}, ann);
    expect(mounted.read("new.txt")).toBe("old\n");
    await mounted.call("block_redo", {}, claude);
    await mounted.call("block_undo", {}, claude);
    expect(mounted.read("new.txt")).toBe("old\n");
  });

  test("is away also when an older Edit is undone behind it, and is redone then", async () => {
    await using mounted = await Mounted.with(OPEN);
    await mounted.call("file_create", { path: "new.txt", content: "old\n" }, ann);
    await mounted.call("block_append", { block_id: "new.txt", text: "more\n", flush: true }, codex);
    await gone["by a program"](mounted);
    await mounted.call("file_create", { path: "new.txt", content: "new\n" }, claude);
    await mounted.call("block_undo", {}, claude);
    const undone = await mounted.call("block_undo", {}, codex);
    expect(undone).toMatchObject({ blocks: [{ made: false }] });
    expect(existsSync(mounted.path("new.txt"))).toBe(false);
    expect(await mounted.call("block_redo", {}, claude)).toMatchObject({
      blocks: [{ made: true }],
    });
    expect(mounted.read("new.txt")).toContain("new\n");
  });

  test("is undone whatever is said of the block before it is saved", async () => {
    await using mounted = await Mounted.with(MANUAL);
    await mounted.call("file_create", { path: "new.txt", content: "" }, ann);
    const { block } = mounted.mounts.first().source.files.at("new.txt")!;
    const flag = (pinned: boolean) =>
      mounted.call("block_status", { block_id: block, flags: { pinned } }, ann);
    await flag(true);
    await mounted.call("block_undo", {}, ann);
    await flag(false);
    await mounted.call("file_save", {}, ann);
    expect(existsSync(mounted.path("new.txt"))).toBe(false);
    await mounted.call("block_redo", {}, ann);
    await mounted.call("file_save", {}, ann);
    expect(mounted.read("new.txt")).toBe("");
  });

  test("that begins with a byte order mark is undone as well", async () => {
    await using mounted = await Mounted.with(OPEN);
    await mounted.call("file_create", { path: "new.txt", content: "\uFEFFnew\n" }, claude);
    expect(mounted.read("new.txt")).toBe("new\n");
    await mounted.call("block_undo", {}, claude);
    expect(existsSync(mounted.path("new.txt"))).toBe(false);
  });

  test("goes on with what others wrote to it since, and with their text alone without it", async () => {
    await using mounted = await Mounted.with(OPEN);
    await mounted.call("file_create", { path: "new.txt", content: "old\n" }, ann);
    await gone["by a program"](mounted);
    await mounted.call("file_create", { path: "new.txt", content: "new\n" }, claude);
    await mounted.call("block_append", { block_id: "new.txt", text: "ann\n", flush: true }, ann);
    const undone = await mounted.call("block_undo", {}, claude);
    expect(mounted.read("new.txt")).toContain("ann\n");
    const redone = await mounted.call("block_redo", {}, claude);
    expect(mounted.read("new.txt")).toBe("new\nann\n");
    // It was there all the time.
    for (const { blocks } of [undone, redone])
      expect(blocks).not.toEqual([expect.objectContaining({ made: expect.anything() })]);
  });

  test.each(["", "new\n"])("tells nobody that what was undone is missing (%j)", async (content) => {
    await using mounted = await Mounted.with(OPEN);
    await mounted.call("file_create", { path: "new.txt", content }, claude);
    rmSync(mounted.path("new.txt"));
    // It is noticed that it went.
    await mounted.text("new.txt");
    const undone = await mounted.call("block_undo", {}, claude);
    expect(undone).toMatchObject({ blocks: [{ made: false }] });
    expect(undone).not.toHaveProperty("unsaved");
  });

  test("leaves an empty file away that somebody deleted since, until it is redone", async () => {
    await using mounted = await Mounted.with(OPEN);
    await mounted.call("file_create", { path: "new.txt", content: "" }, claude);
    await mounted.call("file_delete", { path: "new.txt" }, ann);
    await mounted.call("block_undo", {}, claude);
    expect(existsSync(mounted.path("new.txt"))).toBe(false);
    await mounted.restart();
    expect(existsSync(mounted.path("new.txt"))).toBe(false);
    await mounted.call("block_redo", {}, claude);
    expect(mounted.read("new.txt")).toBe("");
  });

  test("leaves a file when somebody else has written to it, in its block or on disk", async () => {
    await using mounted = await Mounted.with(OPEN);
    for (const path of ["block.txt", "disk.txt"])
      await mounted.call("file_create", { path, content: "new\n" }, claude);
    await mounted.call("block_append", { block_id: "block.txt", text: "ann\n", flush: true }, ann);
    const making = async (block_id: string): Promise<string> => {
      const page = await mounted.call<{ versions: { edit: string }[] }>("block_history", {
        block_id,
      });
      return page.versions.at(-1)!.edit;
    };
    await mounted.call("block_undo", { edit: await making("block.txt") }, claude);
    expect(mounted.read("block.txt")).toBe("ann\n");
    const edit = await making("disk.txt");
    mounted.write("disk.txt", "new\nann\n");
    await mounted.call("block_undo", { edit }, claude);
    expect(mounted.read("disk.txt")).toBe("ann\n");
  });

  test("is undone by who made it and by who may delete, and for others nothing changes", async () => {
    await using mounted = await Mounted.with();
    const another = { ...codex, reader: "codex" };
    const claudes = { actor: "claude" };
    await mounted.call("file_create", { path: "new.txt", content: "new\n" }, claude);
    await expect(mounted.call("block_undo", claudes, another)).rejects.toMatchObject({
      code: "denied",
      facts: { operation: "delete" },
    });
    expect(mounted.read("new.txt")).toBe("new\n");
    const undone = await mounted.call("block_undo", claudes, ann);
    expect(existsSync(mounted.path("new.txt"))).toBe(false);
    expect(undone).toMatchObject({ blocks: [{ path: "new.txt", made: false }] });
    const redone = await mounted.call("block_redo", {}, ann);
    expect(mounted.read("new.txt")).toBe("new\n");
    expect(redone).toMatchObject({ blocks: [{ path: "new.txt", made: true }] });
    await mounted.call("block_undo", {}, claude);
    expect(existsSync(mounted.path("new.txt"))).toBe(false);
  });

  test("is staged where files are saved by hand", async () => {
    await using mounted = await Mounted.with(MANUAL);
    await mounted.call("file_create", { path: "new.txt", content: "new\n" }, ann);
    await mounted.call("file_save", {}, ann);
    const undone = await mounted.call("block_undo", {}, ann);
    expect(mounted.read("new.txt")).toBe("new\n");
    expect(undone).not.toMatchObject({ blocks: [{ made: false }] });
    await mounted.call("file_save", {}, ann);
    expect(existsSync(mounted.path("new.txt"))).toBe(false);
  });

  test("with tools of one's own is undone as well", async () => {
    await using mounted = await Mounted.with(OPEN);
    for (const [path, content] of [
      ["new.txt", "new\n"],
      ["empty.txt", ""],
    ] as const) {
      await mounted.call("file_changed", { path, begins: true, content }, claude);
      mounted.write(path, content);
      await mounted.call("file_changed", { path }, claude);
      await mounted.call("block_undo", {}, claude);
      expect(existsSync(mounted.path(path))).toBe(false);
      // Made so where the making of it was undone, it is an Edit of its own as well.
      await mounted.call("file_changed", { path, begins: true, content }, claude);
      mounted.write(path, content);
      // Whoever comes upon it.
      await mounted.text(path);
      const page = await mounted.call<{ versions: { actor: string; version: number }[] }>(
        "block_history",
        { block_id: path },
      );
      expect(page.versions[0]).toMatchObject({ actor: "claude", version: 3 });
      await mounted.call("block_undo", { actor: "claude" }, ann);
      expect(existsSync(mounted.path(path))).toBe(false);
    }
  });
});

describe("two who make a file again in one moment", () => {
  const pairs = [
    ["block_rollback", "file_create"],
    ["file_create", "block_rollback"],
    ["block_rollback", "block_rollback"],
  ] as const;

  test.each(pairs)("both do, %s and %s, and neither removes the other's", async (...tools) => {
    await using mounted = await Mounted.with(OPEN);
    await mounted.call("file_create", { path: "new.txt", content: "old\n" }, ann);
    rmSync(mounted.path("new.txt"));
    await mounted.text("new.txt");
    const { block } = mounted.mounts.first().source.files.at("new.txt")!;
    const inputs = {
      file_create: { path: "new.txt", content: "new\n" },
      block_rollback: { block_id: block, version: 1 },
    };
    const made = tools.map((tool, at) =>
      mounted.call(tool, inputs[tool], { ...claude, actor: `agent-${at}` }),
    );
    await Promise.all(made);
    expect(await mounted.text("new.txt")).toBe(mounted.read("new.txt"));
    const { versions } = await mounted.call<{ versions: { actor: string; edit: string }[] }>(
      "block_history",
      { block_id: "new.txt" },
    );
    // The one that is the newest, if it is not the only one.
    if (versions[1]!.actor !== "ann")
      await mounted.call("block_undo", { edit: versions[0]!.edit }, ann);
    expect(existsSync(mounted.path("new.txt"))).toBe(true);
  });
});

describe("block_rollback of a file that is not there", () => {
  const ways = ["", "new\n"].flatMap((text) => [
    { text, how: "deleted" as const },
    { text, how: "undone" as const },
  ]);

  test.each(ways)("makes it again, which is a version: $how, $text", async ({ text, how }) => {
    await using mounted = await Mounted.with(OPEN);
    await mounted.call("file_create", { path: "new.txt", content: text }, claude);
    if (how === "deleted") rmSync(mounted.path("new.txt"));
    else await mounted.call("block_undo", {}, claude);
    const back = { block_id: "new.txt", version: 1, call_id: "once" };
    const made = await mounted.call("block_rollback", back, ann);
    expect(made).not.toHaveProperty("unchanged");
    expect(mounted.read("new.txt")).toBe(text);
    expect(await mounted.call("block_rollback", back, ann)).toEqual(made);
    await mounted.call("block_undo", {}, ann);
    expect(existsSync(mounted.path("new.txt"))).toBe(false);
    await mounted.call("block_redo", {}, ann);
    expect(mounted.read("new.txt")).toBe(text);
    await mounted.restart();
    expect(mounted.read("new.txt")).toBe(text);
    expect(await mounted.text("new.txt")).toBe(text);
    // It is there, and says that already.
    const again = await mounted.call("block_rollback", { ...back, call_id: "twice" }, ann);
    expect(again).toMatchObject({ unchanged: true });
  });
});

describe("a text that was made of a file", () => {
  const merge = (mounted: Mounted, text: string) =>
    mounted.call("file_merge", { path: "a.txt", text, base_version: 1 }, ann);

  test.each(["deleted", "moved"])(
    "makes a file that was %s meanwhile again, and nothing if it was not changed",
    async (what) => {
      await using mounted = await Mounted.with({ "a.txt": "one\n" });
      await mounted.call("block_read", { block_id: "a.txt" }, ann);
      if (what === "deleted") rmSync(mounted.path("a.txt"));
      else await mounted.call("file_move", { path: "a.txt", to: "b.txt" }, ann);
      const files = mounted.mounts.first().source.files.all();
      const versions = () => Promise.all(files.map(({ block }) => mounted.kernel.version(block)));
      const before = await versions();
      expect(await merge(mounted, "one\n")).toMatchObject({ version: 0, merged: false });
      expect(existsSync(mounted.path("a.txt"))).toBe(false);
      expect(await versions()).toEqual(before);
      expect(await merge(mounted, "one\ntwo\n")).toMatchObject({ status: "synced" });
      expect(mounted.read("a.txt")).toBe("one\ntwo\n");
    },
  );

  test("is merged where the file is not made yet because it is saved by hand", async () => {
    await using mounted = await Mounted.with(MANUAL);
    const patch = "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1,3 @@\n+one\n+two\n+three\n";
    await mounted.call("block_apply_patch", { patch }, claude);
    await mounted.call("block_read", { block_id: "a.txt" }, ann);
    await mounted.call("block_replace", { block_id: "a.txt", old: "one", new: "ONE" }, claude);
    expect(await merge(mounted, "one\ntwo\nTHREE\n")).toMatchObject({
      merged: true,
      status: "block_ahead",
    });
    expect(await mounted.text("a.txt")).toBe("ONE\ntwo\nTHREE\n");
    expect(existsSync(mounted.path("a.txt"))).toBe(false);
    await mounted.call("file_save", {}, ann);
    expect(mounted.read("a.txt")).toBe("ONE\ntwo\nTHREE\n");
  });
});

describe("what cannot be a file's text", () => {
  test("is refused, and changes nothing, by every tool that writes", async () => {
    await using mounted = await Mounted.with({ ...OPEN, "a.txt": "one\ntwo\n" });
    const block_id = "a.txt";
    await mounted.text(block_id);
    const replace = { op: "replace", start_line: 0, end_line: 1, content: "\0" };
    const attempts: readonly [string, object][] = [
      ["block_replace", { block_id, old: "one", new: "o\0ne" }],
      ["block_splice", { block_id, offset: 0, delete_count: 0, insert: "\0", base_version: 1 }],
      ["block_append", { block_id, text: "\0", flush: true }],
      ["block_append", { block_id, text: "\0" }],
      ["block_edit", { block_id, operations: [replace], base_version: 1 }],
      ["file_create", { path: "b.txt", content: "\0" }],
      ["file_merge", { path: "a.txt", text: "one\0\ntwo\n", base_version: 1 }],
    ];
    for (const [tool, input] of attempts) {
      const refusal = await mounted.call(tool, input, claude).catch((error: unknown) => error);
      expect([tool, refusal]).toEqual([
        tool,
        expect.objectContaining({ code: "invalid_argument" }),
      ]);
    }
    expect(existsSync(mounted.path("b.txt"))).toBe(false);
    expect(mounted.read("a.txt")).toBe("one\ntwo\n");
    expect(await mounted.call("file_status", { path: "a.txt" })).toMatchObject({
      files: [{ status: "synced" }],
    });
  });
});

describe("block_diff with disk", () => {
  test("compares a version with what the file says, and blocks without one are told so", async () => {
    await using mounted = await Mounted.with({ "a.txt": "one\ntwo\n", ...MANUAL });
    await mounted.call("block_replace", { block_id: "a.txt", old: "two", new: "STAGED" }, ann);
    const diff = (input: object) =>
      mounted.call<{ diff: string }>("block_diff", { block_id: "a.txt", ...input }, ann);
    expect(await diff({ from: "disk" })).toMatchObject({ from: "disk", to: 2 });
    expect((await diff({ from: "disk" })).diff).toContain("-two\n+STAGED");
    expect((await diff({ from: "now", to: "disk" })).diff).toContain("-STAGED\n+two");
    expect(await diff({ from: 1, to: "disk" })).toEqual({ diff: "", from: 1, to: "disk" });
    await mounted.kernel.contexts.create("main", "ann");
    const words = { role: "user", kind: "text", content: "x", context: "main" };
    const { block_id } = await mounted.call("block_create", words, ann);
    await expect(diff({ block_id, from: "disk" })).rejects.toMatchObject({ code: "not_on_disk" });
  });
});

test.each(Object.entries(MAKING))(
  "%s: what somebody puts there meanwhile and what was to be there are both kept",
  async (tool, input) => {
    await using mounted = await Mounted.with(OPEN);
    const { source } = mounted.mounts.first();
    const save = source.disk.save.bind(source.disk);
    vi.spyOn(source.disk, "save").mockImplementationOnce((...args) => {
      mounted.write("new.txt", "theirs\n");
      return save(...args);
    });
    await mounted.call(tool, input("new.txt"), claude);
    const sides = [
      mounted.read("new.txt"),
      ...mounted.mounts.conflicts.list().map(({ lost }) => lost),
    ];
    expect(sides.join("")).toContain("new\n");
    expect(sides.join("")).toContain("theirs\n");
    expect(await mounted.text("new.txt")).toBe(mounted.read("new.txt"));
  },
);

test("no file is made of a path that names a folder, by the slash at its end", async () => {
  await using mounted = await Mounted.with({ ...OPEN, "a.txt": "one\n" });
  await mounted.text("a.txt");
  const merged = { path: "new/", text: "one\n", base_version: 0 };
  for (const made of [
    mounted.call("file_create", { path: "new/" }, claude),
    mounted.call("file_merge", merged, claude),
    mounted.call("file_move", { path: "a.txt", to: "new/" }, claude),
  ])
    await expect(made).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringContaining("leave the slash out"),
    });
  expect(existsSync(mounted.path("new"))).toBe(false);
  await mounted.call("file_create", { path: "new/a.txt" }, claude);
  await expect(mounted.call("file_status", { path: "new/" }, claude)).resolves.toMatchObject({
    files: [{ path: "new/a.txt" }],
  });
});
