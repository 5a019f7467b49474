import { KumikoError, parseBlockId } from "../../base/index.ts";
import type { RpcAnswers } from "../../protocol/index.ts";
import { printJson, styled } from "../answer.ts";
import { exitCode } from "../exit-code.ts";
import { decodeNamed } from "../input.ts";
import type { Terminal } from "../terminal.ts";
import { counted } from "./counted.ts";
import type { HomeFlags } from "./options.ts";
import { untilInterrupted, withKernel } from "./with-kernel.ts";

type PurgePreview = RpcAnswers["Kernel"]["previewPurge"];
type Purged = RpcAnswers["Kernel"]["purge"];
type PurgeRequest = { readonly text: string } | { readonly block_id: string };

export interface PurgeFlags extends HomeFlags {
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly message?: string;
}

/** The text may come from standard input: what is typed stays in the shell's own history. */
export async function purgeText(
  terminal: Terminal,
  secret: string,
  flags: PurgeFlags,
): Promise<number> {
  const fromInput = secret === "-";
  const text = fromInput
    ? decodeNamed(await terminal.readInput(), "-").replace(/\r?\n$/, "")
    : secret;
  return purge(terminal, { text }, flags, "kumiko purge text");
}

export async function purgeBlock(
  terminal: Terminal,
  block: string,
  flags: PurgeFlags,
): Promise<number> {
  parseBlockId(block);
  return purge(terminal, { block_id: block }, flags, "kumiko purge block");
}

function purge(
  terminal: Terminal,
  request: PurgeRequest,
  flags: PurgeFlags,
  command: string,
): Promise<number> {
  return withKernel(terminal, flags, command, async (kernel, { actor, signal }) => {
    const preview = await untilInterrupted(
      signal,
      kernel.ask((each) => each.previewPurge({ ...request, actor })),
    );
    if (flags.dryRun === true) return report(terminal, flags, preview);
    if (preview.places.length > 0) await confirm(terminal, flags, preview);
    signal.throwIfAborted();
    const { message } = flags;
    const asked = { ...request, actor, ...(message !== undefined && { message }) };
    return conclude(terminal, flags, await kernel.change((each) => each.purge(asked)));
  });
}

async function report(
  terminal: Terminal,
  flags: PurgeFlags,
  preview: PurgePreview,
): Promise<number> {
  if (flags.json) await printJson(terminal, { ok: true, dry_run: true, ...preview });
  else await terminal.print(`${found(terminal, preview)}Nothing was changed.\n`);
  return exitCode.fine;
}

/** Nothing brings it back: a person says yes, or a script did so beforehand. */
async function confirm(
  terminal: Terminal,
  flags: PurgeFlags,
  preview: PurgePreview,
): Promise<void> {
  if (flags.yes === true) return;
  if (!terminal.interactive || flags.json) {
    throw new KumikoError(
      "invalid_argument",
      "A purge cannot be undone: say --yes to do it, or --dry-run to see where it occurs.",
      { blocks: preview.places.length },
    );
  }
  await terminal.complain(found(terminal, preview));
  const answer = await terminal.ask("It cannot be brought back. Remove it? [yes/no] ");
  if (/^y(es)?$/i.test(answer.trim())) return;
  throw new KumikoError("aborted", "Nothing was removed.", {});
}

async function conclude(terminal: Terminal, flags: PurgeFlags, purged: Purged): Promise<number> {
  const { gaps, calls, unreadable } = purged;
  if (flags.json) {
    await printJson(terminal, { ok: unreadable.length === 0, dry_run: false, ...purged });
  } else if (gaps.length === 0 && calls === 0) {
    await terminal.print("It occurs nowhere: nothing was removed.\n");
  } else {
    const lines = gaps.map(
      ({ block, units, commits }) =>
        `${styled(terminal, "green", "removed")} from ${styled(terminal, "bold", block)}: ${amount(units, commits)}`,
    );
    if (calls > 0) lines.push(`${counted(calls, "answered call")} forgotten with it`);
    await terminal.print(`${lines.join("\n")}\n`);
  }
  if (!flags.json)
    for (const block of unreadable)
      await terminal.complain(`kumiko: ${block} is damaged and could not be looked at\n`);
  return unreadable.length === 0 ? exitCode.fine : exitCode.rejected;
}

function found(terminal: Terminal, { places, unreadable }: PurgePreview): string {
  if (places.length === 0) return "It occurs in no block.\n";
  const lines = places.map(
    ({ block, units, commits }) => `${styled(terminal, "bold", block)}: ${amount(units, commits)}`,
  );
  for (const block of unreadable) lines.push(`${block} is damaged and could not be looked at`);
  return `${lines.join("\n")}\n`;
}

function amount(units: number, commits: number): string {
  return `${counted(units, "character")} in ${counted(commits, "version")}`;
}
