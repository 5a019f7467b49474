import { FenceScan } from "./fence-scan.ts";
import { classifyLine, type Line } from "./markdown-line.ts";
import type { Diagnostic, Parsed } from "./parse-events.ts";
import type { PromptBlock } from "./prompt-block.ts";
import { Source } from "./source.ts";
import { TreeWriter } from "./tree-writer.ts";
import type { ParserOptions } from "./xml-parser.ts";

/** Blank lines beyond this are not kept waiting for what follows them. */
const LONGEST_GAP = 4_096;

const styles = {
  section: Object.freeze(["markdown"]),
  paragraph: Object.freeze(["paragraph"]),
  list: Object.freeze(["list"]),
  numbered: Object.freeze(["numbered"]),
  item: Object.freeze(["item"]),
  code: Object.freeze(["code"]),
  table: Object.freeze(["table"]),
  rule: Object.freeze(["rule"]),
} as const;

type Kind = "root" | keyof typeof styles;

interface Open {
  readonly kind: Kind;
  /** Of a section its level; of a list where its markers stand; of an item where its content does. */
  readonly level: number;
  /** The marker of a list, without its number. */
  readonly marker?: string;
}

/**
 * Reads Markdown as models write it, piece by piece: headings with what belongs to them, paragraphs,
 * lists, fences, tables and rules; everything inside a line is text. It never throws and loses
 * nothing: the text of the tree is always the input.
 *
 * What lies between blocks (newlines, indentation) is a separator of the block around them. A heading
 * that is only known by the line below it is text, because a stream cannot wait for it.
 */
export class MarkdownParser {
  readonly #writer: TreeWriter;
  readonly #source = new Source();
  readonly #fence = new FenceScan({ tags: false });
  readonly #diagnostics: Diagnostic[] = [];
  readonly #open: Open[] = [{ kind: "root", level: 0 }];
  #mode: "gap" | "text" | "fence" = "gap";
  /** How much of the gap was looked at, and how many lines end in it. */
  #gap = 0;
  #newlines = 0;
  /** Whether a line begins without a newline before it: at the start, and behind a heading. */
  #isLineStart = true;
  #ended = false;

  constructor({ onEvent, ids }: ParserOptions = {}) {
    this.#writer = new TreeWriter({ onEvent, ids });
  }

  /** As far as it has been read. */
  get tree(): PromptBlock {
    return this.#writer.root;
  }

  get diagnostics(): readonly Diagnostic[] {
    return this.#diagnostics;
  }

  feed(text: string, logprob: number | null = null): void {
    if (text === "" || this.#ended) return;
    this.#source.add(text, logprob);
    this.#read(false);
  }

  end(): Parsed {
    if (!this.#ended) {
      this.#ended = true;
      this.#read(true);
      this.#finish();
    }
    return { tree: this.tree, diagnostics: this.#diagnostics };
  }

  #read(isLast: boolean): void {
    const source = this.#source;
    while (source.at < source.text.length) {
      const { at } = source;
      const mode = this.#mode;
      if (mode === "gap") this.#readGap(isLast);
      else if (mode === "text") this.#readText();
      else this.#readFence(isLast);
      if (source.at === at && this.#mode === mode) return;
    }
  }

  /** The rest of a line is the text of the block that it belongs to. */
  #readText(): void {
    const source = this.#source;
    const newline = source.text.indexOf("\n", source.at);
    source.take(newline === -1 ? source.text.length : newline, "content", this.#writer);
    if (newline !== -1) this.#beginGap(false);
  }

  #beginGap(isLineStart: boolean): void {
    this.#mode = "gap";
    this.#gap = 0;
    this.#newlines = 0;
    this.#isLineStart = isLineStart;
  }

  /** From the end of a line to the first character that says what the next one is. */
  #readGap(isLast: boolean): void {
    const source = this.#source;
    const { text, at } = source;
    let index = at + this.#gap;
    const limit = Math.min(text.length, at + LONGEST_GAP);
    for (; index < limit; index++) {
      const char = text[index];
      if (char === "\n") this.#newlines++;
      else if (char !== " " && char !== "\t" && char !== "\r") break;
    }
    this.#gap = index - at;
    if (this.#gap >= LONGEST_GAP) {
      this.#closeTo((open) => open.kind === "section");
      source.take(index, "separator", this.#writer);
      this.#beginGap(true);
      return;
    }
    if (index === text.length) {
      if (isLast) this.#closeTo((open) => open.kind === "section");
      if (isLast) source.take(index, "separator", this.#writer);
      return;
    }
    const lineStart = Math.max(at, text.lastIndexOf("\n", index - 1) + 1);
    const line = classifyLine(source, index, this.#fence, isLast);
    if (line !== null) this.#take(line, index, index - lineStart);
  }

  #take(line: Line, index: number, indent: number): void {
    const isBlank = this.#newlines > 1 || (this.#isLineStart && this.#newlines > 0);
    const inner = this.#open.at(-1)!;
    const goesOn = !isBlank && !this.#isLineStart;
    if (line.kind === "text" || !this.#interrupts(line, inner, goesOn, indent)) {
      this.#takeText(index, indent, goesOn, isBlank);
      return;
    }
    switch (line.kind) {
      case "heading":
        this.#closeTo((open) => open.kind === "section" && open.level < line.level);
        this.#begin(index, "section", line.level, [line.title], { level: line.level });
        this.#source.take(line.end, "prefix", this.#writer);
        this.#beginGap(true);
        return;
      case "fence":
        this.#closeTo((open) => open.kind === "section" || holds(open, indent));
        this.#begin(index, "code", 0, line.language === "" ? [] : [line.language]);
        this.#fence.indent = indent + 3;
        this.#source.take(line.end, "prefix", this.#writer);
        this.#mode = "fence";
        return;
      case "table":
        if (inner.kind === "table" && goesOn) {
          this.#source.take(index, "content", this.#writer);
        } else {
          this.#closeTo((open) => open.kind === "section" || holds(open, indent));
          this.#begin(index, "table", 0);
        }
        this.#mode = "text";
        return;
      case "rule":
        this.#closeTo((open) => open.kind === "section");
        this.#begin(index, "rule", 0);
        this.#mode = "text";
        return;
      case "marker":
        this.#takeMarker(line, index, indent);
    }
  }

  /** A number other than 1 does not end a paragraph, nor does anything indented like code. */
  #interrupts(line: Line, inner: Open, goesOn: boolean, indent: number): boolean {
    if (line.kind === "marker") {
      const isText =
        goesOn && inner.kind === "paragraph" && line.number !== null && line.number !== 1;
      return !isText;
    }
    const deepest = this.#open.findLast(({ kind }) => kind === "item")?.level ?? 0;
    return indent <= deepest + 3;
  }

  #takeText(index: number, indent: number, goesOn: boolean, isBlank: boolean): void {
    const inner = this.#open.at(-1)!;
    if (goesOn && (inner.kind === "paragraph" || inner.kind === "item")) {
      this.#source.take(index, "content", this.#writer);
    } else {
      this.#closeTo((open) => open.kind === "section" || (isBlank && holds(open, indent)));
      this.#begin(index, "paragraph", 0);
    }
    this.#mode = "text";
  }

