import { blockAppend } from "./block/append.ts";
import { blockApplyPatch } from "./block/apply-patch.ts";
import { blockBlame } from "./block/blame.ts";
import { blockCreate } from "./block/create.ts";
import { blockDiff } from "./block/diff.ts";
import { blockEdit } from "./block/edit.ts";
import { blockHistory } from "./block/history.ts";
import { blockList } from "./block/list.ts";
import { blockRead } from "./block/read.ts";
import { blockReplace } from "./block/replace.ts";
import { blockRollback } from "./block/rollback.ts";
import { blockSplice } from "./block/splice.ts";
import { blockStatusTool } from "./block/status.ts";
import type { Tool } from "./define-tool.ts";

export type { Tool } from "./define-tool.ts";
export { type ToolFilter, ToolRegistry } from "./registry.ts";

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
  blockRead,
  blockList,
  blockHistory,
  blockDiff,
  blockBlame,
];
