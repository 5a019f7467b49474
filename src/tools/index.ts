import { blockAppend } from "./block/append.ts";
import { blockApplyPatch } from "./block/apply-patch.ts";
import { blockBlame } from "./block/blame.ts";
import { blockCreate } from "./block/create.ts";
import { blockDiff } from "./block/diff.ts";
import { blockEdit } from "./block/edit.ts";
import { blockHistory } from "./block/history.ts";
import { blockList } from "./block/list.ts";
import { blockRead } from "./block/read.ts";
import { blockRedo } from "./block/redo.ts";
import { blockReplace } from "./block/replace.ts";
import { blockRollback } from "./block/rollback.ts";
import { blockSearch } from "./block/search.ts";
import { blockSplice } from "./block/splice.ts";
import { blockStatusTool } from "./block/status.ts";
import { blockSubscribe } from "./block/subscribe.ts";
import { blockSync } from "./block/sync.ts";
import { blockUndo } from "./block/undo.ts";
import type { StreamingTool, Tool } from "./define-tool.ts";
import { kernelSearch } from "./kernel-search.ts";

export { defineTool, type StreamingTool, type Tool, writing } from "./define-tool.ts";
export { type ArgumentSchema, type InputSchema, inputSchema } from "./input-schema.ts";
export { referencePages } from "./reference-pages.ts";
export { type ToolFilter, ToolRegistry } from "./registry.ts";
export { type ToolForm, toolForms } from "./tool-forms.ts";

/** Every tool for blocks. */
export const blockTools: readonly Tool[] = [
  blockCreate,
  blockStatusTool,
  blockAppend,
  blockEdit,
  blockSplice,
  blockReplace,
  blockApplyPatch,
  blockRollback,
  blockUndo,
  blockRedo,
  blockRead,
  blockSearch,
  blockList,
  blockHistory,
  blockDiff,
  blockBlame,
  blockSync,
  kernelSearch,
];

/** What programs can listen to; a registry takes them beside the others where a door can stream. */
export const blockStreams: readonly StreamingTool[] = [blockSubscribe];
