import type { Command } from "commander";
import { overHome, wholeNumber } from "../home/options.ts";
import type { Terminal } from "../terminal.ts";
import { type Finish, verbsIn } from "../verbs-in.ts";
import type { ResolveFlags } from "./conflict-command.ts";
import type { ListFlags } from "./list-command.ts";
import type { MountFlags, UnmountFlags } from "./mount-command.ts";
import { mountingOptions } from "./mount-options.ts";
import type { CatFlags } from "./text-command.ts";

type Flags = MountFlags & UnmountFlags & ListFlags & CatFlags & ResolveFlags;

const sides = `
disk     what was in the file, or was saved by kumiko edit
memory   what the block had: edits by agents and others that were not in the file
mine     of these two the one that you wrote
both     disk's lines, then memory's
now      what stands there now stays, also if it is neither`;

/** Adds the verbs about folders and their files. Paths are meant from where the person stands. */
export function addFileVerbs(terminal: Terminal, program: Command, finish: Finish): void {
  const verb = verbsIn<Flags>(terminal, program, finish, overHome);
  const mounts = () => import("./mount-command.ts");
  mountingOptions(
    verb("mount <folder>", "make the files of a folder blocks of the kernel", (flags, folder) =>
      mounts().then(({ mount }) => mount(terminal, folder, flags)),
    ).option("--name <name>", "files are then also @name/path (default: the folder's own name)"),
  );
  verb("unmount <name-or-folder>", "let a folder go; the history of its files stays", (flags, it) =>
    mounts().then(({ unmount }) => unmount(terminal, it, flags)),
  ).option("--force", "also with text that is not on disk or conflicts; they are kept");
  verb("mounts", "list the mounted folders, conflicts and what is wrong", (flags) =>
    mounts().then(({ listMounts }) => listMounts(terminal, flags)),
  );
  verb(
    "ls [paths-or-globs...]",
    "list files: permission, status, size, path",
    (flags, _first, _second, paths) =>
      import("./list-command.ts").then(({ listFiles }) => listFiles(terminal, paths, flags)),
  ).option("--ignored", "also what .gitignore and .kumikoignore leave out");
  verb("cat <path>", "print a file, now or at a version", (flags, path) =>
    import("./text-command.ts").then(({ printFile }) => printFile(terminal, path, flags)),
  ).option("--version <n>", "as it was at this version", wholeNumber);
  verb("edit <path>", "open a file in $VISUAL or $EDITOR; what you save is yours", (flags, path) =>
    import("./edit-command.ts").then(({ editFile }) => editFile(terminal, path, flags)),
  );
  const conflicts = () => import("./conflict-command.ts");
  verb("conflicts [path]", "show what is in conflict; the exit code is then 1", (flags, path) =>
    conflicts().then(({ listConflicts }) => listConflicts(terminal, path, flags)),
  );
  verb(
    "resolve <conflict> [disk|memory|mine|both|now]",
    "say whose lines stand there from now on, of those that `kumiko conflicts` shows",
    (flags, conflict, choice) =>
      conflicts().then(({ resolveConflict }) => resolveConflict(terminal, conflict, choice, flags)),
  )
    .option("--text <file>", "lines of your own: a file, or - for standard input")
    .addHelpText("after", sides);

  const group = program
    .command("rules")
    .description("explain and check who may do what to which file")
    .helpCommand(false);
  const rules = verbsIn<Flags>(terminal, group, finish, overHome);
  const load = () => import("./rules-command.ts");
  rules(
    "test <path>",
    "say which rule decides about a path, and why: for agents and for persons, side by side. The command line acts as a person, whatever --actor says",
    (flags, path) => load().then(({ testRules }) => testRules(terminal, path, flags)),
  );
  rules(
    "check [file-or-folder]",
    "read kumiko.toml and say what is wrong with it, and where; and which secret files have another name",
    (flags, file) =>
      load().then(({ checkRules }) => checkRules(terminal, file || undefined, flags)),
  );
}
