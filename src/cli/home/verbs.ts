import type { Command } from "commander";
import type { Terminal } from "../terminal.ts";
import { type Finish, verbsIn } from "../verbs-in.ts";
import { aliases, families } from "./aliases.ts";
import type { MemberFlags } from "./context-command.ts";
import type { DoctorFlags } from "./doctor-command.ts";
import type { ExportFlags } from "./export-command.ts";
import { overHome, wholeNumber } from "./options.ts";
import type { PurgeFlags } from "./purge-command.ts";
import type { RetentionFlags } from "./retention-command.ts";
import type { UsageFlags } from "./usage-command.ts";

/** A verb's flags are those it declares; what reads them says which. */
type Flags = MemberFlags & DoctorFlags & ExportFlags & PurgeFlags & RetentionFlags & UsageFlags;

/** Adds the verbs over a home folder. Tools are loaded only when one of theirs is asked for. */
export async function addHomeVerbs(
  terminal: Terminal,
  program: Command,
  argv: readonly string[],
  finish: Finish,
): Promise<void> {
  addContextVerbs(terminal, program, finish);
  for (const [family, summary] of Object.entries(families))
    program.command(family).description(summary).helpCommand(false);
  addKernelVerbs(terminal, program.commands.at(-1)!, finish);
  addUpkeepVerbs(terminal, program, finish);
  const [verb = ""] = argv.filter((word) => !word.startsWith("-"));
  const family =
    verb in families ? program.commands.find((each) => each.name() === verb) : undefined;
  const next = argv[argv.indexOf(verb) + 1];
  const declared = family?.commands.some((each) => each.name() === next) === true;
  const wanted = (family !== undefined && !declared) || verb in aliases;
  const tools = wanted ? await import("./tool-verbs.ts") : undefined;
  if (family !== undefined) tools?.addToolVerbs(terminal, family, next, finish);
  for (const [alias, { summary }] of Object.entries(aliases)) {
    if (alias === verb) tools?.addAlias(terminal, program, alias, argv, finish);
    else program.command(alias).description(summary);
  }
}

function addContextVerbs(terminal: Terminal, program: Command, finish: Finish): void {
  const group = program
    .command("context")
    .description("make, list, show, join and leave contexts")
    .helpCommand(false);
  const load = () => import("./context-command.ts");
  const verb = verbsIn<Flags>(terminal, group, finish, overHome);
  verb("new <name>", "make a context; the first one makes the home folder too", (flags, name) =>
    load().then(({ newContext }) => newContext(terminal, name, flags)),
  );
  verb("list", "list the contexts of a kernel", (flags) =>
    load().then(({ listContexts }) => listContexts(terminal, flags)),
  );
  verb("show <name>", "show a context: members and blocks", (flags, name) =>
    load().then(({ showContext }) => showContext(terminal, name, flags)),
  );
  const member = (command: Command): void => {
    command
      .option("--nick <name>", "what others call you there (default: the actor)")
      .option("--instance <name>", "where you sit (default: this machine's name)");
  };
  member(
    verb("join <name>", "become a member of a context", (flags, name) =>
      load().then(({ joinContext }) => joinContext(terminal, name, flags)),
    ),
  );
  member(
    verb("leave <name>", "leave a context", (flags, name) =>
      load().then(({ leaveContext }) => leaveContext(terminal, name, flags)),
    ),
  );
}

function addKernelVerbs(terminal: Terminal, group: Command, finish: Finish): void {
  const load = () => import("./kernel-command.ts");
  const verb = verbsIn<Flags>(terminal, group, finish, overHome);
  verb("new <id>", "make a kernel", (flags, id) =>
    load().then(({ newKernel }) => newKernel(terminal, id, flags)),
  );
  verb("list", "list the kernels of the home folder", (flags) =>
    load().then(({ listKernels }) => listKernels(terminal, flags)),
  );
}

/** What people do to keep a kernel small and whole. */
function addUpkeepVerbs(terminal: Terminal, program: Command, finish: Finish): void {
  const verb = verbsIn<Flags>(terminal, program, finish, overHome);
  verb("du", "show where the bytes are: by kind, by context, and the biggest blocks", (flags) =>
    import("./usage-command.ts").then(({ showUsage }) => showUsage(terminal, flags)),
  ).option("--biggest <n>", "how many blocks to name (default: 10)", wholeNumber);
  verb("doctor", "find and explain what is damaged, and save what can be read", (flags) =>
    import("./doctor-command.ts").then(({ runDoctor }) => runDoctor(terminal, flags)),
  )
    .option("--export <folder>", "write everything that can still be read to plain files")
    .option("--force", "write over what is in the folder");
  verb(
    "export <folder>",
    "write every block to a plain file, files of mounted folders too, with an index",
    (flags, folder) =>
      import("./export-command.ts").then(({ exportKernel }) =>
        exportKernel(terminal, folder, flags),
      ),
  )
    .option("--context <name>", "only this context, or the files of one folder: @name")
    .option("--at-position <n>", "as everything stood at a position of the journal", wholeNumber)
    .option("--force", "write over what is in the folder");
  addPurgeVerbs(terminal, program, finish);
  const group = program
    .command("retention")
    .description("how long answered calls and snapshots are kept")
    .helpCommand(false);
  const retention = verbsIn<Flags>(terminal, group, finish, overHome);
  const load = () => import("./retention-command.ts");
  retention("show", "show the settings", (flags) =>
    load().then(({ showRetention }) => showRetention(terminal, flags)),
  );
  retention("set", "change the settings", (flags) =>
    load().then(({ setRetention }) => setRetention(terminal, flags)),
  )
    .option("--answered-calls <days>", "days after which a call_id is forgotten, or forever")
    .option(
      "--idle-snapshots <days>",
      "days after which an unused snapshot is dropped, or forever",
    );
  retention("apply", "apply them now and say what was removed", (flags) =>
    load().then(({ applyRetention }) => applyRetention(terminal, flags)),
  );
}

function addPurgeVerbs(terminal: Terminal, program: Command, finish: Finish): void {
  const group = program
    .command("purge")
    .description(
      "remove a text, or all that a block says, for good, from all of history, files included",
    )
    .helpCommand(false);
  const load = () => import("./purge-command.ts");
  const verb = verbsIn<Flags>(terminal, group, finish, overHome);
  const declared = [
    verb(
      "text <secret>",
      "remove a text wherever it ever stood; - reads it from standard input",
      (flags, secret) => load().then(({ purgeText }) => purgeText(terminal, secret, flags)),
    ),
    verb(
      "block <block>",
      "remove everything a block ever said: text, messages, metadata",
      (flags, block) => load().then(({ purgeBlock }) => purgeBlock(terminal, block, flags)),
    ),
  ];
  for (const command of declared) {
    command
      .option("-n, --dry-run", "only say where it occurs")
      .option("-y, --yes", "do not ask")
      .option("--message <why>", "why, for those who find the gap");
  }
}
