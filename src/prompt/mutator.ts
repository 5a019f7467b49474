import { Chunk, isRegion } from "./chunk.ts";
import type { BlockEnd, PromptBlock, TextOptions } from "./prompt-block.ts";
import { type Content, contentAfter, contentBefore, firstContent } from "./tree.ts";

/**
 * What a style does with its blocks: where content goes, what opens and closes them, what stands
 * between their contents, and what their text looks like to a model. A block with several styles has
 * a chain of mutators, the first style outermost; each asks the next for the rest.
 *
 * The regions (`opening`, `closing`, `separator`, `marker`, `escape`) are pure, so that rendering
 * says the same of a logical block as writing does.
 */
export class Mutator {
  /** The words in a block's `style` that ask for it. */
  static readonly styles: readonly string[] = ["default"];
  readonly block: PromptBlock;
  readonly inner: Mutator | null;

  constructor(block: PromptBlock, inner: Mutator | null = null) {
    this.block = block;
    this.inner = inner;
  }

  // ——— regions

  opening(title: string): string {
    return this.inner === null ? title : this.inner.opening(title);
  }

  closing(content: string): string {
    return this.inner?.closing(content) ?? "";
  }

  /** What stands between two of its contents, one of which is a child. */
  get separator(): string {
    return this.inner?.separator ?? "";
  }

  /** What stands at the beginning of one of its children. */
  marker(index: number): string {
    return this.inner?.marker(index) ?? "";
  }

  /** What every further line of its children begins with. */
  get indent(): string {
    return this.inner?.indent ?? "";
  }

  /** Its text as a model reads it. `before` is what stands to the left of it. */
  escape(text: string, before: string): string {
    return this.inner?.escape(text, before) ?? text;
  }

  unescape(text: string): string {
    return this.inner?.unescape(text) ?? text;
  }

  /** Whether text below it is escaped by it too. */
  get escapesBelow(): boolean {
    return this.inner?.escapesBelow ?? false;
  }

  /** Whether it must begin and end with a line. */
  get needsLine(): boolean {
    return this.inner?.needsLine ?? false;
  }

  /** Whether its text stands for itself: no style around it escapes it. */
  get isVerbatim(): boolean {
    return this.inner?.isVerbatim ?? false;
  }

  // ——— what stands in the text

  get prefixText(): string {
    return this.#textBetween(firstContent, () => this.contentStart);
  }

