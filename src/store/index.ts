export type { Fault, FaultHook, WriteStep } from "./memory/faults.ts";
export { MemoryFileIndex } from "./memory/memory-file-index.ts";
export { MemoryDisk } from "./memory/memory-disk.ts";
export { MemoryStore, type MemoryStoreOptions } from "./memory/memory-store.ts";
export { copyDatabase } from "./sqlite/copy.ts";
export { FolderLock } from "./sqlite/lock.ts";
export { openCopy } from "./sqlite/salvage/open-copy.ts";
export { SqliteFileIndex } from "./sqlite/search/sqlite-file-index.ts";
export { openSqliteStore, type SqliteStoreOptions } from "./sqlite/sqlite-store.ts";
