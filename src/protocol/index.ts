export {
  type BlockFlags,
  blockFlags,
  type BlockKind,
  blockKind,
  type BlockMetadata,
  blockMetadata,
  type BlockRole,
  blockRole,
  type BlockStatus,
  blockStatus,
} from "./block.ts";
export { type EditOperation, editOperation } from "./edit-operations.ts";
export { errorBody } from "./errors.ts";
