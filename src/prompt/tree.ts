import { KumikoError } from "../base/errors.ts";
import type { BlockFacts } from "./block-facts.ts";
import { Chunk } from "./chunk.ts";
import type { Edit, EditListener, Step } from "./edits.ts";
import type { BlockEnd, PromptBlock } from "./prompt-block.ts";
import { type Item, type ItemLeaf, nextItem, previousItem, Sequence } from "./sequence.ts";
import { loadContents, storeChunk, storeContent, type StoredItem } from "./stored.ts";
import { EndsLeaf, TailLeaf } from "./tail-leaf.ts";
import type { Writable } from "./writable.ts";

/** How many items a parser makes one by one after somebody looked at the end of its tree. */
const PLAIN_WRITES = 64;

/** What stands in a block: its own text and its children. */
export type Content = Chunk | PromptBlock;

/**
 * Everything below one root, and the only place that changes it: `splice`, and `rewrite` of one
 * chunk, which is recorded as the splice that it is.
 *
 * Invariants: what stands between a block and its end is its content; a content's `parent` is the
 * block around it; every change is in the edit that listeners are told.
 */
export class Tree extends Sequence {
  readonly root: PromptBlock;
  readonly #listeners = new Set<EditListener>();
  /** What the edit under way did so far; null while nobody listens or nothing is under way. */
  #steps: Step[] | null = null;
  #depth = 0;
  #whole: string | undefined;
  /** While a parser writes: the ends of what it has open. */
  #ends: EndsLeaf | null = null;
  #plain = 0;
  /** By id, once somebody asked for one. */
  #index: Map<string, Content> | undefined;

  constructor(root: PromptBlock, items: Item[]) {
    super(items);
    this.root = root;
  }

  get text(): string {
    this.dropTip();
    if (this.#whole === undefined) {
      const texts: string[] = [];
      for (let leaf: ItemLeaf | null = this.firstLeaf; leaf !== null; leaf = nextLeaf(leaf)) {
        texts.push(leaf.text);
      }
      this.#whole = texts.join("");
    }
    return this.#whole;
  }

  /** Where a block ends. */
  endOf(block: PromptBlock): number {
    const leaf = block.endMark;
    if (leaf instanceof TailLeaf) return this.startOfLeaf(leaf) + leaf.widthBeforeEnd(block);
    return leaf instanceof EndsLeaf ? this.width : this.startOf(block.closing);
  }

