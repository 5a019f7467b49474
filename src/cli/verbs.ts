import { Command } from "commander";
import { answering } from "./answer.ts";
import { addAgentVerbs } from "./doors/agent-verbs.ts";
import { addHookVerb } from "./doors/hook-verb.ts";
import { addMcpVerb } from "./doors/mcp-verb.ts";
import { addDoorVerbs } from "./doors/verbs.ts";
import { addFileVerbs } from "./files/verbs.ts";
import { homeOptions, wholeNumber } from "./home/options.ts";
import { groupVerbs } from "./help-groups.ts";
import { addHomeVerbs } from "./home/verbs.ts";
import type { Terminal } from "./terminal.ts";
import { readVersion } from "./version.ts";

/** What a verb does is imported only when it runs, and a tool's definition only when its verb is asked for. */
export async function verbs(
  terminal: Terminal,
  argv: readonly string[],
  finish: (code: number) => void,
): Promise<Command> {
  const program = new Command("kumiko")
    .description(
      "People and agents edit the same files at the same time, and nobody's work is lost.\n\n" +
        "Begin in your project with `kumiko serve`; then, in another terminal, `kumiko connect <agent> --write`.",
    )
    .version(readVersion(), "-V, --version", "print the version")
    .helpCommand(false)
    // Otherwise --version would not be free for verbs: `kumiko block read … --version 3`.
    .enablePositionalOptions()
    .configureHelp({ subcommandTerm })
    .showHelpAfterError("(kumiko --help shows what there is)");
  addDoorVerbs(terminal, program, finish);
  addMcpVerb(terminal, program, finish);
  addAgentVerbs(terminal, program, finish);
  addHookVerb(terminal, program, finish);
  addFileVerbs(terminal, program, finish);
  await addHomeVerbs(terminal, program, argv, finish);

  const patch = program.command("patch").description("check or apply a unified diff");
  const patchVerb = (name: string, description: string): Command =>
    patch
      .command(name)
      .description(description)
      .argument("<patchfile>", "the patch, or - for standard input")
      .option("-d, --dir <folder>", "the folder the patch's names start from (default: here)")
      .option("-f, --file <target>", "the file to patch, whatever the patch calls it")
      .option(
        "-p, --strip <n>",
        "folders to take off the patch's names (default: a/ and b/)",
        wholeNumber,
      )
      .option(
        "-F, --fuzz <n>",
        "context lines that may differ at each end of a hunk",
        wholeNumber,
        2,
      )
      .option("-R, --reverse", "take the patch back instead", false)
      .option("--json", "print one JSON object", false);

  patchVerb("check", "say whether and where a patch fits; changes nothing").action(
    async (file: string, flags) => {
      const run = async (): Promise<number> =>
        (await import("./patch-command.ts")).runPatch(terminal, file, { ...flags, write: false });
      finish(await answering(terminal, flags.json, run));
    },
  );
  patchVerb("apply", "apply a patch: all of it or nothing")
    .option("-n, --dry-run", "only check", false)
    .action(async (file: string, flags) => {
      const run = async (): Promise<number> =>
        (await import("./patch-command.ts")).runPatch(terminal, file, {
          ...flags,
          write: !flags.dryRun,
        });
      finish(await answering(terminal, flags.json, run));
    });

  addDiffVerb(terminal, program, finish);
  addPromptVerbs(terminal, program, finish);
  groupVerbs(program);
  return program;
}

function addPromptVerbs(
  terminal: Terminal,
  program: Command,
  finish: (code: number) => void,
): void {
  const family = program.command("prompt").description("read and render tree-structured text");
  const verb = (name: string, description: string): Command =>
    family
      .command(name)
      .description(description)
      .argument("[file]", "a file, or - for standard input", "-")
      .option("--format <name>", "xml, markdown or tree (default: by name, else xml)")
      .option("--json", "print one JSON object", false);
  verb("parse", "show the tree of a text and what is odd about it; the exit code is then 1")
    .option("--tags <names>", "the tags that are structure, separated by commas (default: all)")
    .option("--events", "print what a parser tells while it reads, one JSON value per line", false)
    .action(async (file: string, flags) => {
      const run = async (): Promise<number> =>
        (await import("./prompt-command.ts")).runParse(terminal, file, flags);
      finish(await answering(terminal, flags.json, run));
    });
  verb("render", "print what a model reads of a stored tree (parse --json) or of a text")
    .option("--messages", "one part for each role", false)
    .action(async (file: string, flags) => {
      const run = async (): Promise<number> =>
        (await import("./prompt-command.ts")).runRender(terminal, file, flags);
      finish(await answering(terminal, flags.json, run));
    });
}

function addDiffVerb(terminal: Terminal, program: Command, finish: (code: number) => void): void {
  const diff = program
    .command("diff")
    .description(
      "print the unified diff of two texts, of two versions of a block, or, below a line on how they stand, of a file on disk and its block; the exit code is 1 when they differ",
    )
    .usage(
      "<old> <new> [options]\n       kumiko diff <block-or-path> <from> [to] [options]\n       kumiko diff <path> [options]",
    )
    .argument("<old>", "a file, - for standard input, or a block (a file of such a name: ./…)")
    .argument("[new]", "a file, - for standard input, or the block's earlier version")
    .argument("[to]", "the block's later version (default: now)")
    .option(
      "-U, --context <n>",
      "unchanged lines around each change (of files; default 3)",
      wholeNumber,
    )
    .option("--label <name>", "print this name instead (first: old, second: new)", collected, []);
  homeOptions(diff).action(
    async (oldName: string, newName: string | undefined, to: string | undefined, flags) => {
      const run = async (): Promise<number> =>
        (await import("./diff-command.ts")).runDiff(terminal, [oldName, newName, to], flags);
      finish(await answering(terminal, flags.json, run));
    },
  );
}

/** In lists of verbs: the words that follow it, not its options. */
function subcommandTerm(command: Command): string {
  const top = command.parent?.parent === null;
  const words = command
    .usage()
    .replaceAll(/\[(options|command)\]/g, "")
    .trim();
  return top ? command.name() : `${command.name()} ${words}`.trim();
}

function collected(value: string, before: readonly string[]): string[] {
  return [...before, value];
}
