import { homeFolder } from "../../app/index.ts";
import type { Terminal } from "../terminal.ts";

/** What every verb about the server takes. */
export interface OwnFlags {
  readonly home?: string;
  readonly json: boolean;
}

export function placeOf(terminal: Terminal, { home }: OwnFlags): string {
  return homeFolder(home, terminal.environment, terminal.folder);
}
