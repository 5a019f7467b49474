/**
 * A door of its own, for who needs diffs and patches but no documents: blocks/index.ts loads the CRDT,
 * which takes longer than any patch.
 */
export {
  measuredUnifiedDiff,
  type UnifiedDiff,
  unifiedDiff,
  type UnifiedDiffOptions,
} from "../diff/unified-diff.ts";
export { Effort } from "../diff/effort.ts";
export { type ChangedRange, diffLines, type LineDiff } from "../diff/line-diff.ts";
export {
  applyHunks,
  type ApplyOptions,
  type HunkReport,
  type LineChange,
  type PatchOutcome,
} from "./apply.ts";
export { applyChanges, applyFilePatch, applyPatchToText } from "./apply-file.ts";
export { parsePatch, type ParseOptions } from "./parse.ts";
export { reverseFilePatch } from "./reverse.ts";
export type { FilePatch, Hunk, HunkLine, Patch } from "./types.ts";
