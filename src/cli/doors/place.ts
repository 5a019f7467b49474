import { homeFolder } from "../../app/index.ts";
import { KumikoError } from "../../base/index.ts";
import type { Terminal } from "../terminal.ts";

/** What every verb about the server takes. */
export interface OwnFlags {
  readonly home?: string;
  readonly json: boolean;
}

export function placeOf(terminal: Terminal, { home }: OwnFlags): string {
  return homeFolder(home, terminal.environment, terminal.folder);
}

/** For who wants to see what others do. */
export function noServer(home: string): KumikoError {
  return new KumikoError(
    "unreachable",
    `No server runs for ${home}, so there is nothing to watch. Start one with \`kumiko serve\`, in another terminal.`,
    { home },
  );
}
