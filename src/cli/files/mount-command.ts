import { existsSync, realpathSync } from "node:fs";
import { KumikoError } from "../../base/index.ts";
import type { RpcAnswers } from "../../protocol/index.ts";
import { printJson, styled } from "../answer.ts";
import { exitCode } from "../exit-code.ts";
import type { OpenKernel } from "../home/access.ts";
import type { HomeFlags } from "../home/options.ts";
import { bold, dim } from "../home/paint.ts";
import { pathFrom } from "../home/paths.ts";
import { type Caller, withKernel } from "../home/with-kernel.ts";
import type { Terminal } from "../terminal.ts";
import { mountLines, ruleLines } from "./mount-lines.ts";
import { type MountingFlags, mountSettings } from "./mount-options.ts";
import { showingProgress } from "./mount-progress.ts";

export interface MountFlags extends HomeFlags, MountingFlags {
  readonly name?: string;
}

export interface UnmountFlags extends HomeFlags {
  readonly force?: boolean;
}

type MountedFolder = RpcAnswers["Kernel"]["mounts"][number];

export function mount(terminal: Terminal, given: string, flags: MountFlags): Promise<number> {
  const folder = pathFrom(terminal, given);
  const { name } = flags;
  return withKernel(
    terminal,
    flags,
    "kumiko mount",
    async (kernel, { actor }) => {
      const asked = {
        folder,
        actor,
        ...(name !== undefined && { name }),
        ...mountSettings(flags),
      };
      // To mount the same again changes nothing.
      const mounted = await showingProgress(terminal, flags.json, kernel, () =>
        kernel.ask((each) => each.mount(asked)),
      );
      if (flags.json) await printJson(terminal, { ok: true, kernel: kernel.id, ...mounted });
      else
        await terminal.print(
          `${bold(terminal, `@${mounted.mount}`)} is ${mounted.folder}, in the kernel ${kernel.id}` +
            `${mounted.manual ? "; files are saved when you say so: kumiko file save" : ""}.\n` +
            ruleLines(mounted)
              .map((line) => `${line}\n`)
              .join("") +
            (mounted.trouble === undefined ? "" : `${styled(terminal, "red", mounted.trouble)}\n`) +
            (kernel.server === undefined
              ? dim(terminal, "No server runs: changes on disk are taken in by the next command.\n")
              : ""),
        );
      return exitCode.fine;
    },
    { create: true, path: folder },
  );
}

export function unmount(terminal: Terminal, given: string, flags: UnmountFlags): Promise<number> {
  const folder = pathFrom(terminal, given);
  const run = async (kernel: OpenKernel, caller: Caller): Promise<number> => {
    const { actor } = caller;
    const known = await kernel.ask((each) => each.mounts());
    const named = known.find(({ mount: name }) => name === given.replace(/^@/, ""));
    const wanted = named !== undefined || given.startsWith("@") ? given : folder;
    const meant = named ?? known.find((each) => each.folder === realpathOf(folder));
    const left = meant === undefined ? undefined : await leftBehind(kernel, caller, meant);
    if (left !== undefined) await confirm(terminal, flags, left);
    const gone = await kernel.change((each) => each.unmount({ mount: wanted, actor }));
    const { unsaved = [], conflicts = [] } = left ?? {};
    if (flags.json)
      await printJson(terminal, { ok: true, kernel: kernel.id, ...gone, unsaved, conflicts });
    else
      await terminal.print(
        `${bold(terminal, `@${gone.mount}`)} is not mounted any more. The history of its files stays: ` +
          `kumiko mount ${gone.folder} goes on with it.\n${left === undefined ? "" : `Kept until then: ${left.sentence}.\n`}`,
      );
    return exitCode.fine;
  };
  return withKernel(terminal, flags, "kumiko unmount", run, { path: folder });
}

/** What of a folder is in memory only, or undecided. */
interface LeftBehind {
  readonly mount: string;
  readonly unsaved: readonly string[];
  readonly conflicts: readonly string[];
  readonly sentence: string;
}

interface Standing {
  readonly files: readonly { path: string; block_id?: string; status: string }[];
  readonly conflicts: readonly { conflict: string; path: string; block_id: string }[];
}

/** Undefined when everything is on disk. */
async function leftBehind(
  kernel: OpenKernel,
  caller: Caller,
  { mount: name, unsaved: waiting, conflicts: open }: MountedFolder,
): Promise<LeftBehind | undefined> {
  if (waiting === 0 && open === 0) return undefined;
  const { callFileTool } = await import("./call-file-tool.ts");
  const standing = await callFileTool<Standing>(kernel, caller, "file_status", {});
  const isOf = ({ block_id = "" }): boolean => block_id.startsWith(`@${name}~`);
  const unsaved = standing.files
    .filter((file) => isOf(file) && ["block_ahead", "both_changed"].includes(file.status))
    .map(({ path }) => path);
  const conflicts = standing.conflicts.filter(isOf);
  const parts = [
    ...(unsaved.length > 0 ? [`text that is not on disk, of ${unsaved.join(", ")}`] : []),
    ...conflicts.map(({ conflict, path }) => `the conflict ${conflict} in ${path}`),
  ];
  if (parts.length === 0) return undefined;
  const names = conflicts.map(({ conflict }) => conflict);
  return { mount: name, unsaved, conflicts: names, sentence: parts.join("; ") };
}

/** It is kept, but nobody sees it any more: a person says yes, or a script did so beforehand. */
async function confirm(
  terminal: Terminal,
  { force = false, json }: UnmountFlags,
  { mount: name, unsaved, conflicts, sentence }: LeftBehind,
): Promise<void> {
  if (force) return;
  const told = `@${name} has ${sentence}. It is kept, and there again when the folder is mounted again.`;
  if (!terminal.interactive || json) {
    throw new KumikoError(
      "invalid_argument",
      `${told} Decide first (kumiko conflicts, kumiko file save), or say --force to unmount it all the same.`,
      { mount: name, unsaved, conflicts },
    );
  }
  await terminal.complain(`${told}\n`);
  const answer = await terminal.ask("Unmount it all the same? [yes/no] ");
  if (/^y(es)?$/i.test(answer.trim())) return;
  throw new KumikoError("aborted", "It stays mounted.", {});
}

function realpathOf(folder: string): string {
  return existsSync(folder) ? realpathSync(folder) : folder;
}

export function listMounts(terminal: Terminal, flags: HomeFlags): Promise<number> {
  return withKernel(terminal, flags, "kumiko mounts", async (kernel) => {
    const mounts = await kernel.ask((each) => each.mounts());
    if (flags.json) {
      await printJson(terminal, { ok: true, kernel: kernel.id, mounts });
      return exitCode.fine;
    }
    const lines = mountLines(terminal, mounts);
    if (lines.length === 0) lines.push("Nothing is mounted: kumiko mount <folder>");
    await terminal.print(`${lines.join("\n")}\n`);
    return exitCode.fine;
  });
}
