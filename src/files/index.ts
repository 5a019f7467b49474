export { listFolders, type MountedFolder, mountFolder, unmountFolder } from "./mounted-folders.ts";
export { Mounts } from "./mounts.ts";
export { fileTools } from "./tools/index.ts";