  #takeMarker(line: Line & { kind: "marker" }, index: number, indent: number): void {
    const kind = line.number === null ? "list" : "numbered";
    this.#closeTo(
      (open) =>
        open.kind === "section" ||
        holds(open, indent) ||
        ((open.kind === "list" || open.kind === "numbered") &&
          open.level <= indent &&
          indent < open.level + 2),
    );
    const inner = this.#open.at(-1)!;
    if (inner.kind !== kind || inner.marker !== line.marker) {
      if (inner.kind === "list" || inner.kind === "numbered") this.#close();
      const attrs = line.number === null || line.number === 1 ? {} : { start: line.number };
      this.#begin(index, kind, indent, [], attrs, line.marker);
    } else this.#source.take(index, "separator", this.#writer);
    this.#begin(index, "item", indent + line.end - index);
    this.#source.take(line.end, "prefix", this.#writer);
    this.#mode = "text";
  }

  /** Closes blocks until the innermost one is such; the root is the last. */
  #closeTo(isKept: (open: Open) => boolean): void {
    while (this.#open.length > 1 && !isKept(this.#open.at(-1)!)) this.#close();
  }

  #close(): void {
    this.#open.pop();
    this.#writer.close("closed");
  }

  #begin(
    index: number,
    kind: Exclude<Kind, "root">,
    level: number,
    tags: readonly string[] = [],
    attrs: PromptBlock["attrs"] = {},
    marker?: string,
  ): void {
    this.#source.take(index, "separator", this.#writer);
    this.#writer.open(styles[kind], tags, attrs);
    this.#open.push({ kind, level, ...(marker !== undefined && { marker }) });
  }

  #readFence(isLast: boolean): void {
    const source = this.#source;
    const line = this.#fence.line(source, isLast);
    source.take(line.content, "content", this.#writer);
    if (line.end === -1) return;
    source.take(line.end, "postfix", this.#writer);
    this.#close();
    this.#beginGap(false);
  }

  #finish(): void {
    if (this.#mode === "fence") {
      const { start } = this.#writer.block;
      const message = "A code fence is still open where the input ends.";
      this.#diagnostics.push({ code: "truncated", message, offset: start });
      this.#open.pop();
      this.#writer.close("truncated");
    }
    while (this.#open.length > 0) this.#close();
  }
}

/** Whether what is indented that far belongs to an item. */
function holds(open: Open, indent: number): boolean {
  return open.kind === "item" && indent >= open.level;
}

/** The tree of a whole text. */
export function parseMarkdown(text: string, options: ParserOptions = {}): Parsed {
  const parser = new MarkdownParser(options);
  parser.feed(text);
  return parser.end();
}
