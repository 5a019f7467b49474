import { KumikoError } from "../base/errors.ts";
import { Chunk } from "./chunk.ts";
import { type BlockEnd, PromptBlock, type TextOptions } from "./prompt-block.ts";
import { nextItem } from "./sequence.ts";
import { type Content, contentAfter, firstContent, type Tree } from "./tree.ts";

export function appendTo(block: PromptBlock, text: string, options: TextOptions): Chunk | null {
  if (text === "") return null;
  return block.tree.edit("append", () => block.mutator.append(text, options));
}

export function prependTo(block: PromptBlock, text: string, options: TextOptions): Chunk | null {
  if (text === "") return null;
  return block.tree.edit("prepend", () => block.mutator.prepend(text, options));
}

/**
 * Text becomes the block's own where the offset lies between its contents; elsewhere it belongs to
 * the block whose text stands to the left of it.
 */
export function insertAt(
  block: PromptBlock,
  offset: number,
  text: string,
  { logprob = null, style }: TextOptions,
): Chunk | null {
  checkOffset(block, offset);
  if (text === "") return null;
  const { tree } = block;
  return tree.edit("insert", () => {
    const place = placeAt(block, block.start + offset);
    const kind = style ?? (block.state === "logical" ? null : (place.beside?.style ?? "content"));
    const chunk = new Chunk(text, kind, logprob);
    tree.splice(place.parent, place.at, 0, [chunk]);
    return chunk;
  });
}

export function replaceRange(
  block: PromptBlock,
  start: number,
  end: number,
  text: string,
  options: TextOptions,
): Chunk | null {
  checkRange(block, start, end);
  if (start === end) return insertAt(block, start, text, options);
  const { tree } = block;
  return tree.edit("replace", () => {
    const from = block.start + start;
    const { item, start: chunkStart } = tree.at(from, false)!;
    const first = item as Chunk;
    let added: Chunk | null = null;
    if (text !== "") {
      added = new Chunk(text, options.style ?? first.style, options.logprob ?? null);
      const at = from === chunkStart ? first : cutChunk(tree, first, from - chunkStart);
      tree.splice(first.parent!, at, 0, [added]);
    }
    cutText(tree, from + text.length, block.start + end + text.length);
    return added;
  });
}

export function deleteRange(block: PromptBlock, start: number, end: number): void {
  checkRange(block, start, end);
  if (start === end) return;
  const from = block.start;
  block.tree.edit("delete", () => cutText(block.tree, from + start, from + end));
}

export function splitAt(block: PromptBlock, offset: number): PromptBlock {
  checkOffset(block, offset);
  const { tree } = block;
  return tree.edit("split", () => {
    let { parent, at } = placeAt(block, block.start + offset, true);
    while (parent !== block) {
      if (at.kind === "end") at = contentAfter(parent);
      else {
        const right = tailOf(tree, parent, at);
        at = contentAfter(parent);
        tree.splice(parent.parent!, at, 0, [right]);
        at = right;
      }
      parent = parent.parent!;
    }
    const right = tailOf(tree, block, at);
    if (block.parent !== null) tree.splice(block.parent, contentAfter(block), 0, [right]);
    return right;
  });
}

/** A block like `block`, with what stands in it from `at` on. */
function tailOf(tree: Tree, block: PromptBlock, at: Content | BlockEnd): PromptBlock {
  let count = 0;
  for (let item = at; item.kind !== "end"; item = contentAfter(item)) count++;
  const moved = tree.splice(block, at, count, []);
  const { ownRole: role, tags, style, attrs, state } = block;
  const right = new PromptBlock({ role, tags, style, attrs, state });
  right.tree.splice(right, right.closing, 0, moved);
  return right;
}

/** Where text goes that is put at an offset of the whole; a chunk that stands across it is cut. */
function placeAt(
  block: PromptBlock,
  offset: number,
  innermost = false,
): { parent: PromptBlock; at: Content | BlockEnd; beside: Chunk | null } {
  const { tree } = block;
  const found = offset === block.start ? null : tree.at(offset, true);
  if (found === null) return { parent: block, at: firstContent(block), beside: null };
  const chunk = found.item as Chunk;
  const parent = chunk.parent!;
  if (found.start + chunk.width > offset) {
    return { parent, at: cutChunk(tree, chunk, offset - found.start), beside: chunk };
  }
  if (parent !== block && !innermost) {
    let child = parent;
    while (child.parent !== block) child = child.parent!;
    if (child.end === offset) return { parent: block, at: contentAfter(child), beside: null };
  }
  return { parent, at: contentAfter(chunk), beside: chunk };
}

/** Makes two chunks of one and gives the right one. */
function cutChunk(tree: Tree, chunk: Chunk, at: number): Chunk {
  const right = new Chunk(chunk.text.slice(at), chunk.style, chunk.logprob);
  tree.rewrite(chunk, chunk.text.slice(0, at));
  tree.splice(chunk.parent!, contentAfter(chunk), 0, [right]);
  return right;
}

/** Takes out the text between two offsets of the whole. */
function cutText(tree: Tree, from: number, to: number): void {
  const found = tree.at(from, false);
  if (found === null) return;
  let { start } = found;
  let item: Content | BlockEnd | null = found.item as Chunk;
  while (item !== null && start < to) {
    const next = nextItem(item) as Content | BlockEnd | null;
    if (item.kind === "chunk") {
      const end = start + item.width;
      const kept = item.text.slice(0, Math.max(0, from - start)) + item.text.slice(to - start);
      if (kept === "") tree.splice(item.parent!, item, 1, []);
      else if (kept.length < item.width) tree.rewrite(item, kept);
      start = end;
    }
    item = next;
  }
}

function checkOffset(block: PromptBlock, offset: number): void {
  if (!Number.isInteger(offset) || offset < 0 || offset > block.length) {
    throw new KumikoError(
      "out_of_range",
      `The offset ${offset} lies outside the block, whose text has ${block.length} units.`,
      { offset, from: 0, to: block.length },
    );
  }
  const chunk = offset === 0 ? null : block.chunkAt(offset);
  if (chunk === null) return;
  const local = block.start + offset - (chunk.parent!.start + chunk.start);
  if (local > 0 && isPair(chunk.text, local)) {
    throw new KumikoError(
      "split_character",
      `The offset ${offset} lies inside one character; use ${offset - 1} or ${offset + 1}.`,
      { offset },
    );
  }
}

function isPair(text: string, at: number): boolean {
  const left = text.charCodeAt(at - 1);
  const right = text.charCodeAt(at);
  return left >= 0xd800 && left <= 0xdbff && right >= 0xdc00 && right <= 0xdfff;
}

function checkRange(block: PromptBlock, start: number, end: number): void {
  checkOffset(block, start);
  checkOffset(block, end);
  if (start > end) {
    throw new KumikoError(
      "out_of_range",
      `The range ends at ${end}, before it starts at ${start}.`,
      {
        start,
        end,
      },
    );
  }
}
