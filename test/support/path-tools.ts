import { Mounts } from "../../src/files/index.ts";
import type { Kernel } from "../../src/kernel/index.ts";

/** The text of the files that the tools below are tried on; more lines may follow. */
export const THREE = "one\ntwo\nthree\n";
/** What the Edit puts before a text that is there when a tool is tried. */
export const ADDED = "zero\n";

/** What rules decide about; moving is deleting here and creating there. Nobody is asked about announcing. */
export type Operation = "read" | "append" | "create" | "change" | "delete" | "move" | "announce";

/** What is in the block before: an Edit that is not saved, or one that was undone. */
export type Prepared = "edited" | "undone";

const patchOf = (name: string) =>
  `--- a/${name}\n+++ b/${name}\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n`;

interface Surroundings {
  /** A place of this attempt's own where everything is allowed. */
  readonly other: string;
  /** The Edit that was prepared. */
  readonly edit: string;
}

interface Rest {
  readonly prepared?: Prepared;
  readonly leaves?: (text: string) => string | undefined;
}

export interface PathTool extends Rest {
  readonly tool: string;
  readonly operation: Operation;
  /** Whether it takes a block as well. */
  readonly takesBlock?: true;
  /** Whether the file goes to the other place, or comes from there. */
  readonly moves?: "away" | "here";
  readonly input: (target: string, around: Surroundings) => object;
  /** What file and block say once it was allowed; undefined: the file is gone. By default what the file said. */
  readonly leaves?: (text: string) => string | undefined;
}

const block = (
  tool: string,
  operation: Operation,
  input: object = {},
  rest: Rest = {},
): PathTool => ({
  tool,
  operation,
  takesBlock: true,
  input: (block_id) => ({ block_id, ...input }),
  ...rest,
});
const file = (
  tool: string,
  operation: Operation,
  input: object = {},
  rest: Rest = {},
): PathTool => ({ tool, operation, input: (path) => ({ path, ...input }), ...rest });

const firstLarge: Rest = { leaves: (text) => text.replace("one", "ONE") };
const secondLarge: Rest = { leaves: (text) => text.replace("two", "TWO") };

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
  block(
    "block_append",
    "append",
    { text: "four\n", flush: true },
    { leaves: (text) => `${text}four\n` },
  ),
  block("block_status", "change", { flags: { pinned: true } }),
  block(
    "block_edit",
    "change",
    {
      operations: [{ op: "replace", start_line: 0, end_line: 1, content: "ONE" }],
      base_version: 1,
    },
    firstLarge,
  ),
  block(
    "block_splice",
    "change",
    { offset: 0, delete_count: 0, insert: "ONE", base_version: 1 },
    { leaves: (text) => `ONE${text}` },
  ),
  block("block_replace", "change", { old: "one", new: "ONE" }, firstLarge),
  block("block_rollback", "change", { version: 1 }, { prepared: "edited" }),
  block("block_apply_patch", "change", { patch: patchOf("x") }, secondLarge),
  {
    tool: "block_apply_patch",
    operation: "change",
    takesBlock: true,
    input: (target) => ({ patch: patchOf("x"), blocks: { x: target } }),
    ...secondLarge,
  },
  {
    tool: "block_apply_patch",
    operation: "change",
    input: (path) => ({ patch: patchOf(path) }),
    ...secondLarge,
  },
  block("block_apply_patch", "change", { patch: patchOf("x"), dry_run: true }),
  file("file_load", "read"),
  file("file_diff", "read"),
  file("file_status", "read"),
  file("file_create", "create", { content: THREE }, { leaves: () => THREE }),
  file("file_save", "change", {}, { prepared: "edited", leaves: (text) => ADDED + text }),
  file("file_changed", "announce"),
  file("file_changed", "announce", { begins: true }),
  file("file_reload", "change", {}, { prepared: "edited" }),
  file(
    "file_merge",
    "change",
    { text: "ONE\ntwo\nthree\n", base_version: 1 },
    { leaves: () => "ONE\ntwo\nthree\n" },
  ),
  file("file_delete", "delete", {}, { leaves: () => undefined }),
  {
    tool: "file_move",
    operation: "move",
    moves: "away",
    input: (path, { other }) => ({ path, to: other }),
    leaves: () => undefined,
  },
  {
    tool: "file_move",
    // To move a file here is to create it.
    operation: "create",
    moves: "here",
    input: (to, { other }) => ({ path: other, to }),
  },
];

/** Those that take an Edit of the caller's own. */
export const editTools: readonly PathTool[] = [
  {
    tool: "block_undo",
    operation: "change",
    prepared: "edited",
    input: (_, { edit }) => ({ edit }),
  },
  {
    tool: "block_redo",
    operation: "change",
    prepared: "undone",
    input: (_, { edit }) => ({ edit }),
    leaves: (text) => ADDED + text,
  },
];

/** Makes an Edit in an actor's name whatever the rules say, in the block only, and gives it. */
export async function prepare(
  kernel: Kernel,
  { block: id, actor, prepared }: { block: string; actor: string; prepared: Prepared },
): Promise<string> {
  const by = { actor, kind: "system" } as const;
  const { text } = await kernel.read(id);
  const edit = await kernel.editFiles(by, {
    blocks: [id],
    operation: "change",
    translate: () => [{ at: 0, remove: 0, insert: ADDED }],
    answer: ({ edit: made }) => made,
  });
  const { saving, files } = Mounts.of(kernel).first().source;
  if (prepared === "undone") await kernel.undoFiles(by, edit, new Map([[id, text]]));
  // Else it is saved within a moment, and who tries to save it would have nothing to do.
  const held = files.of(id)!;
  saving.nothingWaits(Object.create(held, { ahead: { value: false } }) as typeof held);
  return edit;
}
