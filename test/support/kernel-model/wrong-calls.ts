import { type Call, read, refused } from "./call.ts";
import { expect } from "vitest";
import type { Dice } from "./dice.ts";
import type { Model, ModelBlock } from "./model.ts";
import { linesOf } from "./placing.ts";

type Wrong = readonly [tool: string, input: object, code: string];

/** Calls that must be refused, each for one reason. */
export function wrongCall(dice: Dice, model: Model): Call {
  const caller = dice.caller();
  const block = dice.block();
  const [tool, input, code] = dice.pick([
    ...strange(caller.actor, model),
    ...misplaced(block, dice),
    ...outside(block, model),
    ...senseless(block),
  ]);
  return {
    tool,
    caller,
    input: { ...input },
    ...(code === "wrong_status" && { ends: (stream) => stream.block === block.id }),
    expected: () => refused(code),
  };
}

/** A block of this name may come to be later. */
function strange(actor: string, model: Model): Wrong[] {
  const numbers = model.all.map(({ id }) => Number(id.split("~")[2]));
  const block_id = `main~${actor}~${Math.max(0, ...numbers) + 1}`;
  const operations = [{ op: "insert", line: 0, content: "x" }];
  return [
    ["block_read", { block_id }, "unknown_block"],
    ["block_read", { block_id, version: 0 }, "unknown_block"],
    ["block_append", { block_id, text: "x", flush: true }, "unknown_block"],
    ["block_edit", { block_id, operations, base_version: 0 }, "unknown_block"],
    ["block_replace", { block_id, old: "a", new: "b", call_id: "never" }, "unknown_block"],
    ["block_status", { block_id, status: "done" }, "unknown_block"],
    ["block_rollback", { block_id, version: 0 }, "unknown_block"],
    ["block_history", { block_id }, "unknown_block"],
    ["block_blame", { block_id }, "unknown_block"],
    ["block_diff", { block_id, from: 0 }, "unknown_block"],
    ["block_search", { block_id, query: "x", literal: true }, "unknown_block"],
    ["block_apply_patch", { block_id, patch: "@@ -0,0 +1 @@\n+x\n" }, "unknown_block"],
    ["block_create", { role: "user", kind: "text", parent_id: block_id }, "unknown_block"],
    ["block_create", { role: "user", kind: "text", context: "nowhere" }, "unknown_context"],
    ["block_list", { context: "nowhere" }, "unknown_context"],
    ["kernel_search", { query: "x", context: "nowhere" }, "unknown_context"],
    ["block_undo", { edit: "e99-99" }, "unknown_edit"],
    ["block_redo", { edit: "e99-99-undoes-e98-1" }, "unknown_edit"],
    ["block_erase", { block_id }, "unknown_tool"],
    ["block_subscribe", {}, "unknown_tool"],
  ];
}

function misplaced(block: ModelBlock, dice: Dice): Wrong[] {
  const { id: block_id } = block;
  const wrong: Wrong[] = [
    ["block_create", { role: "tool", kind: "tool_result", content: "x" }, "wrong_parent"],
    ["block_create", { role: "user", kind: "poem" }, "invalid_argument"],
    ["block_create", { kind: "text" }, "invalid_argument"],
  ];
  if (block.kind !== "tool_call")
    wrong.push([
      "block_create",
      { role: "tool", kind: "tool_result", parent_id: block_id, context: block.context },
      "wrong_parent",
    ]);
  const other = block.context === "main" ? "side" : "main";
  wrong.push([
    "block_create",
    { role: "user", kind: "text", parent_id: block_id, context: other },
    "wrong_parent",
  ]);
  const { status } = block.versions.at(-1)!.facts;
  if (status === "done" || status === "error") {
    const back = dice.pick(["pending", "running", status === "done" ? "error" : "done"]);
    wrong.push(["block_status", { block_id, status: back }, "wrong_status"]);
  }
  return wrong;
}

