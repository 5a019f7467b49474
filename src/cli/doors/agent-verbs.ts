import { type Command, InvalidArgumentError, Option } from "commander";
import type { KumikoError } from "../../base/index.ts";
import { answering } from "../answer.ts";
import type { Terminal } from "../terminal.ts";
import type { Finish } from "../verbs-in.ts";
import { agentNames } from "./agents.ts";
import type { ConnectFlags } from "./connect-command.ts";
import type { WatchFlags } from "./watch-command.ts";

/** Adds `watch` and `connect`. */
export function addAgentVerbs(terminal: Terminal, program: Command, finish: Finish): void {
  const home = "the home folder (default: $KUMIKO_HOME, else the XDG data folder)";
  const hint = async (error: KumikoError) => (await import("../home/hints.ts")).homeHint(error);
  program
    .command("watch")
    .description("show live what people and agents do, until Ctrl-C; needs a running server")
    .option("--context <name>", "only this conversation")
    .option(
      "--topic <name>",
      "block (the default), context, resource, config, progress, elicitation or approval; may be given several times",
      collected,
      [],
    )
    .option("--from <position>", "first everything behind this position", positionOf)
    .option(
      "--kernel <id>",
      "the kernel (default: $KUMIKO_KERNEL, else the one of this folder, else main)",
    )
    .option("--home <folder>", home)
    .option("--json", "print one JSON object per event and line", false)
    .action(async (flags: WatchFlags) => {
      const run = async (): Promise<number> =>
        (await import("./watch-command.ts")).watch(terminal, flags);
      finish(await answering(terminal, flags.json, run, { hint }));
    });
  program
    .command("connect <agent>")
    .description(
      `make an agent use Kumiko: print its MCP configuration and hooks, or write them (${agentNames.join(", ")})`,
    )
    .addOption(
      new Option("--write", "put it into the agent's files, hooks included; everything else stays"),
    )
    .option("--remove", "take it out of them again")
    .option("--global", "for all folders, not only this one: in a file of your own")
    .option("--absolute", "with this machine's paths, also in a file that people share")
    .option("--home <folder>", home)
    .option("--json", "print one JSON object", false)
    .action(async (agent: string, flags: ConnectFlags) => {
      const run = async (): Promise<number> =>
        (await import("./connect-command.ts")).connectAgent(terminal, agent, flags);
      finish(await answering(terminal, flags.json, run));
    });
}

function collected(value: string, before: readonly string[]): string[] {
  return [...before, value];
}

function positionOf(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It must be a position: 0 or more.");
}
