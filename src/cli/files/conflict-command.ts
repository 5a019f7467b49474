import { KumikoError } from "../../base/index.ts";
import { printJson } from "../answer.ts";
import { exitCode } from "../exit-code.ts";
import { shortened, visible } from "../home/columns.ts";
import { counted } from "../home/counted.ts";
import { printConflict } from "../home/file-answer.ts";
import type { HomeFlags } from "../home/options.ts";
import { bold, dim } from "../home/paint.ts";
import { targetFrom, withShownPaths } from "../home/paths.ts";
import { leavesUnsaved, printUnsaved } from "../home/tool-answer.ts";
import type { OpenKernel } from "../home/access.ts";
import { type Caller, withKernel } from "../home/with-kernel.ts";
import { decodeNamed, readNamedBytes } from "../input.ts";
import type { Terminal } from "../terminal.ts";
import { callFileTool } from "./call-file-tool.ts";
import { type Standing, standingOf } from "./status-file.ts";

/** The exit code is 1 when there are some. */
export function listConflicts(
  terminal: Terminal,
  given: string,
  flags: HomeFlags,
): Promise<number> {
  const path = given === "" ? undefined : targetFrom(terminal, given);
  const run = async (kernel: OpenKernel, caller: Caller): Promise<number> => {
    const answer = await conflictsOf(kernel, caller, path);
    const shown = await withShownPaths(terminal, kernel, answer.conflicts);
    const conflicts = answer.conflicts.map((each, at) => ({ ...each, path: shown[at]!.block_id }));
    if (flags.json) await printJson(terminal, { ok: true, counted_from: 0, conflicts });
    else if (conflicts.length === 0) await terminal.print("Nothing is in conflict.\n");
    else {
      const [first] = conflicts;
      const lines = conflicts.flatMap((each) => [...printConflict(terminal, each), ""]);
      const hint = `${counted(conflicts.length, "conflict")}. Decide with: kumiko resolve ${first!.conflict} disk|memory|mine|both|now, or --text <file>`;
      await terminal.print(`${[...lines, dim(terminal, hint)].join("\n")}\n`);
    }
    return conflicts.length > 0 ? exitCode.different : exitCode.fine;
  };
  return withKernel(terminal, flags, "kumiko conflicts", run, { path });
}

/** Without a server nobody has looked at the disk yet: what is new there may be in conflict. */
async function conflictsOf(
  kernel: OpenKernel,
  caller: Caller,
  path: string | undefined,
): Promise<Standing> {
  const found = await standingOf(kernel, caller, path);
  const unseen = found.files.filter(({ status }) => status === "both_changed");
  for (const { path: file, block_id = "" } of unseen) {
    const mount = block_id.slice(0, block_id.indexOf("~"));
    await callFileTool(kernel, caller, "file_load", { path: `${mount}/${file}` });
  }
  return unseen.length > 0 ? standingOf(kernel, caller, path) : found;
}

/** Of a word that is no choice. */
const SHOWN = 60;

const choices = ["disk", "memory", "mine", "both", "now"];

export interface ResolveFlags extends HomeFlags {
  readonly text?: string;
}

interface Resolved {
  readonly path: string;
  readonly block_id: string;
  readonly version: number;
  readonly edit?: string;
  readonly unsaved?: readonly Readonly<Record<string, unknown>>[];
  readonly stands?: { readonly text: string; readonly by: readonly string[] };
}

export async function resolveConflict(
  terminal: Terminal,
  conflict: string,
  word: string | undefined,
  flags: ResolveFlags,
): Promise<number> {
  const { text: file } = flags;
  const isChoice = word !== undefined && choices.includes(word);
  const isWrong = word !== undefined && !isChoice;
  if ((file === undefined) !== isChoice || isWrong) {
    const wrong = isWrong ? `"${shortened(visible(word), SHOWN)}" is no choice. ` : "";
    const twice = isChoice ? `${word} and --text are two choices. ` : "";
    throw new KumikoError(
      "invalid_argument",
      `${wrong}${twice}Say whose lines stand there from now on: kumiko resolve ${conflict} disk, memory (what the block said), mine (what of these you wrote) or both; as the block says it now: now; or others with --text <file>.`,
      { choices, ...(isWrong && { value: word }) },
    );
  }
  const text =
    file === undefined ? undefined : decodeNamed(await readNamedBytes(terminal, file), file);
  return withKernel(terminal, flags, "kumiko resolve", async (kernel, caller) => {
    const input = text === undefined ? { choice: word } : { choice: "text", text };
    const call = { conflict, ...input };
    const answer = await callFileTool<Resolved>(kernel, caller, "file_resolve", call);
    const { block_id: path, unsaved = [] } = await withShownPaths(terminal, kernel, answer);
    if (flags.json) await printJson(terminal, { ok: true, conflict, ...answer, path });
    else {
      const undo =
        answer.edit === undefined ? "" : ` ${dim(terminal, "(kumiko undo takes it back)")}`;
      const now = answer.edit === undefined ? "stays as it is" : `is now version ${answer.version}`;
      const head = `${conflict} is resolved: ${bold(terminal, path)} ${now}${undo}`;
      const lines = [
        head,
        ...standingLines(answer, caller.actor),
        ...printUnsaved(terminal, unsaved),
      ];
      await terminal.print(`${lines.join("\n")}\n`);
    }
    return leavesUnsaved(unsaved) ? exitCode.unsaved : exitCode.fine;
  });
}

/** Which lines stand there now, and whose they are. */
function standingLines({ stands }: Resolved, actor: string): string[] {
  if (stands === undefined) return [];
  const names = stands.by.map((name) => (name === actor ? `${name} (you)` : name));
  const lines = stands.text === "" ? [] : stands.text.replace(/\n$/, "").split("\n");
  const whose = names.length === 0 ? "" : `, by ${names.join(" and ")}`;
  return lines.length === 0
    ? [`  no lines stand there now${whose}`]
    : [`  there stands now${whose}:`, ...lines.map((line) => `         | ${line}`.trimEnd())];
}