  textOf(block: PromptBlock): string {
    const start = this.startOf(block);
    const end = this.endOf(block);
    if (this.#whole !== undefined) return this.#whole.slice(start, end);
    let leaf: ItemLeaf | null = block.leaf;
    const first = this.startOfLeaf(leaf!);
    const texts: string[] = [];
    for (let at = first; leaf !== null && at < end; leaf = nextLeaf(leaf)) {
      texts.push(leaf.text);
      at += leaf.sums[0]!;
    }
    return texts.join("").slice(start - first, end - first);
  }

  /** Until it is disposed, told of every edit after it was made. */
  subscribe(listener: EditListener): Disposable {
    this.dropTip();
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  get isWatched(): boolean {
    return this.#listeners.size > 0;
  }

  /** Everything that happens meanwhile is one edit. Callers have validated before they come here. */
  edit<Result>(name: string, run: () => Result): Result {
    if (this.#listeners.size === 0 && this.#steps === null) return run();
    this.#steps ??= [];
    this.#depth++;
    try {
      return run();
    } finally {
      this.#depth--;
      if (this.#depth === 0) {
        const steps = this.#steps;
        this.#steps = null;
        if (steps.length > 0) for (const listener of this.#listeners) listener({ name, steps });
      }
    }
  }

  /** Whether somebody listens but no edit was begun: the change is then an edit by itself. */
  get #isUnrecorded(): boolean {
    return this.#steps === null && this.#listeners.size > 0;
  }

  /**
   * The primitive: takes out `removed` contents of `parent` from `at` on and puts others in their
   * place. `at` is a content of the parent or its end; what comes in stands nowhere else.
   */
  splice(
    parent: PromptBlock,
    at: Content | BlockEnd,
    removed: number,
    inserted: readonly Content[],
  ): Content[] {
    if (this.#isUnrecorded)
      return this.edit("splice", () => this.splice(parent, at, removed, inserted));
    this.#whole = undefined;
    if (removed === 0 && this.#steps === null) {
      for (const content of inserted) this.#put(parent, at, content);
      return [];
    }
    const after = this.#steps === null ? null : idBefore(at);
    const gone: Content[] = [];
    let place = at;
    while (gone.length < removed && place.kind !== "end") {
      gone.push(place);
      place = contentAfter(place);
    }
    const stored = this.#steps === null ? null : gone.flatMap(storeContent);
    for (const content of gone) this.#take(content);
    for (const content of inserted) this.#put(parent, place, content);
    if (stored !== null) {
      this.#steps!.push({
        kind: "splice",
        parent: parent.id,
        after,
        removed: stored,
        inserted: inserted.flatMap(storeContent),
      });
    }
    return gone;
  }

  // ——— what parsers do: the same splices, always at the end of the block that is being written

  /** Begins a block behind everything in its parent. */
  begin(parent: PromptBlock, block: PromptBlock): void {
    const tail = this.#tailFor(parent);
    if (tail === null) {
      this.edit("parse", () => this.splice(parent, parent.closing, 0, [block]));
      return;
    }
    (block as Writable<PromptBlock>).parent = parent;
    tail.begin(block);
    this.#ends!.innermost = block;
    block.endMark = this.#ends;
  }

  /** Ends the innermost block that was begun. */
  finish(block: PromptBlock): void {
    this.dropTip();
    if (this.#ends === null || this.#ends.isExpanded || block.parent === null) return;
    const tail = this.#tailFor(block);
    if (tail === null) return;
    this.#ends.innermost = block.parent;
    tail.finish(block);
  }

  /** Writes a part of what was fed; `goesOn`: it may belong to the chunk that was written last. */
  write(
    block: PromptBlock,
    source: string,
    from: number,
    to: number,
    style: string,
    goesOn: boolean,
  ): void {
    if (goesOn && this.#extend(block, source, from, to, style)) return;
    const tail = this.#tailFor(block);
    if (tail === null) {
      this.writeChunk(block, new Chunk(source.slice(from, to), style));
      return;
    }
    tail.write(source, from, to, style);
    this.grow(tail, to - from);
    this.tip = tail;
  }

  writeChunk(block: PromptBlock, chunk: Chunk): void {
    this.edit("parse", () => this.splice(block, block.closing, 0, [chunk]));
  }

  #extend(block: PromptBlock, source: string, from: number, to: number, style: string): boolean {
    const leaf = this.#ends?.previous;
    if (leaf instanceof TailLeaf && !leaf.isExpanded && !this.#ends!.isExpanded) {
      this.dropTip();
      if (!leaf.extend(source, from, to, style)) return false;
      this.#whole = undefined;
      this.grow(leaf, to - from);
      this.tip = leaf;
      return true;
    }
    const before = contentBefore(block.closing);
    if (before?.kind !== "chunk" || before.style !== style || before.logprob !== null) return false;
    this.edit("parse", () => this.rewrite(before, before.text + source.slice(from, to)));
    return true;
  }

  /**
   * The leaf that takes what is written, or null where items must be made at once: somebody watches,
   * or has just looked at the end of the tree and may do so again.
   */
  #tailFor(block: PromptBlock): TailLeaf | null {
    this.dropTip();
    if (this.isWatched || this.#index !== undefined) return null;
    this.#whole = undefined;
    const ends = this.#ends;
    if (ends === null || ends.isExpanded) {
      this.#plain++;
      return this.#plain % PLAIN_WRITES === 1 ? this.#makeTail(block) : null;
    }
    const last = ends.previous as ItemLeaf;
    return last instanceof TailLeaf && !last.isExpanded && !last.isFull
      ? last
      : this.#addTail(block);
  }

  /** Gathers the ends of all blocks that are being written in a leaf of their own, behind a new tail. */
  #makeTail(block: PromptBlock): TailLeaf {
    this.remove(block.closing, this.root.closing);
    let last = this.firstLeaf;
    for (let next = block.leaf; next !== null; next = nextLeaf(next)) last = next;
    this.#ends = new EndsLeaf(this, block);
    this.insertLeaf(last, this.#ends);
    return this.#addTail(block);
  }

  #addTail(block: PromptBlock): TailLeaf {
    const last = this.#ends!.previous as ItemLeaf;
    if (last instanceof TailLeaf && !last.isExpanded) last.seal();
    const tail = new TailLeaf(this, block);
    this.insertLeaf(last, tail);
    return tail;
  }

  /** Gives one chunk another text, which is not empty. */
  rewrite(chunk: Chunk, text: string): void {
    if (this.#isUnrecorded) return this.edit("rewrite", () => this.rewrite(chunk, text));
    this.#whole = undefined;
    const before = this.#steps === null ? null : storeChunk(chunk);
    this.resize(chunk, text.length - chunk.width);
    (chunk as Writable<Chunk>).text = text;
    if (before !== null) {
      this.#steps!.push({
        kind: "splice",
        parent: chunk.parent!.id,
        after: idBefore(chunk),
        removed: [before],
        inserted: [storeChunk(chunk)],
      });
    }
  }

  /** Sets what is not text. */
  set(block: PromptBlock, facts: BlockFacts): void {
    const before = factsOf(block);
    Object.assign(block, facts);
    this.#steps?.push({ kind: "set", block: block.id, before, after: factsOf(block) });
  }

  /** Makes an edit that was recorded here or on an equal tree: all of it, or nothing. */
  apply(edit: Edit): void {
    this.edit(edit.name, () => {
      const done: Step[] = [];
      const recorded = this.#steps?.length;
      try {
        for (const step of edit.steps) {
          this.#applyStep(step);
          done.push(step);
        }
      } catch (error) {
        for (const step of done.toReversed()) this.#applyStep(inverseStep(step));
        this.#steps?.splice(recorded!);
        throw error;
      }
    });
  }

  byId(id: string): Content | undefined {
    if (this.#index === undefined) {
      this.#index = new Map();
      for (const item of this.root.walk()) if (item.kind !== "end") this.#index.set(item.id, item);
    }
    return this.#index.get(id);
  }

  #applyStep(step: Step): void {
    if (step.kind === "set") {
      const block = this.#block(step.block);
      if (JSON.stringify(factsOf(block)) !== JSON.stringify(step.before)) {
        throw stale(`the block ${step.block} has other facts than the edit expects`);
      }
      this.set(block, step.after);
      return;
    }
    const parent = this.#block(step.parent);
    const before = step.after === null ? parent : this.byId(step.after);
    if (before === undefined || (before !== parent && before.parent !== parent)) {
      throw stale(`${String(step.after)} does not stand in ${step.parent}`);
    }
    const at = before === parent ? firstContent(parent) : contentAfter(before);
    const expected = topLevel(step.removed);
    let place = at;
    for (const stored of expected) {
      if (place.kind === "end" || place.id !== stored.id) {
        throw stale(`${stored.id} does not stand where the edit expects it`);
      }
      if (place.kind === "chunk" && stored.kind === "chunk" && place.text !== stored.text) {
        throw stale(`the chunk ${stored.id} has another text than the edit expects`);
      }
      place = contentAfter(place);
    }
    const [only] = expected;
    const [next] = step.inserted;
    const isRewritten =
      expected.length === 1 &&
      step.inserted.length === 1 &&
      only!.id === (next as { id: string }).id;
    if (isRewritten && at.kind === "chunk" && next!.kind === "chunk") this.rewrite(at, next!.text);
    else this.splice(parent, at, expected.length, loadContents(step.inserted));
  }

