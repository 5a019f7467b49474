import { type Command, CommanderError } from "commander";
import { printJson } from "./answer.ts";
import { exitCode } from "./exit-code.ts";
import type { Terminal } from "./terminal.ts";
import { verbs } from "./verbs.ts";

/** Reads the arguments, runs the verb and gives the exit code. */
export async function runCommandLine(argv: readonly string[], terminal: Terminal): Promise<number> {
  let code: number = exitCode.fine;
  const printed: string[] = [];
  const complaints: string[] = [];
  const program = verbs(terminal, (result) => (code = result));
  program.configureOutput({
    writeOut: (text) => printed.push(text),
    writeErr: (text) => complaints.push(text),
  });
  program.exitOverride();
  for (const command of everyCommand(program)) command.copyInheritedSettings(program);
  try {
    await program.parseAsync(argv.length === 0 ? ["--help"] : argv, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (printed.length > 0) await terminal.print(printed.join(""));
    if (error.exitCode === 0) return exitCode.fine;
    await complain(terminal, argv.includes("--json"), error, complaints.join(""));
    return exitCode.trouble;
  }
  return code;
}

async function complain(
  terminal: Terminal,
  json: boolean,
  error: CommanderError,
  text: string,
): Promise<void> {
  if (!json) return terminal.complain(text);
  const message = text.trim() || error.message;
  return printJson(terminal, {
    ok: false,
    error: { code: "invalid_argument", message, facts: { usage: error.code } },
  });
}

function everyCommand(command: Command): Command[] {
  return command.commands.flatMap((child) => [child, ...everyCommand(child)]);
}
