import { Chunk } from "./chunk.ts";
import { BlockEnd, type PromptBlock } from "./prompt-block.ts";
import { type Item, ItemLeaf, type Sequence } from "./sequence.ts";

const FULL = 48;
/** The end of the block that is open at that place. Chunks are their width × 256 + their style. */
const END = 0;

/** Up to here, pieces of text are gathered before they are joined with the rest. */
const RECENT = 512;

/** A copy of it is made in no time, where growing an array takes longer than filling it. */
const BLANK: (PromptBlock | number)[] = Array.from({ length: FULL }, () => END);

const styles: string[] = [];
const codes = new Map<string, number>();
let lastStyle = "";
let lastCode = 0;

function codeOf(style: string): number {
  if (style === lastStyle) return lastCode;
  let code = codes.get(style);
  if (code === undefined) {
    styles.push(style);
    code = styles.length;
    codes.set(style, code);
  }
  lastStyle = style;
  lastCode = code;
  return code;
}

/**
 * What a parser wrote, before anyone looks at its chunks: one number for each of them, and the text of
 * all of them as one string. A tree of half a million chunks is read in a fraction of the time
 * that making them takes, and most are never asked for.
 *
 * Invariant: blocks that begin or end here have their parents unchanged until it is expanded,
 * because whatever moves a content asks for the items around it.
 */
export class TailLeaf extends ItemLeaf {
  #entries = BLANK.slice();
  #count = 0;
  #growth = 0;
  /** The block that is open at its beginning. */
  readonly #block: PromptBlock;
  #written = "";
  #recent = "";
  /** Text that was written but not copied: a part of what was fed. */
  #source = "";
  #from = 0;
  #to = 0;

  constructor(owner: Sequence, block: PromptBlock) {
    super(owner, null);
    this.#block = block;
  }

  get isFull(): boolean {
    return this.#count >= FULL;
  }

  begin(block: PromptBlock): void {
    this.#entries[this.#count++] = block;
    block.leaf = this;
  }

  finish(block: PromptBlock): void {
    this.#entries[this.#count++] = END;
    placeEnd(block, this);
  }

  write(source: string, from: number, to: number, style: string): void {
    this.#entries[this.#count++] = (to - from) * 256 + codeOf(style);
    this.#addText(source, from, to);
  }

  /** Adds to its last chunk, if that has this style. */
  extend(source: string, from: number, to: number, style: string): boolean {
    const last = this.#count - 1;
    const entry = this.#entries[last];
    if (typeof entry !== "number" || entry === END || entry % 256 !== codeOf(style)) return false;
    this.#entries[last] = entry + (to - from) * 256;
    this.#addText(source, from, to);
    return true;
  }

  /** Adds to its last chunk; only while it is the tip of its sequence. */
  goOn(text: string): void {
    this.#growth += text.length;
    if (this.#from !== this.#to) this.#settle();
    this.#recent += text;
    if (this.#recent.length > RECENT) this.#join();
  }

  takeGrowth(): number {
    const growth = this.#growth;
    this.#growth = 0;
    if (growth > 0)
      this.#entries[this.#count - 1] = (this.#entries[this.#count - 1] as number) + growth * 256;
    return growth;
  }

  #addText(source: string, from: number, to: number): void {
    if (from !== 0 && from === this.#to && source === this.#source) this.#to = to;
    else {
      this.#settle();
      this.#source = source;
      this.#from = from;
      this.#to = to;
    }
  }

  #settle(): void {
    if (this.#from === this.#to) return;
    const whole = this.#from === 0 && this.#to === this.#source.length;
    this.#recent += whole ? this.#source : this.#source.slice(this.#from, this.#to);
    this.#source = "";
    this.#from = this.#to = 0;
    if (this.#recent.length > RECENT) this.#join();
  }

  /** Nothing will be written to it any more. */
  seal(): void {
    this.#settle();
    this.#join();
  }

  #join(): void {
    // Looking at one character makes it one flat string: thousands of joints would outlive many collections.
    this.#recent.charCodeAt(0);
    this.#written += this.#recent;
    this.#recent = "";
  }

  override get text(): string {
    if (this.isExpanded) return super.text;
    this.#settle();
    this.#join();
    return this.#written;
  }

  override widthBefore(item: Item): number {
    if (this.isExpanded) return super.widthBefore(item);
    return this.#widthUntil((entry) => entry === item);
  }

  widthBeforeEnd(block: PromptBlock): number {
    return this.#widthUntil((entry, open) => entry === END && open === block);
  }

  #widthUntil(stop: (entry: PromptBlock | number, open: PromptBlock) => boolean): number {
    let open = this.#block;
    let width = 0;
    for (let index = 0; index < this.#count; index++) {
      const entry = this.#entries[index]!;
      if (stop(entry, open)) break;
      if (typeof entry !== "number") open = entry;
      else if (entry === END) open = open.parent!;
      else width += Math.floor(entry / 256);
    }
    return width;
  }

  protected override expand(): Item[] {
    this.owner.dropTip();
    const { text } = this;
    const items: Item[] = [];
    let open = this.#block;
    let at = 0;
    for (let index = 0; index < this.#count; index++) {
      const entry = this.#entries[index]!;
      if (typeof entry !== "number") {
        open = entry;
        items.push(entry);
      } else if (entry === END) {
        const { closing } = open;
        closing.leaf = this;
        items.push(closing);
        open = open.parent!;
      } else {
        const width = Math.floor(entry / 256);
        const chunk = new Chunk(text.slice(at, at + width), styles[(entry % 256) - 1]);
        (chunk as { parent: PromptBlock }).parent = open;
        chunk.leaf = this;
        items.push(chunk);
        at += width;
      }
    }
    this.#entries = [];
    this.#count = 0;
    this.#written = "";
    this.list = items;
    return items;
  }
}

/** The ends of all blocks that a parser has open, behind everything: no more than who is innermost. */
export class EndsLeaf extends ItemLeaf {
  innermost: PromptBlock;

  constructor(owner: Sequence, innermost: PromptBlock) {
    super(owner, null);
    this.innermost = innermost;
    for (const block of innermost.ancestors()) placeEnd(block, this);
  }

  override get text(): string {
    return this.isExpanded ? super.text : "";
  }

  protected override expand(): Item[] {
    const items: Item[] = [];
    this.owner.dropTip();
    for (const { closing } of this.innermost.ancestors()) {
      closing.leaf = this;
      items.push(closing);
    }
    this.list = items;
    return items;
  }
}

function placeEnd(block: PromptBlock, leaf: ItemLeaf): void {
  if (block.endMark instanceof BlockEnd) block.endMark.leaf = leaf;
  else block.endMark = leaf;
}