  #block(id: string): PromptBlock {
    const found = this.byId(id);
    if (found?.kind === "block") return found;
    throw stale(`there is no block ${id}`);
  }

  #take(content: Content): void {
    if (this.#index !== undefined) this.#forget(content);
    (content as Writable<Content>).parent = null;
    if (content.kind === "chunk") this.remove(content, content);
    else content.stand(this.remove(content, content.closing));
  }

  #put(parent: PromptBlock, place: Item, content: Content): void {
    if (content.kind === "chunk") this.insertBefore(place, content);
    else if (content.leaf === null) {
      this.insertBefore(place, content);
      this.insertBefore(place, content.closing);
    } else this.insertAllBefore(place, [...content.walk()]);
    (content as Writable<Content>).parent = parent;
    if (this.#index === undefined) return;
    if (content.kind === "chunk") this.#index.set(content.id, content);
    else for (const item of content.walk()) if (item.kind !== "end") this.#index.set(item.id, item);
  }

  #forget(content: Content): void {
    if (content.kind === "chunk") this.#index!.delete(content.id);
    else for (const item of content.walk()) if (item.kind !== "end") this.#index!.delete(item.id);
  }
}

function nextLeaf(leaf: ItemLeaf): ItemLeaf | null {
  return leaf.next as ItemLeaf | null;
}

export function factsOf(block: PromptBlock): BlockFacts {
  const { ownRole, tags, style, attrs, state } = block;
  return { ownRole, tags, style, attrs, state };
}

/** The content or end that stands behind a content in its block. */
export function contentAfter(content: Content): Content | BlockEnd {
  return nextItem(content.kind === "block" ? content.closing : content) as Content | BlockEnd;
}

export function firstContent(block: PromptBlock): Content | BlockEnd {
  return nextItem(block) as Content | BlockEnd;
}

/** The content before a place in a block, or null when it is the first. */
export function contentBefore(place: Content | BlockEnd): Content | null {
  const before = previousItem(place) as Content | BlockEnd;
  if (before.kind === "end") return before.block;
  return before.kind === "chunk" ? before : null;
}

function idBefore(place: Content | BlockEnd): string | null {
  return contentBefore(place)?.id ?? null;
}

/** Of stored items, those that stand in nothing else of them. */
function topLevel(items: readonly StoredItem[]): (StoredItem & { readonly id: string })[] {
  let depth = 0;
  const found: (StoredItem & { readonly id: string })[] = [];
  for (const item of items) {
    if (item.kind === "close") depth--;
    else {
      if (depth === 0) found.push(item);
      if (item.kind === "open") depth++;
    }
  }
  return found;
}

export function inverseStep(step: Step): Step {
  return step.kind === "set"
    ? { ...step, before: step.after, after: step.before }
    : { ...step, removed: step.inserted, inserted: step.removed };
}

function stale(reason: string): KumikoError {
  return new KumikoError(
    "conflict",
    `The edit does not fit this tree: ${reason}. Nothing was changed; apply edits in the order in which they were made.`,
    { reason },
  );
}
