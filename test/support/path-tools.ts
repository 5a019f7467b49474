/** The text of the files that the tools below are tried on; more lines may follow. */
export const THREE = "one\ntwo\nthree\n";

/** What rules decide about; moving is deleting here and creating there. Nobody is asked about announcing. */
export type Operation = "read" | "append" | "create" | "change" | "delete" | "move" | "announce";

const patchOf = (name: string) =>
  `--- a/${name}\n+++ b/${name}\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n`;

export interface PathTool {
  readonly tool: string;
  readonly operation: Operation;
  /** Whether it takes a block as well. */
  readonly takesBlock?: true;
  readonly input: (target: string) => object;
}

const block = (tool: string, operation: Operation, rest: object = {}): PathTool => ({
  tool,
  operation,
  takesBlock: true,
  input: (block_id) => ({ block_id, ...rest }),
});
const file = (tool: string, operation: Operation, rest: object = {}): PathTool => ({
  tool,
  operation,
  input: (path) => ({ path, ...rest }),
});

/** Every tool that takes a path; which ones do is compared with their schemas by a test. */
export const pathTools: readonly PathTool[] = [
  block("block_read", "read"),
  block("block_search", "read", { query: "one" }),
  block("block_history", "read"),
  block("block_diff", "read", { from: 1 }),
  block("block_blame", "read"),
  {
    tool: "block_sync",
    operation: "read",
    takesBlock: true,
    input: (block_id) => ({ versions: [{ block_id, version: 0 }] }),
  },
  block("block_append", "append", { text: "four\n", flush: true }),
  block("block_status", "change", { flags: { pinned: true } }),
  block("block_edit", "change", {
    operations: [{ op: "replace", start_line: 0, end_line: 1, content: "ONE" }],
    base_version: 1,
  }),
  block("block_splice", "change", {
    offset: 0,
    delete_count: 0,
    insert: "ONE",
    base_version: 1,
  }),
  block("block_replace", "change", { old: "one", new: "ONE" }),
  block("block_rollback", "change", { version: 1 }),
  block("block_apply_patch", "change", { patch: patchOf("x") }),
  {
    tool: "block_apply_patch",
    operation: "change",
    takesBlock: true,
    input: (target) => ({ patch: patchOf("x"), blocks: { x: target } }),
  },
  { tool: "block_apply_patch", operation: "change", input: (path) => ({ patch: patchOf(path) }) },
  block("block_apply_patch", "change", { patch: patchOf("x"), dry_run: true }),
  file("file_load", "read"),
  file("file_diff", "read"),
  file("file_status", "read"),
  file("file_create", "create", { content: THREE }),
  file("file_save", "change"),
  file("file_changed", "announce"),
  file("file_changed", "announce", { begins: true }),
  file("file_reload", "change"),
  file("file_merge", "change", { text: "ONE\ntwo\nthree\n", base_version: 1 }),
  file("file_delete", "delete"),
  file("file_move", "move", { to: "admin/moved" }),
  { tool: "file_move", operation: "move", input: (to) => ({ path: "admin/mover", to }) },
];
