import { homeFolder } from "../../app/index.ts";
import type { Terminal } from "../terminal.ts";
import { startedAs } from "./agents.ts";
import { type OwnFlags, placeOf } from "./place.ts";

/** The command that an agent starts for this home. An agent does not have this shell's variables. */
export function mcpCommand(terminal: Terminal, flags: OwnFlags): string[] {
  const home = placeOf(terminal, flags);
  const usual = homeFolder(undefined, { ...terminal.environment, KUMIKO_HOME: undefined }, "/");
  return [...startedAs(), "mcp", ...(home === usual ? [] : ["--home", home])];
}
