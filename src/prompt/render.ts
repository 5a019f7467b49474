import type { Role } from "./block-facts.ts";
import { type Chunk, isRegion } from "./chunk.ts";
import { Mutator } from "./mutator.ts";
import type { PromptBlock } from "./prompt-block.ts";

/** Where a stretch of rendered text comes from. Without a chunk it is what the block's style adds. */
export interface RenderedSpan {
  readonly start: number;
  readonly end: number;
  readonly block: PromptBlock;
  readonly chunk: Chunk | null;
  readonly role: Role | null;
  /** Only between others, with nothing to say of its own. */
  readonly isSeparator: boolean;
}

export interface Message {
  readonly role: Role;
  readonly content: string;
}

/** What a model reads, and where each part of it comes from. */
export class Rendered {
  readonly text: string;
  /** In order, without gaps: together they are the text. */
  readonly spans: readonly RenderedSpan[];
  readonly #blocks: ReadonlyMap<PromptBlock, { start: number; end: number }>;

  constructor(
    text: string,
    spans: readonly RenderedSpan[],
    blocks: ReadonlyMap<PromptBlock, { start: number; end: number }>,
  ) {
    this.text = text;
    this.spans = spans;
    this.#blocks = blocks;
  }

  /** What stands at an offset of the rendered text. */
  at(offset: number): RenderedSpan | null {
    let low = 0;
    let high = this.spans.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.spans[middle]!.end <= offset) low = middle + 1;
      else high = middle;
    }
    const span = this.spans[low];
    return span !== undefined && offset >= span.start ? span : null;
  }

  /** Where a block or a chunk stands in the rendered text; null: it is not in it. */
  rangeOf(content: PromptBlock | Chunk): { start: number; end: number } | null {
    if (content.kind === "block") return this.#blocks.get(content) ?? null;
    const span = this.spans.find(({ chunk }) => chunk === content);
    return span === undefined ? null : { start: span.start, end: span.end };
  }

  /** The text as messages, one for each stretch of one role; what has none is `other`'s. */
  messages(other: Role = "user"): Message[] {
    const messages: { role: Role; content: string }[] = [];
    let between = "";
    for (const { start, end, role, isSeparator } of this.spans) {
      const text = this.text.slice(start, end);
      if (isSeparator) {
        between += text;
        continue;
      }
      const last = messages.at(-1);
      if (last !== undefined && last.role === (role ?? other)) last.content += between + text;
      else messages.push({ role: role ?? other, content: text });
      between = "";
    }
    return messages;
  }
}

interface Level {
  readonly block: PromptBlock;
  readonly mutator: Mutator;
  readonly role: Role | null;
  readonly isLogical: boolean;
  /** What every further line begins with. */
  readonly indent: string;
  /** Who escapes its text, innermost first, and who escapes what stands below it. */
  readonly escapes: readonly Mutator[];
  readonly below: readonly Mutator[];
  readonly contentStart: number;
  children: number;
  last: "nothing" | "text" | "child";
  /** Whether the last child must end with a line. */
  isAfterLine: boolean;
}

/**
 * What a block says to a model: written blocks as they stand, logical ones with what their styles
 * add. Its input stays as it is, and rendering the tree that was parsed from the result changes nothing.
 */
export function render(block: PromptBlock): Rendered {
  return new Rendering().run(block);
}

/** Enough of the text before to know how its line begins. */
const TAIL = 32;

class Rendering {
  #text = "";
  readonly #spans: RenderedSpan[] = [];
  readonly #blocks = new Map<PromptBlock, { start: number; end: number }>();
  readonly #levels: Level[] = [];

  run(root: PromptBlock): Rendered {
    for (const item of root.walk()) {
      if (item.kind === "block") this.#begin(item);
      else if (item.kind === "chunk") this.#chunk(item);
      else this.#finish();
    }
    return new Rendered(this.#text, this.#spans, this.#blocks);
  }

  #begin(block: PromptBlock): void {
    const above = this.#levels.at(-1);
    const { mutator } = block;
    const role = block.ownRole ?? above?.role ?? (above === undefined ? block.role : null);
    let indent = above?.indent ?? "";
    if (above?.isLogical === true) {
      if (above.last !== "nothing") {
        this.#emit(above, above.mutator.separator, null, true);
        if (above.isAfterLine || mutator.needsLine) this.#startLine(above);
      }
      indent += above.mutator.indent;
    }
    const outer = above?.below ?? [];
    const own = outer.some((each) => each.constructor === mutator.constructor) ? [] : [mutator];
    const below = mutator.escapesBelow ? [...own, ...outer] : outer;
    const start = this.#text.length;
    const level: Level = {
      block,
      mutator,
      role,
      isLogical: block.state === "logical",
      indent,
      escapes: mutator.isVerbatim ? [] : [...own, ...outer],
      below: mutator.isVerbatim ? [] : below,
      contentStart: start,
      children: 0,
      last: "nothing",
      isAfterLine: false,
    };
    this.#levels.push(level);
    this.#blocks.set(block, { start, end: start });
    if (above !== undefined) {
      if (above.isLogical) this.#emit(level, above.mutator.marker(above.children), null, false);
      above.children++;
      above.last = "child";
      above.isAfterLine = mutator.needsLine;
    }
    // The tags of a block without a style are words for whoever looks for it, not for the model.
    if (level.isLogical && mutator.constructor !== Mutator) {
      this.#emit(level, mutator.opening(block.tags[0] ?? ""), null, false);
    }
    (level as { contentStart: number }).contentStart = this.#text.length;
  }

  #chunk(chunk: Chunk): void {
    const level = this.#levels.at(-1)!;
    const isMarkup = isRegion(chunk.style);
    if (level.isLogical && !isMarkup && level.last === "child") {
      this.#emit(level, level.mutator.separator, null, true);
      if (level.isAfterLine && !chunk.text.startsWith("\n")) this.#startLine(level);
    }
    let { text } = chunk;
    if (level.isLogical && !isMarkup) {
      const before = this.#text.slice(-TAIL);
      for (const mutator of level.escapes) text = mutator.escape(text, before);
    }
    this.#emit(level, text, chunk, chunk.style === "separator");
    level.last = "text";
  }

  #startLine(level: Level): void {
    if (!/(?:^|\n) *$/.test(this.#text.slice(-64))) this.#emit(level, "\n", null, true);
  }

  #finish(): void {
    const level = this.#levels.pop()!;
    if (level.isLogical) {
      const content = this.#text.slice(level.contentStart);
      this.#emit(level, level.mutator.closing(content), null, false);
    }
    this.#blocks.get(level.block)!.end = this.#text.length;
  }

  #emit(level: Level, text: string, chunk: Chunk | null, isSeparator: boolean): void {
    if (text === "") return;
    const start = this.#text.length;
    this.#text += level.indent === "" ? text : text.replaceAll("\n", `\n${level.indent}`);
    const { block, role } = level;
    this.#spans.push({ start, end: this.#text.length, block, chunk, role, isSeparator });
  }
}
