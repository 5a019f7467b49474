import { KumikoError } from "../base/errors.ts";
import {
  type Attrs,
  type BlockFacts,
  type BlockInit,
  type BlockState,
  changedFacts,
  type FactChanges,
  factsOf,
  type Role,
} from "./block-facts.ts";
import type { Chunk, ChunkStyle } from "./chunk.ts";
import type { Edit, EditListener } from "./edits.ts";
import { freshId } from "./ids.ts";
import { blockAtPath, pathOf } from "./lookup.ts";
import { type Mutator, mutatorOf } from "./mutators.ts";
import { chunkAround, findAllIn, matchesIn } from "./search.ts";
import { Item, type ItemLeaf, sequenceOf } from "./sequence.ts";
import { loadContents, storeContent, type StoredTree } from "./stored.ts";
import { appendTo, deleteRange, insertAt, prependTo, replaceRange, splitAt } from "./text-edits.ts";
import { type Content, contentAfter, contentBefore, firstContent, Tree } from "./tree.ts";
import { moveBlock, putChild, takeChild } from "./tree-edits.ts";

export interface TextOptions {
  readonly logprob?: number | null | undefined;
  readonly style?: ChunkStyle | undefined;
  /** The text is source already: it is not escaped where its block's style would escape it. */
  readonly verbatim?: boolean | undefined;
}

/** Where a block ends. It has no width; it is there so that ends are found like everything else. */
export class BlockEnd extends Item {
  readonly block: PromptBlock;

  constructor(block: PromptBlock) {
    super();
    this.block = block;
  }

  get kind(): "end" {
    return "end";
  }
}

/**
 * A node of tree-structured text. It answers as if one string belonged to the root; where anything
 * stands is derived from the sequence of all chunks, blocks and ends, and stored nowhere.
 */
export class PromptBlock extends Item implements Disposable {
  readonly parent: PromptBlock | null = null;
  readonly ownRole: Role | null;
  /** The first one is its name: of an xml block its tag, of a heading its title, of a fence its language. */
  readonly tags: readonly string[];
  readonly style: readonly string[];
  readonly attrs: Attrs;
  readonly state: BlockState;
  /** The sequence's own: its end, or where that stands while nobody asked for it. */
  endMark: BlockEnd | ItemLeaf | null = null;
  #id: string | undefined;

  /** `facts` are taken as they are, without a copy: parsers make blocks by the hundred thousand. */
  constructor(init: string | BlockInit = {}, facts?: BlockFacts) {
    super();
    const { ownRole, tags, style, attrs, state } = facts ?? factsOf(init);
    this.ownRole = ownRole;
    this.tags = tags;
    this.style = style;
    this.attrs = attrs;
    this.state = state;
    const { id, text } = typeof init === "string" ? { id: undefined, text: init } : init;
    this.#id = id;
    if (facts === undefined && text !== undefined) this.append(text);
  }

  get kind(): "block" {
    return "block";
  }

  get id(): string {
    this.#id ??= freshId();
    return this.#id;
  }

  // ——— the tree

  /** Its own, or that of the nearest ancestor that has one. */
  get role(): Role | null {
    for (const block of this.ancestors()) if (block.ownRole !== null) return block.ownRole;
    return null;
  }

  get tree(): Tree {
    if (this.leaf === null) this.stand([this, this.closing]);
    return sequenceOf(this) as Tree;
  }

  /** The sequence's own: makes these items, from this block to its end, a tree of their own. */
  stand(items: Item[]): void {
    void new Tree(this, items);
  }

  get root(): PromptBlock {
    return this.tree.root;
  }

  /** The sequence's own. */
  get closing(): BlockEnd {
    if (this.endMark instanceof BlockEnd) return this.endMark;
    const closing = new BlockEnd(this);
    closing.leaf = this.endMark;
    this.endMark = closing;
    return closing;
  }

  get isRoot(): boolean {
    return this.parent === null;
  }

  get depth(): number {
    let depth = -1;
    for (const _ of this.ancestors()) depth++;
    return depth;
  }

  /** This block, its parent, and so on to the root. */
  *ancestors(): Generator<PromptBlock, void> {
    yield this;
    for (let block = this.parent; block !== null; block = block.parent) yield block;
  }

