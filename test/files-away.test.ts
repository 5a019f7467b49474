import { existsSync, renameSync, rmSync } from "node:fs";
import { describe, expect, test, vi } from "vitest";
import { type Answer, Mounted } from "./support/mounted.ts";
import { refusalOf } from "./support/refusal.ts";

const THREE = "one\ntwo\nthree\n";
const EDITED = "one\nTWO\nthree\n";
const MANUAL = '[mount]\nsave = "manual"\n';
const ann = { actor: "ann", kind: "person" } as const;

interface Read {
  readonly content: string;
  readonly unsaved?: readonly { readonly why: string; readonly unread?: true }[];
}

const read = (mounted: Mounted, block_id: string, rest: object = {}): Promise<Read> =>
  mounted.call("block_read", { block_id, line_numbers: false, ...rest }, ann);

async function edited(rules = ""): Promise<Mounted> {
  const mounted = await Mounted.with({ "a.txt": THREE, "kumiko.toml": rules });
  await mounted.call("block_replace", { block_id: "a.txt", old: "two", new: "TWO" });
  return mounted;
}

const reads = [
  ["block_read", {}],
  ["block_read", { version: 1 }],
  ["block_history", {}],
  ["block_blame", {}],
  ["block_diff", { from: 1 }],
  ["block_search", { query: "TWO" }],
] as const;

describe("what a file said can be read, and the reader is told that it is not there", () => {
  const happenings: [string, (mounted: Mounted) => Promise<unknown>][] = [
    ["deleted by a tool", (mounted) => mounted.call("file_delete", { path: "a.txt" }, ann)],
    ["deleted on disk", async (mounted) => rmSync(mounted.path("a.txt"))],
    ["binary by now", async (mounted) => mounted.write("a.txt", new Uint8Array([1, 0, 2]))],
  ];
  test.each(happenings)("%s", async (_, happens) => {
    await using mounted = await edited();
    const { block_id } = await mounted.call<{ block_id: string }>("file_load", { path: "a.txt" });
    await happens(mounted);
    for (const restarts of [false, true]) {
      if (restarts) await mounted.restart();
      for (const given of ["a.txt", block_id]) {
        for (const [tool, input] of reads) {
          const answer = await mounted.call<Read>(tool, { block_id: given, ...input }, ann);
          expect(answer.unsaved, tool).toMatchObject([{ path: "a.txt", block_id, unread: true }]);
        }
        expect((await read(mounted, given)).content).toBe(EDITED);
        const error = await refusalOf(
          mounted.call("block_replace", { block_id: given, old: "one", new: "ONE" }),
        );
        expect(["not_on_disk", "file_unreadable"]).toContain(error.code);
      }
    }
  });
});

describe("a file that was deleted is made again", () => {
  test("by a rollback", async () => {
    await using mounted = await edited();
    await mounted.call("file_delete", { path: "a.txt" }, ann);
    await mounted.call("block_rollback", { block_id: "a.txt", version: 1 });
    expect(mounted.read("a.txt")).toBe(THREE);
    expect(await read(mounted, "a.txt")).not.toHaveProperty("unsaved");
  });

  test("by an undo and by its redo", async () => {
    await using mounted = await edited();
    rmSync(mounted.path("a.txt"));
    await mounted.call("block_undo", {});
    expect(mounted.read("a.txt")).toBe(THREE);
    rmSync(mounted.path("a.txt"));
    await mounted.call("block_redo", {});
    expect(mounted.read("a.txt")).toBe(EDITED);
  });

  test("by a save that names it, and not by one of all", async () => {
    await using mounted = await edited();
    rmSync(mounted.path("a.txt"));
    await mounted.call("file_save", {});
    expect(existsSync(mounted.path("a.txt"))).toBe(false);
    await mounted.call("file_save", { path: "a.txt" });
    expect(mounted.read("a.txt")).toBe(EDITED);
  });

  test("with the line ends and marks that it had", async () => {
    const bytes = Buffer.from("\uFEFFone\r\ntwo\r\n", "utf16le");
    await using mounted = await Mounted.with({ "a.txt": bytes });
    await mounted.text("a.txt");
    rmSync(mounted.path("a.txt"));
    await mounted.text("a.txt");
    await mounted.restart();
    await mounted.call("file_save", { path: "a.txt" });
    expect(mounted.bytes("a.txt")).toEqual(bytes);
  });

  test("only by whoever may create it", async () => {
    const rules = '[[rule]]\npath = "a.txt"\nlevel = "read_write"\nescalate = ["append"]\n';
    await using mounted = await edited(rules);
    const { edit } = await mounted.call<{ edit: string }>("block_replace", {
      block_id: "a.txt",
      old: "one",
      new: "ONE",
    });
    await mounted.call("file_delete", { path: "a.txt" }, ann);
    const rollback = { block_id: "a.txt", version: 1 };
    for (const call of [
      mounted.call("block_rollback", rollback),
      mounted.call("block_undo", { edit }),
      mounted.call("file_save", { path: "a.txt" }),
    ])
      expect((await refusalOf(call)).code).toBe("denied");
    expect(existsSync(mounted.path("a.txt"))).toBe(false);
    await mounted.call("block_rollback", rollback, ann);
    expect(mounted.read("a.txt")).toBe(THREE);
  });

  test("where files are saved by hand, when it is saved", async () => {
    await using mounted = await edited(MANUAL);
    await mounted.call("file_save", {});
    await mounted.call("file_delete", { path: "a.txt" }, ann);
    await mounted.call("block_rollback", { block_id: "a.txt", version: 1 });
    expect(existsSync(mounted.path("a.txt"))).toBe(false);
    await mounted.call("file_save", {});
    expect(mounted.read("a.txt")).toBe(THREE);
  });
});

