import { accessSync, constants } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { homeFolder } from "../../app/index.ts";
import type { Terminal } from "../terminal.ts";
import { startedAs } from "./agents.ts";
import { type OwnFlags, placeOf } from "./place.ts";

/** The command that an agent on this machine starts for this home. An agent does not have this shell's variables. */
export function mcpCommand(terminal: Terminal, flags: OwnFlags): string[] {
  return ownCommand(terminal, flags, ["mcp"]);
}

export function ownCommand(
  terminal: Terminal,
  flags: OwnFlags,
  words: readonly string[],
): string[] {
  const home = isUsualHome(terminal, flags) ? [] : ["--home", placeOf(terminal, flags)];
  return [...startedAs(), ...words, ...home];
}

interface SharedCommand {
  readonly command: string[];
  readonly missing: boolean;
}

/** For files that people share: nothing of this machine is in it. `missing` when it would not start here. */
export function sharedMcpCommand(terminal: Terminal): SharedCommand {
  return sharedCommand(terminal, ["mcp"]);
}

export function sharedCommand(terminal: Terminal, words: readonly string[]): SharedCommand {
  const { PATH = "" } = terminal.environment;
  const onPath = PATH.split(delimiter).some((folder) => folder !== "" && isProgram(folder));
  if (onPath) return { command: ["kumiko", ...words], missing: false };
  // Without --no, npx would fetch whatever has that name when the project lacks it.
  const command = ["npx", "--no", "kumiko", ...words];
  return { command, missing: !isInstalled(terminal.folder) };
}

export function isUsualHome(terminal: Terminal, flags: OwnFlags): boolean {
  const environment = { ...terminal.environment, KUMIKO_HOME: undefined };
  return placeOf(terminal, flags) === homeFolder(undefined, environment, "/");
}

function isInstalled(folder: string): boolean {
  if (isProgram(join(folder, "node_modules", ".bin"))) return true;
  const above = dirname(folder);
  return above !== folder && isInstalled(above);
}

function isProgram(folder: string): boolean {
  try {
    accessSync(join(folder, "kumiko"), constants.X_OK);
    return true;
  } catch {
    // Not there, or not to be started: either way it is none.
    return false;
  }
}
