import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { fileTools } from "../src/files/index.ts";
import { type Answer, Mounted } from "./support/mounted.ts";
import { refusalOf } from "./support/refusal.ts";

const ann = { actor: "ann", kind: "person" } as const;
const MANUAL = '[mount]\nsave = "manual"\n';

/** A call that could not be made twice, and the same call with other arguments. */
const calls: { tool: string; input: object; other: object }[] = [
  { tool: "file_create", input: { path: "new.txt", content: "new\n" }, other: { path: "x.txt" } },
  { tool: "file_move", input: { path: "a.txt", to: "b.txt" }, other: { path: "a.txt", to: "c" } },
  { tool: "file_delete", input: { path: "b.txt" }, other: { path: "new.txt" } },
  {
    tool: "file_merge",
    input: { path: "m.txt", text: "one\ntwo\n", base_version: 0 },
    other: { path: "m.txt", text: "one\n", base_version: 0 },
  },
  { tool: "file_save", input: { path: "s.txt" }, other: {} },
  { tool: "file_reload", input: { path: "s.txt" }, other: { path: "new.txt" } },
  {
    tool: "file_resolve",
    input: { conflict: "c1", choice: "memory" },
    other: { conflict: "c1", choice: "disk" },
  },
];

async function state(mounted: Mounted): Promise<unknown> {
  const { files } = await mounted.call<{ files: Answer[] }>("file_status", {}, ann);
  return [files, mounted.kernel.feed.head];
}

test("every tool that writes files takes a call again for the same call, also behind a restart", async () => {
  await using mounted = await Mounted.with({
    "a.txt": "a\n",
    "s.txt": "one\n",
    "t.txt": "one\n",
    "kumiko.toml": MANUAL,
  });
  await mounted.call("block_replace", { block_id: "s.txt", old: "one", new: "ONE" });
  await mounted.call("block_replace", { block_id: "t.txt", old: "one", new: "ONE" });
  mounted.write("t.txt", "disk's\n");
  await mounted.text("t.txt");
  const tried = new Set(calls.map(({ tool }) => tool));
  // What it announces may be said twice.
  const writers = fileTools.filter(({ writes, name }) => writes && name !== "file_changed");
  expect(tried).toEqual(new Set(writers.map(({ name }) => name)));
  for (const { tool, input, other } of calls) {
    const call_id = `call of ${tool}`;
    const [first, meanwhile] = await Promise.all([
      mounted.call(tool, { ...input, call_id }, ann),
      mounted.call(tool, { ...input, call_id }, ann),
    ]);
    const then = await state(mounted);
    expect([tool, meanwhile]).toEqual([tool, first]);
    await mounted.restart();
    expect([tool, await mounted.call(tool, { ...input, call_id }, ann)]).toEqual([tool, first]);
    const reused = await refusalOf(mounted.call(tool, { ...other, call_id }, ann));
    expect([tool, reused.code]).toEqual([tool, "call_reused"]);
    expect([tool, await state(mounted)]).toEqual([tool, then]);
  }
  expect(existsSync(mounted.path("b.txt"))).toBe(false);
});

test("an undone deletion is undone once", async () => {
  await using mounted = await Mounted.with({ "a.txt": "a\n" });
  await mounted.call("block_replace", { block_id: "a.txt", old: "a", new: "A" }, ann);
  await mounted.call("file_delete", { path: "a.txt" }, ann);
  const undo = { call_id: "undo" };
  const first = await mounted.call("block_undo", undo, ann);
  expect(await mounted.call("block_undo", undo, ann)).toEqual(first);
  expect(mounted.read("a.txt")).toBe("A\n");
});
