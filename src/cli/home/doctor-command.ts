import { findServer } from "../../app/running.ts";
import { KumikoError, realTimers } from "../../base/index.ts";
import { patiently } from "../../doors/index.ts";
import { type Diagnosis, diagnose, type Store, unknownKernel } from "../../kernel/index.ts";
import { printJson, styled } from "../answer.ts";
import { exitCode } from "../exit-code.ts";
import type { Terminal } from "../terminal.ts";
import { chosenKernel } from "./chosen-kernel.ts";
import { counted } from "./counted.ts";
import { ExportFolder } from "./export-folder.ts";
import type { HomeFlags } from "./options.ts";
import { describedRescue, rescue, type Rescued } from "./rescue.ts";
import { homeOf, untilInterrupted, withKernel } from "./with-kernel.ts";

export interface DoctorFlags extends HomeFlags {
  readonly export?: string;
  readonly force?: boolean;
}

interface Found {
  readonly findings: readonly Pick<Diagnosis["findings"][number], "effect" | "sentence">[];
  readonly blocks: readonly unknown[];
}

/**
 * Finds what is damaged, explains it, and saves what can be read. Works on a copy: nothing is changed. A server that
 * has the kernel looks itself.
 */
export async function runDoctor(terminal: Terminal, flags: DoctorFlags): Promise<number> {
  const home = homeOf(terminal, flags, "kumiko doctor");
  if ((await findServer(home.place)) !== undefined) return askServer(terminal, flags);
  using interruption = terminal.interruption();
  const { id: kernel } = await chosenKernel(terminal, flags, home);
  if (!(await home.has(kernel))) throw await unknownKernel(home, kernel);
  const { signal } = interruption;
  const look = async (store: Store): Promise<{ diagnosis: Diagnosis; rescued?: Rescued }> => ({
    diagnosis: await untilInterrupted(signal, diagnose(store)),
    ...(flags.export !== undefined && {
      rescued: await rescue(
        await ExportFolder.prepare(terminal, flags.export, flags.force ?? false),
        kernel,
        store,
        signal,
      ),
    }),
  });
  const most = flags.wait * 1000;
  const { diagnosis, rescued } = await patiently(
    { timers: realTimers, most, wanted: () => !signal.aborted },
    () => home.examine(kernel, look),
  );
  const healthy = diagnosis.findings.length === 0;
  if (flags.json)
    await printJson(terminal, { ok: healthy, kernel, ...withoutTexts(diagnosis), rescued });
  else await terminal.print(described(terminal, kernel, diagnosis, rescued));
  return healthy ? exitCode.fine : exitCode.rejected;
}

/** What a server says of the kernel it works with: what is stored, and not what could be saved of it. */
function askServer(terminal: Terminal, flags: DoctorFlags): Promise<number> {
  return withKernel(terminal, flags, "kumiko doctor", async (kernel, { signal }) => {
    if (flags.export !== undefined) {
      throw new KumikoError(
        "in_use",
        `A server has the kernel ${kernel.id}: stop it first, so that what can be saved is taken from a copy. ` +
          "`kumiko export` writes what the server can read.",
        { kernel: kernel.id, url: kernel.server ?? null },
      );
    }
    const verified = untilInterrupted(
      signal,
      kernel.ask((each) => each.verify()),
    );
    const { findings, blocks } = await verified;
    const healthy = findings.length === 0;
    if (flags.json)
      await printJson(terminal, {
        ok: healthy,
        kernel: kernel.id,
        server: kernel.server,
        findings,
        blocks,
      });
    else {
      await terminal.print(described(terminal, kernel.id, { findings, blocks }, undefined));
      if (!healthy)
        await terminal.complain(
          "kumiko: the server said so of the kernel it works with; stopped, a copy is examined and can be exported\n",
        );
    }
    return healthy ? exitCode.fine : exitCode.rejected;
  });
}

/** What can be read is in the export, not in a report. */
function withoutTexts({ findings, blocks }: Diagnosis): object {
  const told = blocks.map(({ block, readable }) => ({
    block,
    readable_version: readable?.version ?? null,
  }));
  return { findings, blocks: told };
}

function described(
  terminal: Terminal,
  kernel: string,
  { findings, blocks }: Found,
  rescued: Rescued | undefined,
): string {
  const lines: string[] = [];
  if (findings.length === 0) {
    lines.push(
      `${styled(terminal, "green", "whole")}: every row of ${kernel} is what was written.`,
    );
  } else {
    const colours = { lost: "red", slower: "yellow", other: "yellow" } as const;
    for (const { effect, sentence } of findings)
      lines.push(`${styled(terminal, colours[effect], effect.padEnd(6))}  ${sentence}`);
    const lost = `${counted(blocks.length, "block")} quarantined`;
    lines.push("", `${counted(findings.length, "finding")}, ${lost}. Nothing was changed.`);
    if (rescued === undefined)
      lines.push("kumiko doctor --export <folder> writes everything that can still be read.");
  }
  if (rescued !== undefined) {
    lines.push(describedRescue(rescued));
  }
  return `${lines.join("\n")}\n`;
}
