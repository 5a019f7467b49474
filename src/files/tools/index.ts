import type { Tool } from "../../tools/index.ts";
import { fileChanged } from "./changed.ts";
import { fileCreate } from "./create.ts";
import { fileDelete } from "./delete.ts";
import { fileDiff } from "./diff.ts";
import { fileList } from "./list.ts";
import { fileLoad } from "./load.ts";
import { fileMerge } from "./merge.ts";
import { fileMove } from "./move.ts";
import { fileReload } from "./reload.ts";
import { fileResolve } from "./resolve.ts";
import { fileSave } from "./save.ts";
import { fileStatusTool } from "./status.ts";

/** What files need beside the tools for blocks. */
export const fileTools: readonly Tool[] = [
  fileLoad,
  fileCreate,
  fileSave,
  fileDelete,
  fileMove,
  fileList,
  fileStatusTool,
  fileDiff,
  fileReload,
  fileResolve,
  fileMerge,
  fileChanged,
];
