import { Command, InvalidArgumentError } from "commander";
import { answering } from "./answer.ts";
import type { Terminal } from "./terminal.ts";
import { readVersion } from "./version.ts";

/** What a verb does is imported only when it runs. */
export function verbs(terminal: Terminal, finish: (code: number) => void): Command {
  const program = new Command("kumiko")
    .description(
      "People and agents edit the same files at the same time, and nobody's work is lost.",
    )
    .version(readVersion(), "-V, --version", "print the version")
    .helpCommand(false)
    .showHelpAfterError("(kumiko --help shows what there is)");

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

  program
    .command("diff")
    .description("print the unified diff of two texts; the exit code is 1 when they differ")
    .argument("<old>", "a file, or - for standard input")
    .argument("<new>", "a file, or - for standard input")
    .option("-U, --context <n>", "unchanged lines around each change", wholeNumber, 3)
    .option("--label <name>", "print this name instead (first: old, second: new)", collected, [])
    .option("--json", "print one JSON object", false)
    .action(async (oldName: string, newName: string, flags) => {
      const run = async (): Promise<number> =>
        (await import("./diff-command.ts")).runDiff(terminal, oldName, newName, flags);
      finish(await answering(terminal, flags.json, run));
    });
  return program;
}

function wholeNumber(text: string): number {
  if (!/^\d{1,6}$/.test(text))
    throw new InvalidArgumentError("It must be a whole number, 0 or more.");
  return Number(text);
}

function collected(value: string, before: readonly string[]): string[] {
  return [...before, value];
}
