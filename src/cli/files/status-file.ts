import { printJson } from "../answer.ts";
import { exitCode } from "../exit-code.ts";
import { type FileConflict, printFileStatus } from "../home/file-answer.ts";
import { DEFAULT_WAIT } from "../home/options.ts";
import { targetFrom, withShownPaths } from "../home/paths.ts";
import type { OpenKernel } from "../home/access.ts";
import { type Caller, withKernel } from "../home/with-kernel.ts";
import type { OwnFlags } from "../doors/place.ts";
import type { Terminal } from "../terminal.ts";
import { callFileTool } from "./call-file-tool.ts";

interface StandingFile {
  readonly path: string;
  readonly block_id?: string;
  readonly status: string;
}

export interface Standing {
  readonly files: readonly StandingFile[];
  readonly conflicts: readonly FileConflict[];
}

/** How a file stands, or those below a folder: whether block and disk are the same, who is ahead, what is in conflict. */
export function showFileStatus(
  terminal: Terminal,
  given: string,
  flags: OwnFlags,
): Promise<number> {
  const asked = { wait: DEFAULT_WAIT, ...flags };
  const path = targetFrom(terminal, given);
  const run = async (kernel: OpenKernel, caller: Caller): Promise<number> => {
    const answer = await standingOf(kernel, caller, path);
    if (flags.json) await printJson(terminal, { ok: true, counted_from: 0, ...answer });
    else {
      const shown = await withShownPaths(terminal, kernel, answer);
      const lines = printFileStatus(terminal, { ...shown }, { times: true });
      await terminal.print(`${lines.join("\n")}\n`);
    }
    return exitCode.fine;
  };
  return withKernel(terminal, asked, "kumiko status", run, { path });
}

/** Of a file, of all below a folder that have blocks, or of all that have blocks. */
export async function standingOf(
  kernel: OpenKernel,
  caller: Caller,
  path?: string,
): Promise<Standing> {
  const input = path === undefined ? {} : { path };
  return callFileTool<Standing>(kernel, caller, "file_status", input);
}
