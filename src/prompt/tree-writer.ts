import type { Attrs, BlockFacts, BlockInit } from "./block-facts.ts";
import { Chunk } from "./chunk.ts";
import type { IdSource } from "./ids.ts";
import type { Ending, ParseEvent } from "./parse-events.ts";
import { PromptBlock } from "./prompt-block.ts";
import type { TailLeaf } from "./tail-leaf.ts";
import type { Tree } from "./tree.ts";
import type { Writable } from "./writable.ts";

interface WriterOptions {
  readonly style?: readonly string[];
  readonly id?: string | undefined;
  readonly ids?: IdSource | undefined;
  readonly onEvent?: ((event: ParseEvent) => void) | undefined;
}

const NO_TAGS: readonly string[] = Object.freeze([]);
const NO_ATTRS: Attrs = Object.freeze({});
const NO_INIT: BlockInit = Object.freeze({});

/**
 * Writes a tree from left to right and tells what it does. Pieces without a logprob become one chunk
 * where they stand side by side, so that the tree does not depend on how its text was cut.
 */
export class TreeWriter {
  readonly root: PromptBlock;
  readonly #tree: Tree;
  #block: PromptBlock;
  /** The style of what was written last, while text without a logprob may still belong to it. */
  #run: string | null = null;
  readonly #facts: Writable<BlockFacts> = {
    ownRole: null,
    tags: NO_TAGS,
    style: NO_TAGS,
    attrs: NO_ATTRS,
    state: "open",
  };
  /** Whether every piece must be made known or named. */
  readonly #isTold: boolean;
  readonly #ids: IdSource | undefined;
  readonly #onEvent: ((event: ParseEvent) => void) | undefined;
  /** For each open block its path and how many children it has; kept only for events. */
  readonly #places: { path: string; children: number }[] = [];

  constructor({ style = ["root"], id, ids, onEvent }: WriterOptions) {
    this.#ids = ids;
    this.#onEvent = onEvent;
    this.#isTold = onEvent !== undefined || ids !== undefined;
    this.root = new PromptBlock({ style, state: "open", id: id ?? ids?.() });
    this.#tree = this.root.tree;
    this.#block = this.root;
    this.#opened();
  }

  get block(): PromptBlock {
    return this.#block;
  }

  open(
    style: readonly string[],
    tags: readonly string[] = NO_TAGS,
    attrs: Attrs = NO_ATTRS,
    id = this.#ids?.(),
  ): PromptBlock {
    const facts = this.#facts;
    facts.tags = tags;
    facts.style = style;
    facts.attrs = attrs;
    const block = new PromptBlock(id === undefined ? NO_INIT : { id }, facts);
    this.#tree.begin(this.#block, block);
    this.#block = block;
    this.#run = null;
    this.#opened();
    return block;
  }

  /** Adds content to what was written last, where nobody has to be told; otherwise it does nothing. */
  goOn(text: string): boolean {
    const tip = this.#tree.tip as TailLeaf | null;
    if (tip === null || this.#run !== "content" || this.#isTold) return false;
    tip.goOn(text);
    return true;
  }

  /** A part of what was fed. */
  write(source: string, from: number, to: number, style: string, logprob: number | null): void {
    const block = this.#block;
    if (this.#ids !== undefined || logprob !== null) {
      this.#writeChunk(source.slice(from, to), style, logprob);
    } else {
      this.#tree.write(block, source, from, to, style, this.#run === style);
    }
    this.#run = logprob === null ? style : null;
    if (this.#onEvent === undefined) return;
    const { path } = this.#places.at(-1)!;
    const text = source.slice(from, to);
    this.#onEvent({ type: "delta", id: block.id, path, text, style, logprob });
  }

  /** With an id or a logprob of its own. */
  #writeChunk(text: string, style: string, logprob: number | null): void {
    const block = this.#block;
    if (logprob === null && this.#run === style)
      this.#tree.write(block, text, 0, text.length, style, true);
    else this.#tree.writeChunk(block, new Chunk(text, style, logprob, this.#ids?.()));
  }

  /** Ends the innermost block. */
  close(ending: Ending): void {
    const block = this.#block;
    (block as { state: PromptBlock["state"] }).state = "closed";
    this.#tree.finish(block);
    this.#block = block.parent ?? block;
    this.#run = null;
    if (this.#onEvent === undefined) return;
    const { path } = this.#places.pop()!;
    this.#onEvent({ type: "close", id: block.id, path, ending });
  }

  #opened(): void {
    if (this.#onEvent === undefined) return;
    const { id, tags, style, attrs } = this.#block;
    const above = this.#places.at(-1);
    const place = above === undefined ? "" : String(above.children++);
    const path = above === undefined || above.path === "" ? place : `${above.path}.${place}`;
    this.#places.push({ path, children: 0 });
    this.#onEvent({ type: "open", id, path, tags, style, attrs });
  }
}
