import { Command, InvalidArgumentError, Option } from "commander";
import { isBlockId } from "../../base/index.ts";
import type { ToolForm } from "../../tools/index.ts";
import { answering } from "../answer.ts";
import type { Terminal } from "../terminal.ts";
import type { Finish } from "../verbs-in.ts";
import { aliases } from "./aliases.ts";
import { type ToolArgument, toolArguments, wordsOf } from "./tool-arguments.ts";
import { type Input, runTool, toolHint } from "./tool-command.ts";
import { exampleLine } from "./tool-example.ts";
import { namesFile } from "./paths.ts";
import { homeOptions } from "./options.ts";
import { tools, verbOf } from "./tools.ts";
import { inVerbs } from "./verb-names.ts";

/** Adds the verbs of the tools of a family to its command: the one that is asked for, else all of them. */
export function addToolVerbs(
  terminal: Terminal,
  group: Command,
  asked: string | undefined,
  finish: Finish,
): void {
  const all = tools.filter((tool) => verbOf(tool).family === group.name());
  const named = all.filter((tool) => verbOf(tool).verb === asked);
  for (const tool of named.length > 0 ? named : all) {
    const { family, verb } = verbOf(tool);
    group.addCommand(toolVerb(terminal, tool, `${family} ${verb}`, finish));
  }
}

/** A frequent tool under a short name; of two, the one for blocks when a block is named first. */
export function addAlias(
  terminal: Terminal,
  program: Command,
  alias: string,
  argv: readonly string[],
  finish: Finish,
): void {
  const [, first = ""] = argv.filter((word) => !word.startsWith("-"));
  const names = aliases[alias]!.tools;
  const found = names
    .map((name) => tools.find((tool) => tool.name === name))
    .filter((tool) => tool !== undefined);
  const tool = isBlockId(first) || isFile(terminal, argv) ? found.at(-1) : found[0];
  if (tool !== undefined) program.addCommand(toolVerb(terminal, tool, alias, finish));
}

/** `search src/a.ts word`: two words, the first of which is a file. */
function isFile(terminal: Terminal, [, first = "-", second = "-"]: readonly string[]): boolean {
  if (first.startsWith("-") || second.startsWith("-")) return false;
  return namesFile(terminal, first) && first !== second;
}

interface Defaults {
  readonly input: Input;
  readonly note: string;
}

/** Where a command line means something else than a model: it looks everywhere, and waits for the disk. */
function defaultsOf(path: string, { name }: ToolForm, args: readonly ToolArgument[]): Defaults {
  const kinds = args.find((argument) => argument.name === "kinds");
  const exit = "The exit code is 1 when nothing is found, as grep's.";
  if (path === "search" && kinds !== undefined)
    return {
      input: { kinds: kinds.choices },
      note: `Without --kinds it looks through all kinds; in one file or block: kumiko search <path-or-block> <query>. ${exit}`,
    };
  if (name === "kernel_search" || name === "block_search") return { input: {}, note: exit };
  if (name === "block_undo" || name === "block_redo")
    return {
      input: {},
      note: "A block or a path in the place of an Edit means the newest in it: yours, or that of --of-actor.",
    };
  return name === "block_append"
    ? {
        input: { flush: true },
        note: "It waits until the text is on disk, unless told --no-flush.",
      }
    : { input: {}, note: "" };
}

/** One verb for one tool, under whatever name: everything about it comes from the definition. */
function toolVerb(terminal: Terminal, tool: ToolForm, path: string, finish: Finish): Command {
  const typed = `kumiko ${path}`;
  const declared = toolArguments(tool);
  const words = wordsOf(declared);
  const defaults = defaultsOf(path, tool, declared);
  const args = declared.map((argument) =>
    argument.name in defaults.input ? withoutDefault(argument) : argument,
  );
  const plain = forPeople(tool, args);
  const description = inVerbs("kinds" in defaults.input ? everyKind(plain) : plain);
  const command = new Command(path.split(" ").at(-1))
    .description(description)
    .summary(summaryOf(description))
    .usage([...words.map(placeholder), "[options]"].join(" "))
    .argument("[words...]");
  for (const argument of args) addOption(command, argument);
  command.option("--input <json>", "all arguments at once as JSON, @file, or - for standard input");
  homeOptions(command);
  command.addHelpText("after", helpTail(tool, typed, args, defaults));
  command.action(async (given: string[], flags) => {
    const run = (): Promise<number> =>
      runTool(terminal, tool, { args, words, given, flags, defaults: defaults.input });
    finish(await answering(terminal, flags.json, run, { countFrom: 0, hint: toolHint }));
  });
  return command;
}

/** The tool's own default is not what holds here. */
function withoutDefault(argument: ToolArgument): ToolArgument {
  return { ...argument, description: argument.description.replace(/; \S+ by default/, "") };
}

function everyKind(description: string): string {
  return description.replace(/: files by default, other kinds [^.]*\./, ".");
}

function addOption(command: Command, argument: ToolArgument): void {
  const { flag, form, choices, description, required } = argument;
  const text = inVerbs(`${description}${required ? " (required)" : ""}`);
  if (form === "switch") {
    const opposite = flag.replace("--", "--no-");
    command.option(flag, [text, `or ${opposite}`].filter(Boolean).join("; "));
    command.addOption(new Option(opposite).hideHelp());
    return;
  }
  const values = { number: "n", lines: "first:last", json: "json", choice: "which" };
  const value = form in values ? values[form as keyof typeof values] : "text";
  const option = new Option(`${flag} <${value}>`, text);
  if (choices.length > 0) option.choices(choices);
  if (form === "texts") option.argParser(collecting(argument));
  command.addOption(option);
}

function collecting({ flag, choices }: ToolArgument) {
  return (each: string, before: string[] | undefined): string[] => {
    if (choices.length > 0 && !choices.includes(each))
      throw new InvalidArgumentError(`${flag} takes ${choices.join(", ")}.`);
    return [...(before ?? []), each];
  };
}

function placeholder({ name, required }: ToolArgument): string {
  const shown = name === "edit" ? "edit-or-block-or-path" : name.replaceAll("_", "-");
  return required ? `<${shown}>` : `[${shown}]`;
}

function helpTail(
  tool: ToolForm,
  typed: string,
  args: readonly ToolArgument[],
  { note }: Defaults,
): string {
  const examples = tool.examples.flatMap(({ when, input }) => [
    `  # ${when}${/\d/.test(when) && countsLines(args, input) ? " (counted from 0)" : ""}`,
    `  ${exampleLine(typed, args, input)}`,
  ]);
  return [
    "",
    "Flags and printed lines count from 1; JSON, given or printed, counts from 0.",
    ...(note === "" ? [] : [note]),
    "",
    "Examples:",
    ...examples,
  ].join("\n");
}

/** Where lines come only by flags, they count from 1 all the way. */
function forPeople({ description }: ToolForm, args: readonly ToolArgument[]): string {
  return args.some(({ form }) => form === "json")
    ? description
    : description.replaceAll("counted from 0", "counted from 1");
}

/** An example's own words count as tools do. */
function countsLines(args: readonly ToolArgument[], input: unknown): boolean {
  const given = input as { readonly [name: string]: unknown };
  return args.some(({ name, form }) => form === "lines" && given[name] !== undefined);
}

/** What it does, as a list of verbs says it. */
function summaryOf(description: string): string {
  const sentence = /^.*?(?=[.:;](\s|$)|$)/.exec(description)?.[0] ?? description;
  const short = sentence.length > 60 ? sentence.split(/,| \(/)[0]! : sentence;
  return short.charAt(0).toLowerCase() + short.slice(1);
}
