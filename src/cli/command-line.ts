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
  const given = namesNoVerb(argv) ? ["serve", ...argv] : leadingOptionsLast(argv);
  const asked = askedAbout(given);
  const words = asked ?? given;
  const program = await verbs(terminal, words, (result) => (code = result));
  program.configureOutput({
    writeOut: (text) => printed.push(text),
    writeErr: (text) => complaints.push(text),
  });
  program.exitOverride();
  for (const command of everyCommand(program)) {
    command.copyInheritedSettings(program);
    command.showHelpAfterError(`(${typed(command)} --help shows what there is)`);
  }
  try {
    if (asked !== undefined && isVerb(program, asked)) words.push("--help");
    await program.parseAsync(words, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (printed.length > 0) await terminal.print(printed.join(""));
    if (error.exitCode === 0) return exitCode.fine;
    await complain(terminal, argv.includes("--json"), error, complaints.join(""));
    return exitCode.trouble;
  }
  return code;
}

/** The verb that `kumiko help block read` asks about: `block read`. */
function askedAbout([verb, ...rest]: readonly string[]): string[] | undefined {
  if (verb !== "help") return undefined;
  const words = leadingOptionsLast(rest);
  const option = words.findIndex((word) => word.startsWith("-"));
  const named = option === -1 ? words : words.slice(0, option);
  return askedAbout(named) ?? named;
}

/** What names none is refused as without `help`: asked for its help, commander would show that of the verb above. */
function isVerb(command: Command, [name, ...rest]: readonly string[]): boolean {
  if (name === undefined || command.commands.length === 0) return true;
  const child = command.commands.find((each) => each.name() === name);
  return child !== undefined && isVerb(child, rest);
}

/** `kumiko`, and `kumiko --port 5000`, run the server. */
function namesNoVerb(argv: readonly string[]): boolean {
  const [first] = leadingOptionsLast(argv);
  if (first === undefined) return true;
  return first.startsWith("--") && !["--help", "--version"].includes(first);
}

const withValue = new Set(["--home", "--kernel", "--actor"]);

/** `kumiko --home x context list` means the same as with the option at the end, where verbs look for it. */
function leadingOptionsLast(argv: readonly string[]): string[] {
  let verb = 0;
  while (argv[verb]?.startsWith("--") === true) {
    const [option] = argv[verb]!.split("=");
    if (option !== "--json" && !withValue.has(option!)) break;
    verb += withValue.has(argv[verb]!) ? 2 : 1;
  }
  if (verb >= argv.length) return [...argv];
  const rest = argv.slice(verb);
  const end = rest.includes("--") ? rest.indexOf("--") : rest.length;
  return rest.toSpliced(end, 0, ...argv.slice(0, verb));
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

/** `kumiko context new`. */
function typed(command: Command): string {
  return command.parent === null ? command.name() : `${typed(command.parent)} ${command.name()}`;
}

function everyCommand(command: Command): Command[] {
  return command.commands.flatMap((child) => [child, ...everyCommand(child)]);
}
