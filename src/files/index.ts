export { Mounts } from "./mounts.ts";
export { fileTools } from "./tools/index.ts";
