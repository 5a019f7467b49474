import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { isBlockId, KumikoError } from "../base/index.ts";
import { measuredUnifiedDiff } from "../blocks/patch/index.ts";
import { printedDiff, printJson } from "./answer.ts";
import { exitCode } from "./exit-code.ts";
import type { HomeFlags } from "./home/options.ts";
import { targetFrom } from "./home/paths.ts";
import { decodeNamed, readNamedBytes } from "./input.ts";
import type { Terminal } from "./terminal.ts";

export interface DiffFlags extends HomeFlags {
  readonly context?: number;
  readonly label: readonly string[];
}

/** Of two files, of two versions when the first name is a block or there is a version, or of a file and its block. */
export async function runDiff(
  terminal: Terminal,
  [oldName, newName, to]: readonly [string, string | undefined, string | undefined],
  flags: DiffFlags,
): Promise<number> {
  if (newName === undefined) {
    if (isBlockId(oldName) && !oldName.startsWith("@")) throw withoutVersion(oldName);
    refuseFlags(flags, ["context", "label"], "a file is compared with its block");
    const { diffFile } = await import("./files/text-command.ts");
    return diffFile(terminal, oldName, flags);
  }
  if (isBlockId(oldName) || isVersion(terminal, newName)) {
    refuseFlags(
      flags,
      ["context", "label"],
      `${oldName} is a block (a file is written ./${oldName})`,
    );
    const { diffBlock } = await import("./home/diff-block.ts");
    const block = targetFrom(terminal, oldName);
    return diffBlock(terminal, { block, from: newName, to }, flags);
  }
  refuseFlags(flags, ["home", "kernel", "actor"], `${oldName} is a file`);
  if (to !== undefined) {
    throw new KumikoError("invalid_argument", `Two files can be compared; ${to} is one too many.`, {
      word: to,
    });
  }
  return diffFiles(terminal, oldName, newName, flags);
}

/** A block of a conversation is nowhere else to be compared with. */
function withoutVersion(block: string): KumikoError {
  return new KumikoError(
    "invalid_argument",
    `Say which version: kumiko diff ${block} <from> [to]. \`kumiko history ${block}\` lists them.`,
    { block },
  );
}

/** A file of such a name is meant before a version. */
function isVersion(terminal: Terminal, word: string): boolean {
  return /^\d{1,15}$/.test(word) && !existsSync(resolve(terminal.folder, word));
}

/** An option that would do nothing is a mistake. */
function refuseFlags(flags: DiffFlags, names: readonly (keyof DiffFlags)[], why: string): void {
  for (const name of names) {
    const value = flags[name];
    if (value === undefined || (Array.isArray(value) && value.length === 0)) continue;
    throw new KumikoError("invalid_argument", `--${name} does not belong here: ${why}.`, {
      option: name,
    });
  }
}

async function diffFiles(
  terminal: Terminal,
  oldName: string,
  newName: string,
  flags: DiffFlags,
): Promise<number> {
  if (oldName === "-" && newName === "-") {
    throw new KumikoError(
      "invalid_argument",
      "Only one of the two texts can come from standard input.",
    );
  }
  if (flags.label.length > 2) {
    throw new KumikoError(
      "invalid_argument",
      "--label can be given twice: for the old name and the new one.",
    );
  }
  const oldBytes = await readNamedBytes(terminal, oldName);
  const newBytes = await readNamedBytes(terminal, newName);
  const equal = Buffer.compare(oldBytes, newBytes) === 0;
  const diff = equal
    ? { text: "", coarse: false }
    : measuredUnifiedDiff(decodeNamed(oldBytes, oldName), decodeNamed(newBytes, newName), {
        oldName: flags.label[0] ?? oldName,
        newName: flags.label[1] ?? newName,
        context: flags.context ?? 3,
      });
  if (flags.json)
    await printJson(terminal, {
      ok: true,
      different: !equal,
      diff: diff.text,
      coarse: diff.coarse,
    });
  else if (!equal) await terminal.print(printedDiff(terminal, diff.text));
  return equal ? exitCode.fine : exitCode.different;
}
