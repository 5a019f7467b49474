import { randomUUID } from "node:crypto";
import { isBlockId, isEdit, KumikoError } from "../../base/index.ts";
import type { ToolForm } from "../../tools/index.ts";
import { printJson } from "../answer.ts";
import { exitCode } from "../exit-code.ts";
import { quoted } from "../doors/quoted.ts";
import { printedFact } from "../refusal.ts";
import type { Terminal } from "../terminal.ts";
import { argumentValue, flagOf, parseJson, textFrom, type ToolArgument } from "./tool-arguments.ts";
import { leavesUnsaved, printAnswer, printTold, withoutTold } from "./tool-answer.ts";
import { printStream } from "./tool-stream.ts";
import { verbOf } from "./tools.ts";
import { callTool } from "./call-tool.ts";
import type { OpenKernel } from "./access.ts";
import { namesFile, targetFrom, withOwnMount, withShownPaths, withTargets } from "./paths.ts";
import { shortened } from "./columns.ts";
import { hasIt, homeHint } from "./hints.ts";
import type { HomeFlags } from "./options.ts";
import { type Caller, withKernel } from "./with-kernel.ts";

/** Of a word that nobody expected: it may be a whole text. */
const SHOWN = 60;

export interface ToolCall {
  readonly args: readonly ToolArgument[];
  /** The arguments that may come without their names. */
  readonly words: readonly ToolArgument[];
  /** What came without a name. */
  readonly given: readonly string[];
  /** For what is not given at all. */
  readonly defaults: Input;
  readonly flags: HomeFlags & { readonly [name: string]: unknown };
}

export type Input = { readonly [name: string]: unknown };

/** Calls a tool of the kernel. Everything that is read from outside is read before the kernel is opened. */
export async function runTool(terminal: Terminal, tool: ToolForm, call: ToolCall): Promise<number> {
  const said = await gatherInput(terminal, tool, call);
  const input = withTargets(terminal, tool.name, said);
  const { flags } = call;
  const { family, verb } = verbOf(tool);
  if (tool.streams) await checkServer(terminal, flags);
  const flipped = namedInPlaceOfEdit(terminal, tool, input);
  const run = async (kernel: OpenKernel, caller: Caller): Promise<number> => {
    const { KUMIKO_READER, KUMIKO_CONTEXT } = terminal.environment;
    if (tool.streams) return printStream(terminal, flags.json, kernel, caller.signal, input);
    if (flipped !== undefined) return flip(kernel, caller, flipped);
    const placed = tool.name === "file_list" ? await withOwnMount(terminal, kernel, input) : input;
    const answer = (await callTool(kernel, caller, {
      name: tool.name,
      arguments: flags.json ? placed : forPeople(tool, placed),
      passing: true,
      reader: KUMIKO_READER || `cli-${randomUUID()}`,
      ...(KUMIKO_CONTEXT && { context: KUMIKO_CONTEXT }),
    })) as Input;
    return show(kernel, answer);
  };
  const path = flipped?.file ?? input["block_id"] ?? input["path"];
  const spokenOf = typeof path === "string" ? { path } : {};
  return withKernel(terminal, flags, `kumiko ${family} ${verb}`, run, spokenOf);

  async function flip(kernel: OpenKernel, caller: Caller, named: Named): Promise<number> {
    const { flipInFile } = await import("../files/undo-file.ts");
    const asked = { tool: tool.name, ...named, input };
    return show(kernel, await flipInFile(kernel, caller, asked));
  }

  async function show(kernel: OpenKernel, answer: Input): Promise<number> {
    const isEmpty = foundNothing(tool.name, answer);
    const isUnsaved = tool.name === "file_save" && !isSaved(answer);
    const other = isEmpty && tool.name === "kernel_search" ? await found(kernel) : undefined;
    if (flags.json) {
      const told = other === undefined ? {} : { elsewhere: other };
      await printJson(terminal, { ok: !isUnsaved, counted_from: 0, ...answer, ...told });
    } else {
      const shown = await withShownPaths(terminal, kernel, answer);
      if (input["line_numbers"] === false) {
        await terminal.print(String(answer["content"]));
        // The exact text is for a program: what is told beside it must not be in it.
        const told = printTold(terminal, withoutTold(tool.name, shown).told);
        if (told.length > 0) await terminal.complain(`${told.join("\n")}\n`);
      } else await printAnswer(terminal, tool.name, said, shown);
      if (other !== undefined) await terminal.print(`${hasIt(other)}\n`);
    }
    if (isUnsaved || leavesUnsaved(answer["unsaved"])) return exitCode.unsaved;
    return isEmpty ? exitCode.different : exitCode.fine;
  }

  /** In which other kernel there is what was looked for. */
  async function found(kernel: OpenKernel): Promise<string | undefined> {
    const { elsewhere } = await import("./elsewhere.ts");
    const asked = { name: tool.name, arguments: { ...input, max_blocks: 1 } };
    return elsewhere(
      kernel,
      async (each) => !foundNothing(tool.name, (await each.executeTool(asked)) as Input),
    );
  }
}

function isSaved({ saved, left_out: leftOut }: Input): boolean {
  const files = saved as readonly { readonly status: string }[];
  return leftOut === undefined && files.every(({ status }) => status === "synced");
}

/** As grep says it with its exit code. */
function foundNothing(tool: string, answer: Input): boolean {
  const { [tool === "kernel_search" ? "blocks" : "matches"]: found } = answer;
  const searches = tool === "kernel_search" || tool === "block_search";
  return searches && Array.isArray(found) && found.length === 0;
}

/** Without a server nobody can write while this process listens: there would never be anything to see. */
async function checkServer(terminal: Terminal, flags: HomeFlags): Promise<void> {
  const { findServer } = await import("../../app/running.ts");
  const { noServer, placeOf } = await import("../doors/place.ts");
  const place = placeOf(terminal, flags);
  if ((await findServer(place)) === undefined) throw noServer(place);
}

