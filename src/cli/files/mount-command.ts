import { printJson, styled } from "../answer.ts";
import { exitCode } from "../exit-code.ts";
import type { OpenKernel } from "../home/access.ts";
import type { HomeFlags } from "../home/options.ts";
import { bold, dim } from "../home/paint.ts";
import { pathFrom } from "../home/paths.ts";
import { type Caller, withKernel } from "../home/with-kernel.ts";
import type { Terminal } from "../terminal.ts";
import { mountLines, ruleLines } from "./mount-lines.ts";
import { showingProgress } from "./mount-progress.ts";

export interface MountFlags extends HomeFlags {
  readonly name?: string;
  readonly manualSave?: boolean;
  readonly withoutRules?: boolean;
  readonly rule: readonly string[];
}

export function mount(terminal: Terminal, given: string, flags: MountFlags): Promise<number> {
  const folder = pathFrom(terminal, given);
  const { name, manualSave, rule, withoutRules = false } = flags;
  return withKernel(
    terminal,
    flags,
    "kumiko mount",
    async (kernel, { actor }) => {
      const asked = {
        folder,
        actor,
        ...(name !== undefined && { name }),
        ...(manualSave !== undefined && { manual: manualSave }),
        ...((withoutRules || rule.length > 0) && { rules: [...rule] }),
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
    { create: true, folder },
  );
}

export function unmount(terminal: Terminal, given: string, flags: HomeFlags): Promise<number> {
  const folder = pathFrom(terminal, given);
  const run = async (kernel: OpenKernel, { actor }: Caller): Promise<number> => {
    const known = await kernel.ask((each) => each.mounts());
    const isName = known.some(({ mount: name }) => name === given.replace(/^@/, ""));
    const wanted = isName || given.startsWith("@") ? given : folder;
    const gone = await kernel.change((each) => each.unmount({ mount: wanted, actor }));
    if (flags.json) await printJson(terminal, { ok: true, kernel: kernel.id, ...gone });
    else
      await terminal.print(
        `${bold(terminal, `@${gone.mount}`)} is not mounted any more. The history of its files stays: ` +
          `kumiko mount ${gone.folder} goes on with it.\n`,
      );
    return exitCode.fine;
  };
  return withKernel(terminal, flags, "kumiko unmount", run, { folder });
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
