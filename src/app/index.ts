export { actorName, fitting } from "./actor.ts";
export { bytesBelow, HomeFolder, homeFolder } from "./home.ts";
export { openWorld } from "./world.ts";