  get postfixText(): string {
    return this.#textBetween(
      () => this.contentEnd,
      (block) => block.closing,
    );
  }

  get content(): string {
    return this.#textBetween(
      () => this.contentStart,
      () => this.contentEnd,
    );
  }

  /** All that opens it, and its content as far as it is text. */
  get head(): string {
    const { children, text } = this.block;
    const [first] = children;
    return first === undefined
      ? text.slice(0, text.length - this.postfixText.length)
      : text.slice(0, first.start - this.block.start);
  }

  get body(): PromptBlock[] {
    return this.block.children;
  }

  get openingTag(): string {
    return this.prefixText;
  }

  get closingTag(): string {
    return this.postfixText;
  }

  get value(): string {
    const { block } = this;
    let value = "";
    // Escapes may stand across chunks, which are where a stream was cut.
    let run = "";
    const settle = (): void => {
      value += block.state === "logical" ? run : this.unescape(run);
      run = "";
    };
    for (const content of block.contents()) {
      if (content.kind === "chunk" && !isRegion(content.style)) {
        run += content.text;
        continue;
      }
      settle();
      if (content.kind === "block") value += valueWithin(this, content);
      else if (content.style === "cdata" || content.style === "separator") value += content.text;
    }
    settle();
    return value;
  }

  /** Where content begins and ends: behind what opens the block, before what closes it. */
  get contentStart(): Content | BlockEnd {
    let place = firstContent(this.block);
    while (place.kind === "chunk" && place.style === "prefix") place = contentAfter(place);
    return place;
  }

  get contentEnd(): Content | BlockEnd {
    let place: Content | BlockEnd = this.block.closing;
    for (;;) {
      const before = contentBefore(place);
      if (before?.kind !== "chunk" || before.style !== "postfix") return place;
      place = before;
    }
  }

  // ——— writing

  /** Writes what opens the block; from now on its text is what a model reads. */
  init(title?: string, attrs?: PromptBlock["attrs"]): void {
    const { block } = this;
    block.tree.edit("init", () => {
      const name = title ?? block.tags[0] ?? "";
      block.set({
        state: "open",
        ...(title !== undefined && block.tags[0] !== title && { tags: [title, ...block.tags] }),
        ...(attrs !== undefined && { attrs }),
      });
      this.#put(firstContent(block), block.mutator.opening(name), "prefix");
    });
  }

  /** Writes what closes it. Content that comes later still goes before that. */
  commit(_title?: string): void {
    const { block } = this;
    block.tree.edit("commit", () => {
      this.#put(block.closing, block.mutator.closing(this.content), "postfix");
      block.set({ state: "closed" });
    });
  }

  append(text: string, options: TextOptions = {}): Chunk {
    const place = this.contentEnd;
    const before = contentBefore(place);
    if (before?.kind === "block") {
      this.#separate(place);
      if (before.mutator.needsLine && !text.startsWith("\n")) this.#startLine(place);
    }
    return this.write(place, text, options);
  }

  prepend(text: string, options: TextOptions = {}): Chunk {
    const place = this.contentStart;
    const chunk = this.write(place, text, options);
    if (place.kind === "block") this.#separate(place);
    return chunk;
  }

  /** Puts text at a place of the block, as its style wants it. */
  write(place: Content | BlockEnd, text: string, options: TextOptions = {}): Chunk {
    const { block } = this;
    const { style = "content", logprob = null, verbatim = false } = options;
    const source = verbatim || block.state === "logical" ? text : writtenText(block, text, place);
    const chunk = new Chunk(source, style, logprob);
    block.tree.splice(block, place, 0, [chunk]);
    return chunk;
  }

  appendChild(child: PromptBlock): PromptBlock {
    this.insertChild(child, null);
    return child;
  }

  /** Before another child, or behind all content. */
  insertChild(child: PromptBlock, before: PromptBlock | null): void {
    const { block } = this;
    const place = before ?? this.contentEnd;
    const isBehindContent = before === null && place !== this.contentStart;
    if (isBehindContent) {
      const last = contentBefore(place);
      this.#separate(place);
      const isAfterLine = last?.kind === "block" && last.mutator.needsLine;
      if (isAfterLine || child.mutator.needsLine) this.#startLine(place);
    }
    block.tree.splice(block, place, 0, [child]);
    if (before !== null) this.#separate(before);
    if (block.state !== "logical") this.#mark(child);
  }

  removeChild(child: PromptBlock): void {
    const { block } = this;
    const { tree } = block;
    const before = contentBefore(child);
    const after = contentAfter(child);
    for (const beside of [before, after]) {
      if (beside?.kind === "chunk" && beside.style === "separator") {
        tree.splice(block, beside, 1, []);
        break;
      }
    }
    const following = child.nextSibling;
    this.#unmark(child);
    tree.splice(block, child, 1, []);
    if (following !== null && block.state !== "logical") this.#renumber(following);
  }

  #separate(place: Content | BlockEnd): void {
    const { block } = this;
    const { separator } = block.mutator;
    if (block.state !== "logical") this.#put(place, separator, "separator");
  }

  #startLine(place: Content | BlockEnd): void {
    if (this.block.state === "logical") return;
    const tail = tailBefore(place);
    if (tail !== "" && !tail.endsWith("\n")) this.#put(place, "\n", "separator");
  }

  #mark(child: PromptBlock): void {
    const marker = this.block.mutator.marker(indexOf(child));
    if (marker === "" || isMarkedAlready(child)) return;
    child.tree.splice(child, firstContent(child), 0, [new Chunk(marker, "prefix")]);
    const { nextSibling } = child;
    if (nextSibling !== null) this.#renumber(nextSibling);
  }

  #unmark(child: PromptBlock): void {
    const first = firstContent(child);
    if (this.block.state === "logical" || this.block.mutator.marker(0) === "") return;
    if (first.kind === "chunk" && first.style === "prefix") child.tree.splice(child, first, 1, []);
  }

  #renumber(from: PromptBlock): void {
    const { mutator } = this.block;
    if (mutator.marker(0) === mutator.marker(1)) return;
    let index = indexOf(from);
    for (let child: PromptBlock | null = from; child !== null; child = child.nextSibling) {
      const first = firstContent(child);
      const marker = mutator.marker(index++);
      if (first.kind === "chunk" && first.style === "prefix" && first.text !== marker) {
        child.tree.rewrite(first, marker);
      }
    }
  }

  #put(place: Content | BlockEnd, text: string, style: string): void {
    if (text === "") return;
    this.block.tree.splice(this.block, place, 0, [new Chunk(text, style)]);
  }

  #textBetween(
    first: (block: PromptBlock) => Content | BlockEnd,
    last: (block: PromptBlock) => Content | BlockEnd,
  ): string {
    const { block } = this;
    if (block.leaf === null) return "";
    let text = "";
    const end = last(block);
    for (let item = first(block); item !== end && item.kind !== "end"; item = contentAfter(item)) {
      text += item.text;
    }
    return text;
  }
}

/** A child whose text its parent's style unescapes, such as plain text inside a tag. */
function valueWithin(mutator: Mutator, child: PromptBlock): string {
  if (child.mutator.isVerbatim) return child.text;
  return child.state === "logical" && mutator.escapesBelow && mutator.block.state !== "logical"
    ? mutator.unescape(child.value)
    : child.value;
}

function isMarkedAlready(child: PromptBlock): boolean {
  const first = firstContent(child);
  return first.kind === "chunk" && first.style === "prefix" && child.state === "logical";
}

function indexOf(child: PromptBlock): number {
  let index = 0;
  for (let before = child.previousSibling; before !== null; before = before.previousSibling)
    index++;
  return index;
}

/** Text as it stands in a written block: escaped by its own style, and by those around it that do so. */
function writtenText(block: PromptBlock, text: string, place: Content | BlockEnd): string {
  let written = text;
  let indent = "";
  let isStopped = false;
  const before = tailBefore(place);
  const done = new Set<unknown>();
  for (const each of block.ancestors()) {
    const { mutator } = each;
    if (mutator.isVerbatim) isStopped = true;
    const applies = each === block || (mutator.escapesBelow && each.state !== "logical");
    if (!isStopped && applies && !done.has(mutator.constructor)) {
      written = mutator.escape(written, before);
      done.add(mutator.constructor);
    }
    if (each !== block && each.state !== "logical") indent += mutator.indent;
  }
  return indent === "" ? written : written.replaceAll("\n", `\n${indent}`);
}

const TAIL = 32;

/** The last characters before a place: enough to know how its line begins. */
function tailBefore(place: Content | BlockEnd): string {
  let tail = "";
  for (
    let item = contentBefore(place);
    item !== null && tail.length < TAIL;
    item = contentBefore(item)
  ) {
    tail = item.text.slice(-TAIL) + tail;
  }
  return tail;
}