/** A file or a block whose newest Edit is meant, and how it was written: in the place of an Edit it is what is none. */
interface Named {
  readonly file: string;
  readonly shown: string;
}

function namedInPlaceOfEdit(
  terminal: Terminal,
  { name }: ToolForm,
  { edit }: Input,
): Named | undefined {
  const flips = name === "block_undo" || name === "block_redo";
  if (!flips || typeof edit !== "string" || isEdit(edit)) return undefined;
  return { file: targetFrom(terminal, edit), shown: edit };
}

/** Lines are numbered here, from 1, where a person reads them. */
function forPeople({ name }: ToolForm, input: Input): Input {
  return name === "block_read" ? { ...input, line_numbers: false } : input;
}

async function gatherInput(terminal: Terminal, tool: ToolForm, call: ToolCall): Promise<Input> {
  const { args, flags } = call;
  const isBlock = (word: string): boolean => isBlockId(word) || namesFile(terminal, word);
  const named = withWords(tool, call, isBlock);
  const whole = flags["input"];
  const fromInput = typeof whole === "string" ? [whole] : [];
  const readers = [...fromInput, ...named.values()].filter((raw) => raw === "-");
  if (readers.length > 1) {
    throw new KumikoError(
      "invalid_argument",
      "Only one argument can come from standard input.",
      {},
    );
  }
  const input: { [name: string]: unknown } = {};
  if (typeof whole === "string") Object.assign(input, await wholeInput(terminal, whole));
  for (const argument of args) {
    const raw = named.get(argument.name);
    if (raw === undefined) continue;
    if (argument.name in input) {
      throw new KumikoError(
        "invalid_argument",
        `${argument.name} is given twice: in --input and by itself.`,
        { argument: argument.name },
      );
    }
    input[argument.name] = await argumentValue(terminal, argument, raw);
  }
  const missing = args.filter(({ name, required }) => required && !(name in input));
  if (missing.length > 0 && whole === undefined) {
    const names = missing.map(({ flag, word }) => (word ? `<${flag.slice(2)}>` : flag));
    throw new KumikoError(
      "invalid_argument",
      `Missing: ${names.join(", ")}; --help shows what to write.`,
      { missing: names },
    );
  }
  return { ...call.defaults, ...input };
}

async function wholeInput(terminal: Terminal, raw: string): Promise<object> {
  const value = parseJson("--input", await textFrom(terminal, raw));
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw new KumikoError("invalid_argument", "--input must be a JSON object.", {});
}

/** What was given by name, and the words for those that were not, in order. */
function withWords(
  { name: tool }: ToolForm,
  { args, words, given, flags }: ToolCall,
  isBlock: (word: string) => boolean,
): Map<string, unknown> {
  const named = new Map<string, unknown>();
  for (const { name, flag } of args) {
    const value = flags[camelCase(flag)];
    if (value !== undefined) named.set(name, value);
  }
  const rest = [...given];
  const open = words.filter(({ name }) => !named.has(name));
  // What may be left out gets a word only when there are enough for what may not.
  let spare = rest.length - open.filter(({ required }) => required).length;
  for (const { name, required } of open) {
    if (rest.length === 0) break;
    if (!required && (spare <= 0 || (name === "block_id" && !isBlock(rest[0]!)))) continue;
    if (!required) spare -= 1;
    named.set(name, rest.shift());
  }
  if (rest.length > 0) {
    const expected = words.map(({ name }) => `<${name.replaceAll("_", "-")}>`).join(" ");
    const turned = tool === "kernel_search" && given.length === 2 && isBlock(rest[0]!);
    const word = shortened(rest[0]!, SHOWN);
    const text = args.find(({ name }) => name === "content" || name === "text");
    throw new KumikoError(
      "invalid_argument",
      `"${word}" is one word too many${expected === "" ? "" : `; expected ${expected}`}. Quote text that has spaces.` +
        (text === undefined ? "" : ` Its text is given with ${text.flag}.`) +
        (turned
          ? ` One file or block goes before it (\`kumiko search ${quoted(rest[0]!)} ${quoted(given[0]!)}\`), those of a folder are meant by --path-prefix.`
          : ""),
      { word },
    );
  }
  return named;
}

/** As commander names what `--base-version` gave. */
function camelCase(flag: string): string {
  return flag.slice(2).replaceAll(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** In the words of the command line: tools know arguments, people type flags. */
export function toolHint(error: KumikoError): string | undefined {
  const { code, facts, message } = error;
  if (code === "base_required") {
    return `Every run of this command is new and has read nothing yet: pass --base-version ${printedFact(facts["version"])} if that is what you read. (With a server, runs that share $KUMIKO_READER share what they read.)`;
  }
  if (code === "conflict" && typeof facts["version"] === "number")
    return `If that is still what you want: --base-version ${facts["version"]}, with its lines (in JSON counted from 0).`;
  if (code === "invalid_argument" && Array.isArray(facts["problems"])) {
    const names = facts["problems"].flatMap((problem) =>
      typeof problem === "object" && problem !== null && "at" in problem
        ? [String(problem.at)]
        : [],
    );
    const first = names[0]?.split(".")[0] ?? "";
    return /^[a-z_]+$/.test(first)
      ? `On the command line it is ${flagOf(first)}; --help shows all.`
      : undefined;
  }
  if (code === "not_found")
    return "Copy the text to replace from the block as it is now, whitespace included (`kumiko block read`).";
  if (code === "invalid_argument" && message.endsWith("pass context."))
    return "Name it with --context, or for all calls with $KUMIKO_CONTEXT.";
  return homeHint(error);
}
