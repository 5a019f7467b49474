import { KumikoError } from "../base/errors.ts";
import { decodeEntities, escapeAttribute, escapeXmlText } from "./entities.ts";
import { escapeMarkdown, unescapeMarkdown } from "./markdown-text.ts";
import { Mutator } from "./mutator.ts";
import type { PromptBlock } from "./prompt-block.ts";

export { Mutator };

interface MutatorClass {
  readonly styles: readonly string[];
  new (block: PromptBlock, inner: Mutator | null): Mutator;
}

class XmlMutator extends Mutator {
  static override readonly styles = ["xml"];

  override opening(title: string): string {
    const attrs = Object.entries(this.block.attrs).map(([name, value]) =>
      value === true
        ? ` ${xmlName(name)}`
        : ` ${xmlName(name)}="${escapeAttribute(String(value))}"`,
    );
    return `<${xmlName(title)}${attrs.join("")}>${this.inner?.opening("") ?? ""}`;
  }

  override closing(content: string): string {
    return `${super.closing(content)}</${xmlName(this.block.tags[0] ?? "")}>`;
  }

  override escape(text: string, before: string): string {
    return escapeXmlText(super.escape(text, before), before);
  }

  override unescape(text: string): string {
    return super.unescape(decodeEntities(text));
  }

  override get escapesBelow(): boolean {
    return true;
  }

  override get needsLine(): boolean {
    return false;
  }
}

/** A heading with what follows it. */
class MarkdownMutator extends Mutator {
  static override readonly styles = ["markdown"];

  override opening(title: string): string {
    const { level } = this.block.attrs;
    const wanted = typeof level === "number" ? level : headingDepth(this.block);
    const hashes = "#".repeat(Math.min(6, Math.max(1, wanted)));
    return `${hashes} ${title.replaceAll(/\s+/g, " ").trim()}\n${this.inner?.opening("") ?? ""}`;
  }

  override get separator(): string {
    return this.inner?.separator || "\n\n";
  }

  override get needsLine(): boolean {
    return true;
  }
}

class ParagraphMutator extends Mutator {
  static override readonly styles: readonly string[] = ["paragraph"];

  override opening(): string {
    return this.inner?.opening("") ?? "";
  }

  override escape(text: string, before: string): string {
    return escapeMarkdown(super.escape(text, before), before);
  }

  override unescape(text: string): string {
    return super.unescape(unescapeMarkdown(text));
  }

  override get separator(): string {
    return "\n";
  }
}

/** Its text begins behind a marker, where only hyphens could be taken for something else: a rule. */
class ItemMutator extends ParagraphMutator {
  static override readonly styles = ["item"];

  override escape(text: string, before: string): string {
    const escaped = super.escape(text, before);
    const isFirst = /(?:^|\n) *(?:-|\d+\.) $/.test(before);
    return isFirst ? escaped.replace(/^(?=\\+-|-[-\s]*(?:\n|$))/, "\\") : escaped;
  }

  override unescape(text: string): string {
    return super
      .unescape(`x${text}`)
      .slice(1)
      .replace(/^\\(?=\\*-)/, "");
  }
}

class ListMutator extends Mutator {
  static override readonly styles: readonly string[] = ["list", "bulleted"];

  override opening(): string {
    return this.inner?.opening("") ?? "";
  }

  override get separator(): string {
    return "\n";
  }

  override marker(_index: number): string {
    return "- ";
  }

  override get indent(): string {
    return "  ";
  }

  override get needsLine(): boolean {
    return true;
  }
}

class NumberedMutator extends ListMutator {
  static override readonly styles = ["numbered"];

  override marker(index: number): string {
    const { start } = this.block.attrs;
    return `${(typeof start === "number" ? start : 1) + index}. `;
  }

  override get indent(): string {
    return "   ";
  }
}

class CodeMutator extends Mutator {
  static override readonly styles = ["code"];

  override opening(title: string): string {
    return `${fenceFor(this.block.text)}${title.replaceAll(/[`<\n]/g, "")}\n`;
  }

  override closing(content: string): string {
    const opened = /^[`~]+/.exec(this.prefixText)?.[0] ?? fenceFor(content);
    return `${content === "" ? "" : "\n"}${opened}`;
  }

  /** Text may hold a fence of its own: the outer one is then made longer. */
  override commit(): void {
    const { block } = this;
    block.tree.edit("commit", () => {
      const needed = fenceFor(this.content);
      const [first] = block.chunks;
      const opened = /^`+/.exec(this.prefixText)?.[0];
      if (first !== undefined && opened !== undefined && needed.length > opened.length) {
        block.tree.rewrite(first, needed + first.text.slice(opened.length));
      }
      super.commit();
    });
  }

  override get isVerbatim(): boolean {
    return true;
  }

  override get needsLine(): boolean {
    return true;
  }
}

/** A document: parts that stand apart. */
class RootMutator extends Mutator {
  static override readonly styles = ["root"];

  override opening(): string {
    return this.inner?.opening("") ?? "";
  }

  override get separator(): string {
    return this.inner?.separator || "\n\n";
  }
}

/** Each content on lines of its own; composes with a style that opens and closes. */
class LinesMutator extends Mutator {
  static override readonly styles = ["lines"];

  override opening(): string {
    return "\n";
  }

  override closing(content: string): string {
    return content.endsWith("\n") || content === "" ? "" : "\n";
  }

  override get separator(): string {
    return "\n";
  }
}

const registry = new Map<string, MutatorClass>();

/** Makes a style known, or gives a known one another meaning. */
export function registerMutator(mutator: MutatorClass): void {
  for (const style of mutator.styles) registry.set(style, mutator);
}

for (const mutator of [
  Mutator,
  XmlMutator,
  MarkdownMutator,
  ParagraphMutator,
  ItemMutator,
  ListMutator,
  NumberedMutator,
  CodeMutator,
  RootMutator,
  LinesMutator,
]) {
  registerMutator(mutator);
}

/** A style that nobody registered is a word for whoever reads the tree, and does nothing. */
export function mutatorOf(block: PromptBlock): Mutator {
  let mutator: Mutator | null = null;
  for (let index = block.style.length - 1; index >= 0; index--) {
    const found = registry.get(block.style[index]!);
    if (found !== undefined) mutator = new found(block, mutator);
  }
  return mutator ?? new Mutator(block);
}

/** Longer than any run of backticks that begins a line of the text. */
function fenceFor(text: string): string {
  let length = 3;
  for (const [, run] of text.matchAll(/^ {0,3}(`{3,})/gm))
    length = Math.max(length, run!.length + 1);
  return "`".repeat(length);
}

function headingDepth(block: PromptBlock): number {
  let depth = 0;
  for (const above of block.ancestors()) if (above.style.includes("markdown")) depth++;
  return depth;
}

const NAME_START = /^[A-Za-z_]/;

/** Words as a tag or an attribute: `Tool calls` becomes `Tool_calls`. */
function xmlName(words: string): string {
  const name = words.trim().replaceAll(/[^\w.:-]+/g, "_");
  if (NAME_START.test(name)) return name;
  throw new KumikoError(
    "invalid_argument",
    `"${words}" cannot be a tag: it must begin with a letter or an underscore.`,
    { name: words },
  );
}
