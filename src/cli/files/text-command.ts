import { join } from "node:path";
import { forPeople, printJson } from "../answer.ts";
import { exitCode } from "../exit-code.ts";
import { printFileDiff } from "../home/file-answer.ts";
import type { OpenKernel } from "../home/access.ts";
import type { HomeFlags } from "../home/options.ts";
import { shownPath, targetFrom } from "../home/paths.ts";
import { type Caller, withKernel } from "../home/with-kernel.ts";
import type { Terminal } from "../terminal.ts";
import { readPlainFile } from "../text-file.ts";
import { callFileTool } from "./call-file-tool.ts";

export interface CatFlags extends HomeFlags {
  readonly version?: number;
}

interface ReadFile {
  readonly content: string;
  readonly version: number;
  /** Why there was only the block to be read. */
  readonly unsaved?: readonly { readonly why: string }[];
}

/** The text of a file as everybody who works on it sees it. */
export function printFile(terminal: Terminal, given: string, flags: CatFlags): Promise<number> {
  const path = targetFrom(terminal, given);
  const run = async (kernel: OpenKernel, caller: Caller): Promise<number> => {
    const { version } = flags;
    const input = { block_id: path, line_numbers: false };
    const answer = await callFileTool<ReadFile>(kernel, caller, "block_read", {
      ...input,
      ...(version !== undefined && { version }),
    });
    const { content, version: read, unsaved } = answer;
    if (flags.json)
      await printJson(terminal, {
        ok: true,
        path: given,
        version: read,
        content,
        ...(unsaved && { unsaved }),
      });
    else {
      const { printBytes } = terminal;
      const bytes = printBytes && (await bytesOf(kernel, path, content));
      if (printBytes === undefined || bytes === undefined) await terminal.print(content);
      else await printBytes(bytes);
      for (const { why } of unsaved ?? []) await terminal.complain(`${await forPeople(why)}\n`);
    }
    return exitCode.fine;
  };
  return withKernel(terminal, flags, "kumiko cat", run, { path });
}

/** As it would be saved: with the line ends, the encoding and the mark of the file. Undefined when there is no file. */
async function bytesOf(
  kernel: OpenKernel,
  target: string,
  content: string,
): Promise<Uint8Array | undefined> {
  const file = await placeOf(kernel, target);
  const plain = file === undefined ? null : await readPlainFile(file, target);
  if (plain === null) return undefined;
  const { readText, writeText } = await import("../../files/text-form.ts");
  const found = readText(plain.bytes, Infinity);
  if (!("form" in found)) return undefined;
  // Of a file without any line end only what is there already shows its form.
  return found.text === content ? plain.bytes : writeText(content, found.form);
}

async function placeOf(kernel: OpenKernel, target: string): Promise<string | undefined> {
  if (target.startsWith("/")) return target;
  const [, name, rest] = /^@([a-z0-9-]{1,32})\/(.+)$/s.exec(target) ?? [];
  if (name === undefined) return undefined;
  const mounts = await kernel.ask((each) => each.mounts());
  const folder = mounts.find(({ mount }) => mount === name)?.folder;
  return folder === undefined ? undefined : join(folder, rest!);
}

interface FileDiff {
  readonly path: string;
  readonly status: string;
  readonly diff: string;
}

/** From disk to block; the exit code says whether there is a difference. */
export function diffFile(terminal: Terminal, given: string, flags: HomeFlags): Promise<number> {
  const path = targetFrom(terminal, given);
  const run = async (kernel: OpenKernel, caller: Caller): Promise<number> => {
    const answer = await callFileTool<FileDiff>(kernel, caller, "file_diff", { path });
    const different = answer.diff !== "";
    const shown = path.startsWith("/") ? shownPath(terminal, path) : path;
    if (flags.json) await printJson(terminal, { ok: true, different, ...answer, path: shown });
    else if (different)
      await terminal.print(`${printFileDiff(terminal, { ...answer }).join("\n")}\n`);
    return different ? exitCode.different : exitCode.fine;
  };
  return withKernel(terminal, flags, "kumiko diff", run, { path });
}
