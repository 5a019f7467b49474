export type { AppendReceipt } from "./appends.ts";
export type { BlockState } from "./block-state.ts";
export type { Applied, AppliedChange } from "./commit/door.ts";
export type { FeedEvent } from "./feed.ts";
export type { Invocation } from "./invocation.ts";
export { Kernel, type NewBlock, type ShownBlock } from "./kernel.ts";
