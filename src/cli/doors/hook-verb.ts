import type { Command } from "commander";
import type { Terminal } from "../terminal.ts";
import type { HookFlags } from "./hook-command.ts";

/** `hook`, which agents run and nobody types. */
export function addHookVerb(
  terminal: Terminal,
  program: Command,
  finish: (code: number) => void,
): void {
  program
    .command("hook <agent>", { hidden: true })
    .description("tell the server what an agent's own tools change; run by the agent's hooks")
    .option("--kernel <id>", "the kernel (default: the one of the file's folder)")
    .option("--actor <name>", "who acts (default: $KUMIKO_ACTOR, else as in `kumiko mcp`)")
    .option("--home <folder>", "the home folder (default: $KUMIKO_HOME, else the XDG data folder)")
    .option("--verbose", "say on standard error what came of it")
    .action(async (agent: string, flags: HookFlags) =>
      finish(await (await import("./hook-command.ts")).runHook(terminal, agent, flags)),
    );
}
