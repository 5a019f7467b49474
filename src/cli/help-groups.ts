import type { Command } from "commander";

/** What a verb is for; one that is in none is listed last. */
const groups: { readonly [heading: string]: readonly string[] } = {
  "Begin:": ["serve", "status", "connect", "watch"],
  "Folders and files:": [
    "mount",
    "unmount",
    "mounts",
    "ls",
    "cat",
    "edit",
    "diff",
    "conflicts",
    "resolve",
    "rules",
    "file",
  ],
  "Who wrote what, and taking it back:": ["search", "history", "blame", "undo", "redo", "rollback"],
  "Conversations:": ["context", "block", "kernel"],
  "For agents and programs:": ["mcp", "token"],
  "Upkeep:": ["du", "doctor", "export", "purge", "retention"],
  "Texts of your own, without a kernel:": ["patch", "prompt"],
};

/** Forty verbs in the groups that people look for them in. */
export function groupVerbs(program: Command): void {
  for (const [heading, names] of Object.entries(groups))
    for (const command of program.commands)
      if (names.includes(command.name())) command.helpGroup(heading);
}