  /** Its chunks and children in the order of their text. */
  *contents(): Generator<Content, void> {
    if (this.leaf === null) return;
    for (
      let item = firstContent(this);
      item !== this.closing;
      item = contentAfter(item as Content)
    ) {
      yield item as Content;
    }
  }

  get children(): PromptBlock[] {
    return [...this.contents()].filter((content) => content.kind === "block");
  }

  /** Everything from its beginning to its end, both included. */
  walk(): Generator<Content | BlockEnd, void> {
    return this.tree.between(this, this.closing) as Generator<Content | BlockEnd, void>;
  }

  /** This block and all below it, in the order of their text. */
  *depthFirst(): Generator<PromptBlock, void> {
    for (const item of this.walk()) if (item.kind === "block") yield item;
  }

  get nextSibling(): PromptBlock | null {
    if (this.parent === null) return null;
    let item = contentAfter(this);
    while (item.kind === "chunk") item = contentAfter(item);
    return item.kind === "block" ? item : null;
  }

  get previousSibling(): PromptBlock | null {
    if (this.parent === null) return null;
    let item = contentBefore(this);
    while (item?.kind === "chunk") item = contentBefore(item);
    return item;
  }

  get siblings(): PromptBlock[] {
    return this.parent === null ? [] : this.parent.children.filter((block) => block !== this);
  }

  /** The first block of that tag: this one, or one below it. */
  byTag(tag: string): PromptBlock | null {
    for (const block of this.depthFirst()) if (block.tags.includes(tag)) return block;
    return null;
  }

  allByTag(tag: string): PromptBlock[] {
    return [...this.depthFirst()].filter((block) => block.tags.includes(tag));
  }

  /** A block or a chunk of this tree. */
  byId(id: string): Content | undefined {
    return this.tree.byId(id);
  }

  /** `0.2.1` by place among children, `answer.step[1]` by tag, or both mixed; `""` is this block. */
  at(path: string): PromptBlock | null {
    return blockAtPath(this, path);
  }

  /** From the root: `0.2.1`. */
  get path(): string {
    return pathOf(this);
  }

  // ——— the text

  get start(): number {
    return this.tree.startOf(this);
  }

  get end(): number {
    return this.tree.endOf(this);
  }

  get length(): number {
    return this.isRoot ? this.tree.width : this.end - this.start;
  }

  get text(): string {
    return this.isRoot ? this.tree.text : this.tree.textOf(this);
  }

  /** Its own text, without that of its children. Together with these it is the whole. */
  get chunks(): Chunk[] {
    return [...this.contents()].filter((content) => content.kind === "chunk");
  }

  /** What opens it, in its text; empty while it is logical. */
  get prefix(): string {
    return this.mutator.prefixText;
  }

  /** What stands between what opens and what closes it, children included. */
  get content(): string {
    return this.mutator.content;
  }

  get postfix(): string {
    return this.mutator.postfixText;
  }

  /** What it says: its content without escapes and comments, as whoever wrote it meant it. */
  get value(): string {
    return this.mutator.value;
  }

  /** Where a text first occurs, relative to this block, or -1. A match may cross blocks. */
  find(pattern: string, from = 0): number {
    return this.text.indexOf(pattern, from);
  }

  /** All places where it occurs, overlapping ones too. */
  findAll(pattern: string): number[] {
    return findAllIn(this.text, pattern);
  }

  regexFind(pattern: RegExp | string): RegExpExecArray[] {
    return matchesIn(this.text, pattern);
  }

  /** The chunk at an offset relative to this block: its own, or one below it. */
  chunkAt(offset: number): Chunk | null {
    return chunkAround(this, offset);
  }

  /** The innermost block at an offset relative to this block. */
  blockAt(offset: number): PromptBlock | null {
    return chunkAround(this, offset)?.parent ?? null;
  }

  chunksByStyle(style: ChunkStyle): Chunk[] {
    return this.chunks.filter((chunk) => chunk.style === style);
  }

  logprobAt(offset: number): number | null {
    return this.chunkAt(offset)?.logprob ?? null;
  }

  // ——— edits; where text goes is the mutator's to say

