import { KumikoError } from "../base/index.ts";
import {
  type Diagnostic,
  MarkdownParser,
  type ParseEvent,
  prompt,
  type PromptBlock,
  render,
  XmlParser,
} from "../prompt/index.ts";
import { printJson, styled } from "./answer.ts";
import { exitCode } from "./exit-code.ts";
import { decodeNamed, readNamedBytes } from "./input.ts";
import type { Terminal } from "./terminal.ts";

type Format = "xml" | "markdown" | "tree";

interface PromptFlags {
  readonly json: boolean;
  readonly format?: string;
}

export interface ParseFlags extends PromptFlags {
  readonly tags?: string;
  readonly events: boolean;
}

export interface RenderFlags extends PromptFlags {
  readonly messages: boolean;
}

/** Shows the tree of a text; findings of the parser make the exit code 1. */
export async function runParse(
  terminal: Terminal,
  name: string,
  flags: ParseFlags,
): Promise<number> {
  const text = decodeNamed(await readNamedBytes(terminal, name), name);
  const format = formatOf(name, flags.format, text);
  if (format === "tree") throw refused("--format", "a stored tree is parsed already; render it");
  if (flags.tags !== undefined && format === "markdown") {
    throw refused("--tags", "Markdown has no tags");
  }
  const events: ParseEvent[] = [];
  const onEvent = flags.events ? (event: ParseEvent) => void events.push(event) : undefined;
  const tags = flags.tags?.split(",").map((tag) => tag.trim());
  const parser =
    format === "xml" ? new XmlParser({ tags, onEvent }) : new MarkdownParser({ onEvent });
  parser.feed(text);
  const { tree, diagnostics } = parser.end();
  if (flags.json) {
    await printJson(terminal, { ok: true, tree, diagnostics, ...(flags.events && { events }) });
  } else if (flags.events) {
    await terminal.print(events.map((event) => `${JSON.stringify(event)}\n`).join(""));
  } else await terminal.print(outline(terminal, tree));
  if (!flags.json) await terminal.complain(diagnostics.map((each) => told(each, text)).join(""));
  return diagnostics.length === 0 ? exitCode.fine : exitCode.different;
}

/** Prints what a model would read of a stored tree, or of a text that is parsed first. */
export async function runRender(
  terminal: Terminal,
  name: string,
  flags: RenderFlags,
): Promise<number> {
  const text = decodeNamed(await readNamedBytes(terminal, name), name);
  const rendered = render(treeOf(name, text, formatOf(name, flags.format, text)));
  const messages = rendered.messages();
  if (flags.json) await printJson(terminal, { ok: true, text: rendered.text, messages });
  else if (flags.messages) {
    const parts = messages.map(
      ({ role, content }) => `${styled(terminal, "bold", `${role}:`)}\n${content}\n`,
    );
    await terminal.print(parts.join("\n"));
  } else await terminal.print(rendered.text);
  return exitCode.fine;
}

function treeOf(name: string, text: string, format: Format): PromptBlock {
  if (format === "xml") return prompt.fromXml(text);
  if (format === "markdown") return prompt.fromMarkdown(text);
  try {
    const read: unknown = JSON.parse(text);
    const answer = Object(read) as { readonly tree?: unknown };
    return prompt.fromJSON((answer.tree ?? read) as Parameters<typeof prompt.fromJSON>[0]);
  } catch (cause) {
    if (cause instanceof KumikoError) throw cause;
    throw new KumikoError("file_unreadable", `${name} is not JSON.`, { path: name }, { cause });
  }
}

const FORMATS: readonly string[] = ["xml", "markdown", "tree"];

function formatOf(name: string, asked: string | undefined, text: string): Format {
  if (asked !== undefined) {
    if (FORMATS.includes(asked)) return asked as Format;
    throw refused("--format", `it is one of ${FORMATS.join(", ")}`);
  }
  if (/\.(?:md|markdown)$/i.test(name)) return "markdown";
  if (/\.json$/i.test(name) || /^\s*\{\s*"(?:ok|format)"/.test(text)) return "tree";
  return "xml";
}

function outline(terminal: Terminal, tree: PromptBlock): string {
  let lines = "";
  for (const block of tree.depthFirst()) {
    const name = [block.style.join("+"), ...block.tags].filter((word) => word !== "").join(" ");
    const attrs = Object.keys(block.attrs).length === 0 ? "" : ` ${JSON.stringify(block.attrs)}`;
    const range = styled(terminal, "dim", ` ${block.start}–${block.end}`);
    const said = block.children.length > 0 ? "" : ` ${shortened(block.value)}`;
    lines += `${"  ".repeat(block.depth)}${name}${attrs}${range}${said}\n`;
  }
  return lines;
}

const SHOWN = 60;

function shortened(text: string): string {
  return JSON.stringify(text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text);
}

function told({ message, offset }: Diagnostic, text: string): string {
  const before = text.slice(0, offset).split("\n");
  return `line ${before.length}, column ${before.at(-1)!.length + 1}: ${message}\n`;
}

function refused(option: string, why: string): KumikoError {
  return new KumikoError("invalid_argument", `${option} does not fit here: ${why}.`, { option });
}
