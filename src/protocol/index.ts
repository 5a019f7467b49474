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
export { channelMessage } from "./channel-message.ts";
export { type EditOperation, editOperation } from "./edit-operations.ts";
export { errorBody } from "./errors.ts";
export { type FeedEvent, feedEvent } from "./feed-event.ts";
export { type EndReason, type FeedMessage, feedMessage } from "./feed-message.ts";
export {
  type LiveEvent,
  liveEvent,
  type LiveTopic,
  liveTopics,
  type Notice,
} from "./live-events.ts";
export { problemWords } from "./problem-words.ts";
export {
  type Presence,
  presence,
  type PresenceChange,
  presenceChange,
  type PresenceEntry,
  presenceEntry,
} from "./presence.ts";
export {
  type ClientFrame,
  decodeClientFrame,
  decodeServerFrame,
  encodeClientFrame,
  encodeServerFrame,
  type Remedy,
  REPLICA_VERSION,
  replicaLimits,
  type ServerFrame,
} from "./replica-frame.ts";
export type {
  RpcCallback,
  RpcContext,
  RpcKernel,
  RpcListener,
  RpcSubscription,
  RpcWorld,
} from "./rpc.ts";
export { type RpcAnswers, rpcAnswers } from "./rpc-answers.ts";
export { channelDone, type RpcChannel, rpcChannel } from "./rpc-channel.ts";
export { type RpcInputs, rpcInputs } from "./rpc-inputs.ts";
export { closeCodes, type CloseReason, PROTOCOL_VERSION } from "./rpc-version.ts";
export {
  type Scope,
  scope,
  type TokenInfo,
  tokenInfo,
  type TokenKind,
  tokenKind,
  type TokenRequest,
  tokenRequest,
} from "./token.ts";
export { type ToolFilter, toolFilter } from "./tool-filter.ts";
