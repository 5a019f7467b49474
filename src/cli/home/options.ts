import { type Command, InvalidArgumentError } from "commander";

/** The kernel that is there without being asked for. */
export const DEFAULT_KERNEL = "main";

/** What every verb over a home folder takes. */
export interface HomeFlags {
  readonly home?: string;
  readonly kernel?: string;
  readonly actor?: string;
  readonly json: boolean;
}

export function homeOptions(command: Command): Command {
  return command
    .optionsGroup("Where, who and how:")
    .option("--home <folder>", "the home folder (default: $KUMIKO_HOME, else the XDG data folder)")
    .option("--kernel <id>", `the kernel (default: $KUMIKO_KERNEL, else ${DEFAULT_KERNEL})`)
    .option("--actor <name>", "who acts (default: $KUMIKO_ACTOR, else your Unix name)")
    .option("--json", "print one JSON object", false);
}

export function wholeNumber(text: string): number {
  if (!/^\d{1,6}$/.test(text))
    throw new InvalidArgumentError("It must be a whole number, 0 or more.");
  return Number(text);
}