function outside({ id: block_id, text }: ModelBlock, model: Model): Wrong[] {
  const now = text.version;
  const content = text.read();
  const beyond = linesOf(content).length + 1;
  const insert = { op: "insert", line: beyond, content: "x" };
  const far = { op: "delete", start_line: 0, end_line: beyond };
  const none = { op: "replace", start_line: 0, end_line: 0, content: "x" };
  const wrong: Wrong[] = [
    ["block_read", { block_id, version: now + 9 }, "out_of_range"],
    ["block_read", { block_id, position: model.head + 99 }, "out_of_range"],
    ["block_search", { block_id, query: "x", literal: true, version: now + 9 }, "out_of_range"],
    ["block_diff", { block_id, from: now + 9 }, "out_of_range"],
    ["block_rollback", { block_id, version: now + 9 }, "out_of_range"],
    ["block_history", { block_id, before: now + 9 }, "out_of_range"],
    ["block_sync", { position: model.head + 99 }, "out_of_range"],
    ["block_edit", { block_id, operations: [insert], base_version: now }, "out_of_range"],
    ["block_edit", { block_id, operations: [far], base_version: now }, "out_of_range"],
    ["block_edit", { block_id, operations: [none], base_version: now }, "invalid_argument"],
    ["block_edit", { block_id, operations: [insert], base_version: now + 9 }, "out_of_range"],
    [
      "block_splice",
      { block_id, offset: 9999, delete_count: 0, base_version: now },
      "out_of_range",
    ],
  ];
  const tree = content.indexOf("🪵");
  if (tree >= 0) {
    const offset = tree + 1;
    const splice = { block_id, offset, delete_count: 0, insert: "x", unit: "utf16" };
    wrong.push(["block_splice", { ...splice, base_version: now }, "split_character"]);
  }
  return wrong;
}

function senseless({ id: block_id, text }: ModelBlock): Wrong[] {
  const base_version = text.version;
  const half = "a\ud800b";
  const two = "--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+x\n--- a/y\n+++ b/y\n@@ -0,0 +1 @@\n+x\n";
  return [
    ["block_read", { block_id, colour: "red" }, "invalid_argument"],
    ["block_read", { block_id: "./x" }, "invalid_argument"],
    ["block_read", { block_id, version: 0, position: 0 }, "invalid_argument"],
    ["block_append", { block_id, text: "" }, "invalid_argument"],
    ["block_append", { block_id, text: "x", flush: "yes" }, "invalid_argument"],
    ["block_edit", { block_id, operations: [] }, "invalid_argument"],
    ["block_splice", { block_id, offset: -1, delete_count: 0 }, "invalid_argument"],
    [
      "block_splice",
      { block_id, offset: 0, delete_count: 0, insert: half, base_version },
      "ill_formed_text",
    ],
    ["block_replace", { block_id, old: "a", regex: "a", new: "b" }, "invalid_argument"],
    ["block_replace", { block_id, old: "nowhere at all", new: "b" }, "not_found"],
    ["block_apply_patch", { block_id, patch: "no patch" }, "patch_malformed"],
    [
      "block_apply_patch",
      { block_id, patch: "@@ -1 +1 @@\n-nowhere at all\n+x\n" },
      "patch_rejected",
    ],
    ["block_apply_patch", { block_id, patch: two }, "invalid_argument"],
    ["block_search", { block_id, query: "(" }, "invalid_pattern"],
    ["block_diff", { block_id, from: "disk" }, "not_on_disk"],
    ["block_status", { block_id }, "invalid_argument"],
    ["block_status", { block_id, flags: { loud: true } }, "invalid_argument"],
    ["block_sync", { position: 0, versions: [{ block_id, version: 1 }] }, "invalid_argument"],
    ["block_list", { depth: 0 }, "invalid_argument"],
    ["block_undo", { edit: "" }, "invalid_argument"],
    ["kernel_search", { query: "" }, "invalid_argument"],
  ];
}

/** A call that was answered before: the same again, or the same id with other arguments. */
export function repeatedCall(dice: Dice, model: Model): Call | undefined {
  if (model.calls.length === 0) return undefined;
  const { actor, tool, input, answer } = dice.pick(model.calls);
  const other = dice.chance(0.3);
  const reader = input["reader"] as string | undefined;
  const sight = `${actor}/${reader}`;
  const block = String(input["block_id"]);
  const based = input["base_version"] ?? model.shown(sight, block);
  return {
    tool,
    caller: { actor, reader, sight },
    input: other ? { ...input, message: "another reason" } : input,
    ...(tool === "block_status" && { ends: (stream) => stream.block === block }),
    expected: () => (other ? refused("call_reused") : read),
    check: (again) => expect(again).toEqual(answer),
    shows: (again, now) => {
      if (tool === "block_create") now.advance(sight, String(again["block_id"]), 1);
      if (tool === "block_status" && based !== undefined)
        now.advance(sight, block, Number(again["version"]));
      if (tool !== "block_undo" && tool !== "block_redo") return;
      for (const { block_id, version } of again["blocks"] as {
        block_id: string;
        version: number;
      }[])
        if (now.shown(sight, block_id) === version - 1) now.advance(sight, block_id, version);
    },
  };
}
