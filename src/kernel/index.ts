export type { AppendReceipt } from "./append-stream.ts";
export type { BlockState } from "./block-state.ts";
export type { ShownBlock } from "./block-views.ts";
export type { NewBlock } from "./block-writing.ts";
export type { Applied, AppliedChange } from "./commit/door.ts";
export type { ContextInfo } from "./contexts.ts";
export type { FileStep } from "./edits-under-way.ts";
export type {
  AboutToBe,
  FilePort,
  FileTextPage,
  FileTextQuery,
  NewFile,
  PlannedFlip,
  PlannedGoing,
  UnsavedFile,
} from "./files-port.ts";
export {
  type CallerKind,
  type ConversationRules,
  type Decision,
  type Operation,
  ruled,
} from "./gate.ts";
export type { FileFlip, StateChangeUndo } from "./file-edit.ts";
export { eventUnits } from "./flow/feed.ts";
export type { FeedEvent } from "../protocol/index.ts";
export {
  type DamagedBlock,
  diagnose,
  type Diagnosis,
  exportReadable,
  type Finding,
  type ReadableBlock,
  salvage,
} from "./doctor.ts";
export { checkNotAborted, type Invocation } from "./invocation.ts";
export type { ListedBlock } from "./listing.ts";
export type { Gap, Purged, PurgePreview, PurgeRequest } from "./purge/purge.ts";
export type { DamageReport } from "./quarantine.ts";
export type { BlockText } from "./reading.ts";
export type { Follower, Known, OpenedReplica, ReplicaFrame, ReplicaUpdate } from "./replicas.ts";
export type { FlippedFiles } from "./attached-files.ts";
export type { FoundLine, TextQuery } from "../base/search/index.ts";
export { Kernel, type NamedValues } from "./kernel.ts";
export type { FileFinding, FileIndex, FileReading, IdentifiedFile, Store } from "./ports.ts";
export { type KernelFolders, type KernelInfo, unknownKernel, World } from "./world.ts";
