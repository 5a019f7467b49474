export type { BlockState } from "./block-state.ts";
export type { Applied, AppliedChange, Authorise, Decision, Operation } from "./commit/door.ts";
export type { ContextInfo, Member } from "./contexts.ts";
export type { FeedEvent, FeedOptions } from "./feed.ts";
export type { Invocation } from "./invocation.ts";
export {
  type BlockReading,
  Kernel,
  type KernelOptions,
  type NewBlock,
  type TextEdit,
} from "./kernel.ts";
