import type { Command } from "commander";
import { answering } from "../answer.ts";
import type { Terminal } from "../terminal.ts";
import type { McpFlags } from "./mcp-command.ts";

export function addMcpVerb(
  terminal: Terminal,
  program: Command,
  finish: (code: number) => void,
): void {
  program
    .command("mcp")
    .description("serve MCP on standard input and output, for an agent that starts this command")
    .option("--kernel <id>", "the kernel (default: the one of this folder)")
    .option("--context <name>", "the conversation (default: main, made when needed)")
    .option(
      "--actor <name>",
      "who acts (default: $KUMIKO_AGENT, else what the client calls itself)",
    )
    .option("--tools <profile>", "core, all, or names with commas (default: core)")
    .option("--home <folder>", "the home folder (default: $KUMIKO_HOME, else the XDG data folder)")
    .action(async (flags: McpFlags) => {
      const run = async (): Promise<number> =>
        (await import("./mcp-command.ts")).runMcp(terminal, flags);
      finish(await answering(terminal, false, run));
    });
}
