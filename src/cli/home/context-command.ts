import { hostname } from "node:os";
import { fitting } from "../../app/index.ts";
import { checkIdPart } from "../../base/index.ts";
import type { RpcAnswers } from "../../protocol/index.ts";
import { printJson, styled } from "../answer.ts";
import { exitCode } from "../exit-code.ts";
import type { Terminal } from "../terminal.ts";
import type { OpenKernel } from "./access.ts";
import { moment } from "./moment.ts";
import { DEFAULT_KERNEL, type HomeFlags } from "./options.ts";
import { homeOf, withKernel } from "./with-kernel.ts";

export interface MemberFlags extends HomeFlags {
  readonly nick?: string;
  readonly instance?: string;
}

export async function newContext(
  terminal: Terminal,
  context: string,
  flags: HomeFlags,
): Promise<number> {
  // Before a kernel is made for it.
  checkIdPart(context, "The context");
  return withKernel(
    terminal,
    flags,
    "kumiko context new",
    async (kernel, { actor }, made) => {
      const info = await kernel.change((each) => each.createContext({ context, actor }));
      if (flags.json)
        await printJson(terminal, { ok: true, kernel: kernel.id, kernel_made: made, ...info });
      else
        await terminal.print(
          `${made ? madeKernel(terminal, flags, kernel.id) : ""}${styled(terminal, "bold", context)} is ready. Say something in it:\n` +
            `  kumiko block create --context ${context} --role user --kind text --content 'Hello'\n`,
        );
      return exitCode.fine;
    },
    { create: true },
  );
}

/** Nobody asked for it by name, so it is said where it is and when another is used. */
function madeKernel(terminal: Terminal, flags: HomeFlags, kernel: string): string {
  const { place } = homeOf(terminal, flags, "kumiko context new");
  const which = kernel === DEFAULT_KERNEL ? ", for every folder that has none of its own" : "";
  return `Made the kernel ${styled(terminal, "bold", kernel)} in ${place}${which}.\n`;
}

export function listContexts(terminal: Terminal, flags: HomeFlags): Promise<number> {
  return withKernel(terminal, flags, "kumiko context list", async (kernel) => {
    const contexts = await kernel.ask((each) => each.listContexts());
    const other = contexts.length === 0 ? await whereContextsAre(kernel) : undefined;
    if (flags.json) {
      const told = other === undefined ? {} : { elsewhere: other };
      await printJson(terminal, { ok: true, kernel: kernel.id, contexts, ...told });
      return exitCode.fine;
    }
    const width = Math.max(0, ...contexts.map(({ context }) => context.length));
    const lines = contexts.map(
      (info) => `${styled(terminal, "bold", info.context.padEnd(width))}  ${since(terminal, info)}`,
    );
    if (lines.length === 0)
      lines.push(`No contexts yet in ${kernel.id}: kumiko context new <name>`);
    if (other !== undefined) lines.push(`${other} has some: --kernel ${other}`);
    await terminal.print(`${lines.join("\n")}\n`);
    return exitCode.fine;
  });
}

/** Who made one before their folder had a kernel looks for it here. */
async function whereContextsAre(kernel: OpenKernel): Promise<string | undefined> {
  const { elsewhere, hasContexts } = await import("./elsewhere.ts");
  return elsewhere(kernel, hasContexts);
}

type ContextInfo = RpcAnswers["Kernel"]["listContexts"][number];

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
  return withKernel(terminal, flags, "kumiko context show", async (kernel, { actor }) => {
    const { printList } = await import("./tool-answer.ts");
    const { members, blocks, truncated, ...info } = await kernel.ask(async (each) => {
      using opened = await each.openContext({ context, actor });
      return opened.show({ limit: SHOWN });
    });
    if (flags.json) {
      await printJson(terminal, { ok: true, ...info, members, blocks, truncated });
      return exitCode.fine;
    }
    const there = members.map(({ nick, instance }) => `${nick} (${instance})`).join(", ");
    const lines = [
      `${styled(terminal, "bold", context)}  ` +
        `${styled(terminal, "dim", `kernel ${kernel.id}, `)}${since(terminal, info)}`,
      `members: ${there === "" ? "none" : there}`,
      "",
      ...printList(terminal, { blocks, truncated: false }),
    ];
    if (truncated)
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
    // To join again changes nothing.
    await kernel.ask(async (each) => {
      using joined = await each.joinContext({ context, nick, instance, actor });
      return joined === undefined;
    });
    const member = { context, kernel: kernel.id, nick, instance };
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
    const asked = { context, ...memberOf(flags, actor), actor };
    const { left, ...member } = await kernel.change((each) => each.leaveContext(asked));
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
