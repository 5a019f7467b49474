import { KumikoError } from "../../base/index.ts";
import type { ArgumentSchema, ToolForm } from "../../tools/index.ts";
import { decodeNamed, readNamedBytes } from "../input.ts";
import type { Terminal } from "../terminal.ts";
import { verbOf } from "./tools.ts";

/** How one argument of a tool is written on a command line. */
type Form =
  | "switch"
  | "number"
  | "choice"
  | "lines"
  | "texts"
  | "long text"
  | "text"
  | "either"
  | "json";

export interface ToolArgument {
  /** As the tool calls it: `base_version`. */
  readonly name: string;
  /** As the command line does: `--base-version`. */
  readonly flag: string;
  readonly form: Form;
  readonly required: boolean;
  /** May be given without its name. */
  readonly word: boolean;
  readonly choices: readonly string[];
  readonly description: string;
}

/** Texts that are written for others to read: they may also come from a file or standard input. */
const longTexts = new Set(["content", "text", "patch", "insert", "old", "new"]);

export function toolArguments(tool: ToolForm): ToolArgument[] {
  const { properties, required } = tool.input;
  const { verb } = verbOf(tool);
  return Object.entries(properties).map(([name, schema]) => {
    const form = formOf(name, schema);
    const simple = !["switch", "json", "texts", "lines"].includes(form);
    return {
      name,
      flag: flagOf(name),
      form,
      required: required.includes(name),
      word: simple && (required.includes(name) || subjects.has(name) || name === verb),
      choices: schema.enum ?? schema.items?.enum ?? [],
      description: describe(form, schema),
    };
  });
}

/** What every verb has an option for: a tool's own argument of that name is called otherwise. */
const taken = new Set(["actor", "home", "kernel", "json", "input", "help"]);

export function flagOf(name: string): string {
  return `--${taken.has(name) ? "of-" : ""}${name.replaceAll("_", "-")}`;
}

/** What a call is about, even where it may be left out. */
const subjects = new Set(["block_id", "path", "edit", "old"]);

/** The arguments that may be given without their names, in this order. The block comes first. */
export function wordsOf(args: readonly ToolArgument[]): ToolArgument[] {
  const words = args.filter(({ word }) => word);
  return words.toSorted((a, b) => Number(b.name === "block_id") - Number(a.name === "block_id"));
}

function formOf(name: string, schema: ArgumentSchema): Form {
  if (schema.anyOf !== undefined) return schema.anyOf.every(isPlain) ? "either" : "json";
  if (schema.enum !== undefined) return "choice";
  if (schema.type === "boolean") return "switch";
  if (schema.type === "integer" || schema.type === "number") return "number";
  if (schema.type === "string") return longTexts.has(name) ? "long text" : "text";
  if (schema.type === "array" && schema.items?.type === "string") return "texts";
  const parts = Object.keys(schema.properties ?? {});
  return parts.length === 2 && parts.includes("start") && parts.includes("end") ? "lines" : "json";
}

function isPlain({ type }: ArgumentSchema): boolean {
  return type === "string" || type === "integer";
}

function describe(form: Form, { description }: ArgumentSchema): string {
  if (form === "lines") return "lines, counted from 1, both ends included: 10:20, 10: or :20";
  const ways = {
    "long text": "a text, @file, or - for standard input",
    json: "JSON, @file, or - for standard input",
    texts: "may be given several times",
  };
  const way = form in ways ? ways[form as keyof typeof ways] : undefined;
  return [description, way].filter((part) => part !== undefined).join("; ");
}

/** What the command line said, as the tool wants it. */
export async function argumentValue(
  terminal: Terminal,
  argument: ToolArgument,
  raw: unknown,
): Promise<unknown> {
  if (typeof raw !== "string") return raw;
  switch (argument.form) {
    case "number":
      return wholeNumber(argument, raw);
    case "lines":
      return lineRange(argument, raw);
    case "json":
      return parseJson(argument.flag, await textFrom(terminal, raw));
    case "long text":
      return textFrom(terminal, raw);
    case "either":
      return /^\d{1,15}$/.test(raw) ? Number(raw) : raw;
    default:
      return raw;
  }
}

/** `@file` and `-` stand for what is in them; a text that begins with @ is written with two. */
export async function textFrom(terminal: Terminal, raw: string): Promise<string> {
  if (raw.startsWith("@@")) return raw.slice(1);
  if (raw !== "-" && !raw.startsWith("@")) return raw;
  const name = raw === "-" ? raw : raw.slice(1);
  try {
    return decodeNamed(await readNamedBytes(terminal, name), name);
  } catch (error) {
    if (!(error instanceof KumikoError) || name === "-") throw error;
    const sentence = `${error.message} (A text that begins with @ is written @@…)`;
    throw new KumikoError(error.code, sentence, error.facts, { cause: error });
  }
}

export function parseJson(flag: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new KumikoError("invalid_argument", `${flag} is not JSON: ${why}.`, { flag }, { cause });
  }
}

function wholeNumber({ flag }: ToolArgument, raw: string): number {
  if (/^\d{1,15}$/.test(raw)) return Number(raw);
  throw new KumikoError("invalid_argument", `${flag} takes a whole number, not "${raw}".`, {
    flag,
    value: raw,
  });
}

/** People name the first and the last line, counted from 1; tools count from 0 and name the line behind. */
function lineRange({ flag }: ToolArgument, raw: string): { start: number; end: number } {
  const match = /^(\d{0,9}):(\d{0,9})$/.exec(raw);
  const first = Number(match?.[1] || 1);
  const last = match?.[2] ? Number(match[2]) : Number.MAX_SAFE_INTEGER;
  if (match !== null && first > 0 && last >= first) return { start: first - 1, end: last };
  throw new KumikoError(
    "invalid_argument",
    `${flag} takes lines counted from 1, the first and the last, as in 10:20; "${raw}" is not that.`,
    { flag, value: raw },
  );
}
