export { actorName, fitting } from "./actor.ts";
export { bytesBelow, HomeFolder, homeFolder, usingHome } from "./home.ts";
