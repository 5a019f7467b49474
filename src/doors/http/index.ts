export { checkMethod, sendJson } from "./answer.ts";
export { parsedBody } from "./parsed-body.ts";
export type { RequestDoor } from "./door.ts";
export { type DoorOpener, type FrontOptions, HttpFront } from "./front.ts";
export {
  createMetricsDoor,
  createStatusDoor,
  type Status,
  type Surroundings,
} from "./status-door.ts";
export { createTokensDoor } from "./tokens-door.ts";
