export type { BlameEntry } from "./blame.ts";
export { BlockDocument, type Committed, type ImportedUpdate } from "./block-document.ts";
export { translateEdit } from "./edit-lines.ts";
export { type RangeChange, translateRanges } from "./edit-ranges.ts";
export type { FlipPlan, FlipRequest } from "./flip-plan.ts";
export { readHolding, writeHolding } from "./holding-codec.ts";
export type { HistoryEntry, HistoryPage } from "./history.ts";
export { loadLoro } from "./loro.ts";
export * from "./patch/index.ts";
export {
  type CheckedOperations,
  endOf,
  type OperationId,
  operationLength,
  type PeerChange,
  type PeerOperations,
  type TextOperation,
} from "./peer-operations.ts";
export { translatePatch, type TranslatedPatch } from "./patch-text.ts";
export { type ReplaceRequest, translateReplace } from "./replace-text.ts";
export { ReplicaText } from "./replica-text.ts";
export { endOfTyping, type Typing } from "./typing.ts";
export type { RecordedCommit, SavedDocument } from "./saved-document.ts";
export { type SpliceRequest, translateAppend, translateSplice } from "./splice-text.ts";
export { splitText, type TextLines } from "./diff/lines.ts";
export { type Author, type EditTarget, isOfWord, trimmed } from "./translation.ts";
export type { Places, RecordedChange, Splice, Stamp } from "./types.ts";
