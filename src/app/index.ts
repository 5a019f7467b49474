export { actorName, fitting } from "./actor.ts";
export { bytesBelow, HomeFolder, homeFolder } from "./home.ts";
