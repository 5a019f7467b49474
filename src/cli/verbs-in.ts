import type { Command } from "commander";
import { answering, type Answering } from "./answer.ts";
import type { Terminal } from "./terminal.ts";

/** Told the exit code of the verb that ran. */
export type Finish = (code: number) => void;

export interface VerbForm extends Answering {
  /** Adds what all of them take. */
  options(command: Command): Command;
}

/** A verb that takes up to two words; what it gives is its exit code. */
type DeclareVerb<Flags> = (
  declared: string,
  description: string,
  run: (flags: Flags, first: string, second: string | undefined) => Promise<number>,
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
      const words = given.slice(0, command.registeredArguments.length) as (string | undefined)[];
      const flags = given[words.length] as Flags;
      const [first = "", second] = words;
      finish(await answering(terminal, flags.json, () => run(flags, first, second), form));
    });
  };
}
