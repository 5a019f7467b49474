import { printJson } from "../answer.ts";
import { exitCode } from "../exit-code.ts";
import { printFileDiff } from "../home/file-answer.ts";
import type { HomeFlags } from "../home/options.ts";
import { shownPath, targetFrom } from "../home/paths.ts";
import { withKernel } from "../home/with-kernel.ts";
import type { Terminal } from "../terminal.ts";
import { callFileTool } from "./call-file-tool.ts";

export interface CatFlags extends HomeFlags {
  readonly version?: number;
}

/** The text of a file as everybody who works on it sees it. */
export function printFile(terminal: Terminal, given: string, flags: CatFlags): Promise<number> {
  return withKernel(terminal, flags, "kumiko cat", async (kernel, caller) => {
    const { version } = flags;
    const input = { block_id: targetFrom(terminal, given), line_numbers: false };
    const answer = await callFileTool<{ content: string; version: number }>(
      kernel,
      caller,
      "block_read",
      { ...input, ...(version !== undefined && { version }) },
    );
    const { content, version: read } = answer;
    if (flags.json) await printJson(terminal, { ok: true, path: given, version: read, content });
    else await terminal.print(content);
    return exitCode.fine;
  });
}

interface FileDiff {
  readonly path: string;
  readonly status: string;
  readonly diff: string;
}

/** From disk to block; the exit code says whether there is a difference. */
export function diffFile(terminal: Terminal, given: string, flags: HomeFlags): Promise<number> {
  return withKernel(terminal, flags, "kumiko diff", async (kernel, caller) => {
    const path = targetFrom(terminal, given);
    const answer = await callFileTool<FileDiff>(kernel, caller, "file_diff", { path });
    const different = answer.diff !== "";
    const shown = path.startsWith("/") ? shownPath(terminal, path) : path;
    if (flags.json) await printJson(terminal, { ok: true, different, ...answer, path: shown });
    else if (different)
      await terminal.print(`${printFileDiff(terminal, { ...answer }).join("\n")}\n`);
    return different ? exitCode.different : exitCode.fine;
  });
}
