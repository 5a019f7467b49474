export { AskedThread } from "./asked-thread.ts";
export { ByteReader, ByteWriter, damaged } from "./bytes.ts";
export { type Clock, monotonicClock, type Timers } from "./clock.ts";
export { IntColumn } from "./column.ts";
export { deepFreeze } from "./deep-freeze.ts";
export {
  fileEdit,
  type FileEditKind,
  flipEdit,
  flipOf,
  formatEdit,
  isEdit,
  isFileEdit,
  type WholeFileChange,
} from "./edit-id.ts";
export { type ErrorCode, errorCodes, type Fact, type Facts, KumikoError } from "./errors.ts";
export { compileGlob, type Glob } from "./glob.ts";
export { sha256Bytes, sha256Text } from "./hash.ts";
export { checkIdPart, formatBlockId, isBlockId, parseBlockId } from "./ids.ts";
export { KeyedQueue } from "./keyed-queue.ts";
export { LineReader } from "./line-reader.ts";
export { changesBetween, nearest } from "./nearest.ts";
export { Random } from "./random.ts";
export { SumLeaf, SumTree } from "./sum-tree.ts";
export {
  checkPosition,
  checkRange,
  checkWellFormed,
  endsWithNewline,
  lineAt,
  lineCount,
  lineEnd,
  lineStart,
  locateInText,
  Measure,
  measureText,
  type PositionedText,
  splitCharacter,
  type Unit,
} from "./text-positions.ts";
export { TextRope } from "./text-rope.ts";
export { type SearchCall, SearchThreads } from "./search-threads.ts";
export { spelled } from "./spelling.ts";
export { realTimers, WorkerThread } from "./worker-thread.ts";
