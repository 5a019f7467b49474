import { hostname } from "node:os";
import { fitting } from "../../app/index.ts";
import type { ContextInfo } from "../../kernel/index.ts";
import { printJson, styled } from "../answer.ts";
import { exitCode } from "../exit-code.ts";
import type { Terminal } from "../terminal.ts";
import { moment } from "./moment.ts";
import type { HomeFlags } from "./options.ts";
import { withKernel } from "./with-kernel.ts";

export interface MemberFlags extends HomeFlags {
  readonly nick?: string;
  readonly instance?: string;
}

export function newContext(terminal: Terminal, context: string, flags: HomeFlags): Promise<number> {
  return withKernel(
    terminal,
    flags,
    "kumiko context new",
    async (kernel, { actor }) => {
      const info = await kernel.contexts.create(context, actor);
      if (flags.json) await printJson(terminal, { ok: true, kernel: kernel.id, ...info });
      else
        await terminal.print(
          `${styled(terminal, "bold", context)} is ready. Say something in it:\n` +
            `  kumiko block create --context ${context} --role user --kind text --content 'Hello'\n`,
        );
      return exitCode.fine;
    },
    { create: true },
  );
}

export function listContexts(terminal: Terminal, flags: HomeFlags): Promise<number> {
  return withKernel(terminal, flags, "kumiko context list", async (kernel) => {
    const contexts = await kernel.contexts.list();
    if (flags.json) {
      await printJson(terminal, { ok: true, kernel: kernel.id, contexts });
      return exitCode.fine;
    }
    const width = Math.max(0, ...contexts.map(({ context }) => context.length));
    const lines = contexts.map(
      (info) => `${styled(terminal, "bold", info.context.padEnd(width))}  ${since(terminal, info)}`,
    );
    if (lines.length === 0) lines.push("No contexts yet: kumiko context new <name>");
    await terminal.print(`${lines.join("\n")}\n`);
    return exitCode.fine;
  });
}

function since(terminal: Terminal, { created, by, damaged }: ContextInfo): string {
  return created === null || by === null
    ? styled(terminal, "red", `its entry is damaged; its blocks can be used (${damaged})`)
    : styled(terminal, "dim", `since ${moment(created)} by ${by}`);
}

/** Blocks that are shown at most; `kumiko block list` shows all. */
const SHOWN = 100;

export function showContext(
  terminal: Terminal,
  context: string,
  flags: HomeFlags,
): Promise<number> {
  return withKernel(terminal, flags, "kumiko context show", async (kernel, { actor, signal }) => {
    const [{ registry }, { printList }] = await Promise.all([
      import("./tools.ts"),
      import("./tool-answer.ts"),
    ]);
    const members = await kernel.contexts.members(context);
    const info = (await kernel.contexts.list()).find((each) => each.context === context) ?? {
      context,
      created: null,
      by: null,
      damaged: `There is no entry of ${context} any more.`,
    };
    const listed = (await registry.execute(
      kernel,
      "block_list",
      { actor, signal },
      { context, depth: 100, limit: SHOWN },
    )) as { blocks: unknown[]; truncated: boolean };
    if (flags.json) {
      await printJson(terminal, { ok: true, kernel: kernel.id, ...info, members, ...listed });
      return exitCode.fine;
    }
    const there = members.map(({ nick, instance }) => `${nick} (${instance})`).join(", ");
    const lines = [
      `${styled(terminal, "bold", context)}  ` +
        `${styled(terminal, "dim", `kernel ${kernel.id}, `)}${since(terminal, info)}`,
      `members: ${there === "" ? "none" : there}`,
      "",
      ...printList(terminal, { ...listed, truncated: false }),
    ];
    if (listed.truncated)
      lines.push(`only the first ${SHOWN}: kumiko block list --context ${context} --depth 100`);
    await terminal.print(`${lines.join("\n")}\n`);
    return exitCode.fine;
  });
}

export function joinContext(
  terminal: Terminal,
  context: string,
  flags: MemberFlags,
): Promise<number> {
  return withKernel(terminal, flags, "kumiko context join", async (kernel, { actor }) => {
    const { nick, instance } = memberOf(flags, actor);
    const member = await kernel.contexts.join(context, { nick, instance, by: actor });
    if (flags.json) await printJson(terminal, { ok: true, ...member });
    else await terminal.print(`${nick} (${instance}) is in ${context}.\n`);
    return exitCode.fine;
  });
}

export function leaveContext(
  terminal: Terminal,
  context: string,
  flags: MemberFlags,
): Promise<number> {
  return withKernel(terminal, flags, "kumiko context leave", async (kernel, { actor }) => {
    const member = { context, kernel: kernel.id, ...memberOf(flags, actor) };
    const left = await kernel.contexts.leave(member, actor);
    const who = `${member.nick} (${member.instance})`;
    if (flags.json) await printJson(terminal, { ok: true, left, ...member });
    else await terminal.print(`${who} ${left ? "has left" : "was not in"} ${context}.\n`);
    return exitCode.fine;
  });
}

/** Without being told: this actor, on this machine. */
function memberOf(flags: MemberFlags, actor: string): { nick: string; instance: string } {
  return { nick: flags.nick ?? actor, instance: flags.instance ?? fitting(hostname()) };
}