  get mutator(): Mutator {
    return mutatorOf(this);
  }

  /** At the end of its content, before what closes it. Null when there is nothing to add. */
  append(text: string, options: TextOptions = {}): Chunk | null {
    return appendTo(this, text, options);
  }

  prepend(text: string, options: TextOptions = {}): Chunk | null {
    return prependTo(this, text, options);
  }

  /** At an offset relative to this block, as it stands: nothing is escaped. */
  insert(offset: number, text: string, options: TextOptions = {}): Chunk | null {
    return insertAt(this, offset, text, options);
  }

  replace(start: number, end: number, text: string, options: TextOptions = {}): Chunk | null {
    return replaceRange(this, start, end, text, options);
  }

  /** Takes out text; blocks that are emptied stay. */
  delete(start: number, end: number): void {
    deleteRange(this, start, end);
  }

  /** What stands from the offset on becomes a block of the same kind behind this one. */
  split(offset: number): [PromptBlock, PromptBlock] {
    return [this, splitAt(this, offset)];
  }

  /** Splits behind the first place where the separator stands; null when it stands nowhere. */
  splitPrefix(separator: string | RegExp): [PromptBlock, PromptBlock] | null {
    const match = this.#separator(separator);
    return match === null ? null : this.split(match.index + match[0].length);
  }

  /** Splits before the first place where the separator stands. */
  splitPostfix(separator: string | RegExp): [PromptBlock, PromptBlock] | null {
    const match = this.#separator(separator);
    return match === null ? null : this.split(match.index);
  }

  #separator(separator: string | RegExp): RegExpExecArray | null {
    if (typeof separator !== "string") return matchesIn(this.text, separator)[0] ?? null;
    if (separator === "") throw new KumikoError("invalid_argument", "The separator is empty.");
    const index = this.find(separator);
    return index === -1 ? null : (Object.assign([separator], { index }) as RegExpExecArray);
  }

  appendChild(child: PromptBlock | BlockInit | string): PromptBlock {
    return putChild(this, "appendChild", child, null);
  }

  prependChild(child: PromptBlock | BlockInit | string): PromptBlock {
    return putChild(this, "prependChild", child, 0);
  }

  insertChild(index: number, child: PromptBlock | BlockInit | string): PromptBlock {
    return putChild(this, "insertChild", child, index);
  }

  /** Takes a child out with its text, or, with `keepText`, only the block around it. */
  removeChild(child: PromptBlock, { keepText = false }: { keepText?: boolean } = {}): PromptBlock {
    return takeChild(this, child, keepText);
  }

  /** Puts this block below another one of the same tree, at a place among its children. */
  move(target: PromptBlock, index?: number): void {
    moveBlock(this, target, index);
  }

  /** A tree of its own with everything below this block; with new ids unless they are kept. */
  copy({ keepIds = false }: { keepIds?: boolean } = {}): PromptBlock {
    return loadContents(storeContent(this), !keepIds)[0] as PromptBlock;
  }

  set(facts: FactChanges): void {
    this.tree.edit("set", () => this.tree.set(this, changedFacts(this, facts)));
  }

  // ——— building

  /** A child that is being written: `using section = parent.open("Rules", { style: "xml" })`. */
  open(title: string, init: BlockInit = {}): PromptBlock {
    return this.tree.edit("open", () => {
      const child = putChild(
        this,
        "open",
        new PromptBlock({ tags: [title], ...init, text: undefined }),
        null,
      );
      child.mutator.init(title);
      if (init.text !== undefined) child.append(init.text);
      return child;
    });
  }

  /** Writes what closes it. A block that is not open is left as it is. */
  close(): void {
    if (this.state === "open") this.mutator.commit();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  // ——— edits as events, and storing

  /** Told of every edit of the whole tree. */
  subscribe(listener: EditListener): Disposable {
    return this.tree.subscribe(listener);
  }

  /** Makes an edit that another tree recorded, or the inverse of one: all of it or nothing. */
  apply(edit: Edit): void {
    this.tree.apply(edit);
  }

  toJSON(): StoredTree {
    return { format: "kumiko-prompt", version: 1, items: storeContent(this) };
  }

  override toString(): string {
    return this.text;
  }
}