test("what was staged when somebody deleted its file is kept, and merged when it comes back", async () => {
  await using mounted = await edited(MANUAL);
  await mounted.call("file_delete", { path: "a.txt" }, ann);
  expect((await read(mounted, "a.txt")).content).toBe(EDITED);
  mounted.write("a.txt", `${THREE}four\n`);
  expect(await mounted.text("a.txt")).toBe(`${EDITED}four\n`);
  expect(mounted.read("a.txt")).toBe(`${THREE}four\n`);
});

describe("a path has one block, and a block is always the same one", () => {
  async function files(mounted: Mounted): Promise<Answer[]> {
    return (await mounted.call<{ files: Answer[] }>("file_status", {}, ann)).files;
  }

  test("after a file was moved to where another was", async () => {
    await using mounted = await Mounted.with({ "a.txt": "AAA\n", "b.txt": "BBB\n" });
    const load = (path: string) => mounted.call<{ block_id: string }>("file_load", { path }, ann);
    const a = (await load("a.txt")).block_id;
    const b = (await load("b.txt")).block_id;
    await mounted.call("file_delete", { path: "b.txt" }, ann);
    await mounted.call("file_move", { path: "a.txt", to: "b.txt" }, ann);
    for (const restarts of [false, true]) {
      if (restarts) await mounted.restart();
      expect((await load("b.txt")).block_id).toBe(a);
      expect(await files(mounted)).toMatchObject([
        { path: "b.txt", block_id: a, status: "synced" },
      ]);
      expect((await read(mounted, a)).content).toBe("AAA\n");
      const other = await read(mounted, b);
      expect(other.content).toBe("BBB\n");
      expect(other.unsaved?.[0]?.why).toContain(a);
      expect((await mounted.kernel.state(b)).metadata).toEqual({ was: "b.txt" });
      for (const [tool, input] of [
        ["block_replace", { old: "BBB", new: "CCC" }],
        ["block_rollback", { version: 1 }],
      ] as const) {
        const error = await refusalOf(mounted.call(tool, { block_id: b, ...input }, ann));
        expect(error.code).toBe("not_on_disk");
      }
      expect(mounted.read("b.txt")).toBe("AAA\n");
    }
  });

  test("when a rename that is seen on disk takes the path of one that is gone", async () => {
    await using mounted = await Mounted.with({ "a.txt": "first\n" });
    const { source } = mounted.mounts.first();
    const first = (await source.load("a.txt")).block;
    const renamed = async (from: string, to: string): Promise<void> => {
      renameSync(mounted.path(from), mounted.path(to));
      await source.takingIn.changed({ changed: [], gone: [], renamed: [{ from, to }] });
    };
    await renamed("a.txt", "b.txt");
    await mounted.call("file_create", { path: "a.txt", content: "second\n" });
    const second = source.files.at("a.txt")!.block;
    await mounted.call("file_delete", { path: "a.txt" }, ann);
    await renamed("b.txt", "a.txt");
    expect(source.files.at("a.txt")!.block).toBe(first);
    await mounted.restart();
    expect((await mounted.call("file_load", { path: "a.txt" }))["block_id"]).toBe(first);
    await mounted.call("block_replace", { block_id: first, old: "first", new: "FIRST" });
    expect(mounted.read("a.txt")).toBe("FIRST\n");
    expect((await read(mounted, second)).content).toBe("second\n");
  });

  test.each([
    ["a.txt", "b.txt"],
    ["b.txt", "a.txt"],
  ])("when a crash left two that claim it: %s, whose file is there, has %s", async (from, to) => {
    await using mounted = await Mounted.with({ "a.txt": "from a.txt\n", "b.txt": "from b.txt\n" });
    const { source } = mounted.mounts.first();
    // In the order in which they are found again.
    await source.load("a.txt");
    await source.load("b.txt");
    const there = source.files.at(from)!.block;
    const gone = source.files.at(to)!.block;
    await mounted.call("file_delete", { path: to }, ann);
    // The second half of a move is what the crash took.
    await mounted.kernel.changeState({ actor: "disk", kind: "disk" }, there, {
      change: (state) => ({ ...state, metadata: { path: to } }),
      answer: () => undefined,
    });
    renameSync(mounted.path(from), mounted.path(to));
    await mounted.restart();
    expect((await mounted.call("file_load", { path: to }))["block_id"]).toBe(there);
    expect((await read(mounted, gone)).content).toBe(`from ${to}\n`);
  });

  test("when the file that took it has gone on: its block is read, and whatever comes there is found", async () => {
    await using mounted = await Mounted.with({ "a.txt": "elm of a\n", "b.txt": "elm of b\n" });
    const { source } = mounted.mounts.first();
    const first = (await source.load("a.txt")).block;
    await source.load("b.txt");
    await mounted.call("file_delete", { path: "a.txt" }, ann);
    await mounted.call("file_move", { path: "b.txt", to: "a.txt" }, ann);
    await mounted.call("file_move", { path: "a.txt", to: "c.txt" }, ann);
    for (const restarts of [false, true]) {
      if (restarts) await mounted.restart();
      const { content, unsaved } = await read(mounted, first);
      expect(content).toBe("elm of a\n");
      expect(unsaved).toMatchObject([{ path: "a.txt", unread: true }]);
      const refusal = await refusalOf(
        mounted.call("block_replace", { block_id: first, old: "elm", new: "oak" }),
      );
      expect(refusal).toMatchObject({ code: "not_on_disk" });
      mounted.write("a.txt", "elm of somebody\n");
      const found = await mounted.call<{ blocks: { matches: { content: string }[] }[] }>(
        "kernel_search",
        { query: "elm" },
        ann,
      );
      const lines = found.blocks.flatMap(({ matches }) => matches.map(({ content: line }) => line));
      expect(lines).toContain("elm of somebody");
      rmSync(mounted.path("a.txt"));
    }
  });
});

