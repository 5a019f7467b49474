import { type Command, InvalidArgumentError } from "commander";
import type { VerbForm } from "../verbs-in.ts";

/** The kernel that is there without being asked for. */
export const DEFAULT_KERNEL = "main";
/** Seconds: longer than any command that is not asked to stay. */
export const DEFAULT_WAIT = 5;

/** What every verb over a home folder takes. */
export interface HomeFlags {
  readonly home?: string;
  readonly kernel?: string;
  readonly actor?: string;
  /** Seconds. */
  readonly wait: number;
  readonly json: boolean;
}

export function homeOptions(command: Command): Command {
  return command
    .optionsGroup("Where, who and how:")
    .option("--home <folder>", "the home folder (default: $KUMIKO_HOME, else the XDG data folder)")
    .option(
      "--kernel <id>",
      `the kernel (default: $KUMIKO_KERNEL, else that of the path you name or of this folder, else ${DEFAULT_KERNEL})`,
    )
    .option(
      "--actor <name>",
      "in whose name, with a person's rights (default: $KUMIKO_ACTOR, else your Unix name)",
    )
    .option(
      "--wait <seconds>",
      "how long to wait for a kernel in use, or for the server",
      secondsOf,
      DEFAULT_WAIT,
    )
    .option("--json", "print one JSON object", false);
}

/** Every verb over a home folder. */
export const overHome: VerbForm = {
  options: homeOptions,
  hint: async (error) => (await import("./hints.ts")).homeHint(error),
};

export function wholeNumber(text: string): number {
  if (!/^\d{1,6}$/.test(text))
    throw new InvalidArgumentError("It must be a whole number, 0 or more.");
  return Number(text);
}

function secondsOf(text: string): number {
  const seconds = Number(text);
  if (text.trim() !== "" && seconds >= 0 && Number.isFinite(seconds)) return seconds;
  throw new InvalidArgumentError("It takes seconds, from 0 on.");
}
