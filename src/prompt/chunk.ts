import { freshId } from "./ids.ts";
import type { PromptBlock } from "./prompt-block.ts";
import { Item, sequenceOf } from "./sequence.ts";

/** Where in its block a chunk stands, or what it is: any other word may be used too. */
export type ChunkStyle =
  | "prefix"
  | "content"
  | "postfix"
  | "separator"
  | "comment"
  | "cdata"
  | "markup"
  | (string & {});

const REGIONS: ReadonlySet<string> = new Set([
  "prefix",
  "postfix",
  "separator",
  "comment",
  "markup",
  "cdata",
]);

/** Whether what a chunk says is its block's markup: written once and never escaped. */
export function isRegion(style: ChunkStyle | null): boolean {
  return style !== null && REGIONS.has(style);
}

export interface ChunkInit {
  readonly text: string;
  readonly logprob?: number | null | undefined;
  readonly style?: ChunkStyle | null | undefined;
  readonly id?: string | undefined;
}

/**
 * A stretch of a block's own text. The chunks of a block and its children, in order, are its whole
 * text: they neither overlap nor leave gaps, and none is empty.
 */
export class Chunk extends Item {
  /** The block whose text this is; null once it was taken out. */
  readonly parent: PromptBlock | null = null;
  readonly text: string;
  readonly logprob: number | null;
  readonly style: ChunkStyle | null;
  #id: string | undefined;

  constructor(
    text: string,
    style: ChunkStyle | null = null,
    logprob: number | null = null,
    id?: string,
  ) {
    super();
    this.text = text;
    this.style = style;
    this.logprob = logprob;
    this.#id = id;
  }

  get kind(): "chunk" {
    return "chunk";
  }

  get id(): string {
    this.#id ??= freshId();
    return this.#id;
  }

  override get width(): number {
    return this.text.length;
  }

  override get ownText(): string {
    return this.text;
  }

  get length(): number {
    return this.width;
  }

  /** Relative to its block, whose children's text counts too. */
  get start(): number {
    if (this.parent === null) return 0;
    return sequenceOf(this).startOf(this) - this.parent.start;
  }

  get end(): number {
    return this.start + this.width;
  }
}
