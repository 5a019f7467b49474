import { processTerminal, type Terminal } from "./terminal.ts";
import { readVersion } from "./version.ts";

/** The `kumiko` command. Gives the exit code and never ends the process itself. */
export async function main(argv: readonly string[], given?: Terminal): Promise<number> {
  const terminal = given ?? (await processTerminal());
  // Asked for by scripts and prompts again and again: reading all arguments takes three times as long.
  if (argv.length === 1 && (argv[0] === "--version" || argv[0] === "-V")) {
    await terminal.print(`${readVersion()}\n`);
    return 0;
  }
  if (argv[0] === "hook") {
    const { runHookAlone } = await import("./doors/hook-verb.ts");
    const code = await runHookAlone(terminal, argv);
    if (code !== undefined) return code;
  }
  const { runCommandLine } = await import("./command-line.ts");
  return runCommandLine(argv, terminal);
}