test("who edits a file while it is deleted is told that it is gone, and finds the text in a conflict", async () => {
  await using mounted = await edited();
  const { source } = mounted.mounts.first();
  const { block } = await source.load("a.txt");
  const told: object[] = [];
  const remove = source.disk.remove.bind(source.disk);
  let editing: Promise<unknown> = Promise.resolve();
  vi.spyOn(source.disk, "remove").mockImplementationOnce(async (...args) => {
    const before = await mounted.kernel.version(block);
    editing = mounted.kernel.editText(
      { actor: "claude", kind: "agent", onUnsaved: (file) => void told.push(file) },
      {
        blocks: [block],
        operation: "change",
        translate: () => [{ at: 0, remove: 0, insert: "zero\n" }],
        answer: () => undefined,
      },
    );
    await vi.waitFor(async () => expect(await mounted.kernel.version(block)).toBe(before + 1));
    return remove(...args);
  });
  await mounted.call("file_delete", { path: "a.txt" }, ann);
  await editing;
  expect(existsSync(mounted.path("a.txt"))).toBe(false);
  expect(told).toMatchObject([{ path: "a.txt", why: expect.stringContaining("was deleted") }]);
  expect(mounted.mounts.conflicts.list()).toMatchObject([
    { block, gone: true, lost: `zero\n${EDITED}` },
  ]);
});
