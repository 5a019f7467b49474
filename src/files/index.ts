export type { FolderBook } from "./folder-book.ts";
export { listFolders, type MountedFolder, mountFolder, unmountFolder } from "./mounted-folders.ts";
export { MountsPort } from "./mounts-port.ts";
export { Mounts } from "./mounts.ts";
export { findPlace } from "./places.ts";
export { readerModule } from "./reader-module.ts";
export { type SecretNames, secretNames } from "./secret-names.ts";
export { fileTools } from "./tools/index.ts";
