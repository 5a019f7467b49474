import type { Command } from "commander";
import { answering, type Answering } from "./answer.ts";
import type { Terminal } from "./terminal.ts";

/** Told the exit code of the verb that ran. */
export type Finish = (code: number) => void;

export interface VerbForm extends Answering {
  /** Adds what all of them take. */
  options(command: Command): Command;
}

/** A verb that takes up to two words, or any number, which are `all`; what it gives is its exit code. */
type DeclareVerb<Flags> = (
  declared: string,
  description: string,
  run: (
    flags: Flags,
    first: string,
    second: string | undefined,
    all: readonly string[],
  ) => Promise<number>,
) => Command;

/** Declares verbs of a group. */
export function verbsIn<Flags extends { readonly json: boolean }>(
  terminal: Terminal,
  group: Command,
  finish: Finish,
  form: VerbForm,
): DeclareVerb<Flags> {
  return (declared, description, run) => {
    const command = form.options(group.command(declared).description(description));
    return command.action(async (...given: unknown[]) => {
      const taken = command.registeredArguments.length;
      const words = given.slice(0, taken) as (string | string[] | undefined)[];
      const all = words.flat().filter((word) => word !== undefined);
      const flags = given[taken] as Flags;
      const [first = "", second] = all;
      finish(await answering(terminal, flags.json, () => run(flags, first, second, all), form));
    });
  };
}
