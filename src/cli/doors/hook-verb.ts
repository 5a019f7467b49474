import { parseArgs } from "node:util";
import type { Command } from "commander";
import type { Terminal } from "../terminal.ts";
import type { HookFlags } from "./hook-command.ts";

/**
 * `hook` without the other verbs, which take a quarter of its time: an agent waits for it twice at every edit. Undefined
 * when the words are not just those of an agent's hooks: then all arguments are read as always.
 */
export async function runHookAlone(
  terminal: Terminal,
  argv: readonly string[],
): Promise<number | undefined> {
  const text = { type: "string" } as const;
  const options = { kernel: text, actor: text, home: text, verbose: { type: "boolean" } } as const;
  // What is not known here is for the others to complain about.
  const read = parseArgs({ args: [...argv], options, strict: false, tokens: true });
  const [, agent, ...rest] = read.positionals;
  const isPlain = read.tokens.every(
    (token) => token.kind !== "option" || (Object.hasOwn(options, token.name) && wellGiven(token)),
  );
  if (agent === undefined || rest.length > 0 || !isPlain) return undefined;
  const { runHook } = await import("./hook-command.ts");
  return runHook(terminal, agent, read.values as HookFlags);
}

interface GivenOption {
  readonly name: string;
  readonly value: string | undefined;
}

function wellGiven({ name, value }: GivenOption): boolean {
  return (name === "verbose") === (value === undefined);
}

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
    .option("--actor <name>", "who acts (default: $KUMIKO_AGENT, else as in `kumiko mcp`)")
    .option("--home <folder>", "the home folder (default: $KUMIKO_HOME, else the XDG data folder)")
    .option("--verbose", "say on standard error what came of it")
    .action(async (agent: string, flags: HookFlags) =>
      finish(await (await import("./hook-command.ts")).runHook(terminal, agent, flags)),
    );
}
