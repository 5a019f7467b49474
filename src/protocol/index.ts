export {
  type BlockFlags,
  blockFlags,
  type BlockKind,
  blockKind,
  type BlockMetadata,
  blockMetadata,
  type BlockRole,
  blockRole,
  type BlockState,
  blockState,
  type BlockStatus,
  blockStatus,
} from "./block.ts";
export { type EditOperation, editOperation } from "./edit-operations.ts";
export { errorBody } from "./errors.ts";
export { type FeedEvent, feedEvent } from "./feed-event.ts";
export {
  type LiveEvent,
  liveEvent,
  type LiveTopic,
  liveTopics,
  type Notice,
} from "./live-events.ts";
