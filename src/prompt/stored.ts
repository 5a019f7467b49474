import { KumikoError } from "../base/errors.ts";
import type { AttrValue, BlockState, Role } from "./block-facts.ts";
import { Chunk } from "./chunk.ts";
import { PromptBlock } from "./prompt-block.ts";
import type { Content } from "./tree.ts";
import type { Writable } from "./writable.ts";

/**
 * A tree as plain data: what stands in its sequence, in order. It is flat, so that depth is limited
 * by nothing.
 */
export type StoredItem =
  | {
      readonly kind: "open";
      readonly id: string;
      readonly role?: Role;
      readonly tags?: readonly string[];
      readonly style?: readonly string[];
      readonly attrs?: { readonly [name: string]: AttrValue };
      readonly state?: BlockState;
    }
  | {
      readonly kind: "chunk";
      readonly id: string;
      readonly text: string;
      readonly logprob?: number;
      readonly style?: string;
    }
  | { readonly kind: "close" };

export interface StoredTree {
  readonly format: "kumiko-prompt";
  readonly version: 1;
  readonly items: readonly StoredItem[];
}

export function storeChunk(chunk: Chunk): StoredItem {
  return {
    kind: "chunk",
    id: chunk.id,
    text: chunk.text,
    ...(chunk.logprob !== null && { logprob: chunk.logprob }),
    ...(chunk.style !== null && { style: chunk.style }),
  };
}

function storeOpening(block: PromptBlock): StoredItem {
  return {
    kind: "open",
    id: block.id,
    ...(block.ownRole !== null && { role: block.ownRole }),
    ...(block.tags.length > 0 && { tags: block.tags }),
    ...(block.style.length > 0 && { style: block.style }),
    ...(Object.keys(block.attrs).length > 0 && { attrs: block.attrs }),
    ...(block.state !== "logical" && { state: block.state }),
  };
}

export function storeContent(content: Content): StoredItem[] {
  if (content.kind === "chunk") return [storeChunk(content)];
  return Array.from(content.walk(), (item): StoredItem => {
    if (item.kind === "chunk") return storeChunk(item);
    return item.kind === "block" ? storeOpening(item) : { kind: "close" };
  });
}

/** Chunks and blocks that stand nowhere yet. With `fresh`, all have new ids. */
export function loadContents(items: readonly StoredItem[], fresh = false): Content[] {
  const contents: Content[] = [];
  const open: { block: PromptBlock; items: (Content | PromptBlock["closing"])[] }[] = [];
  for (const [index, stored] of items.entries()) {
    const item = known(stored, index);
    const above = open.at(-1);
    if (item.kind === "close") {
      const ended = open.pop();
      if (ended === undefined) throw unreadable("it closes a block that is not open", index);
      const { block } = ended;
      ended.items.push(block.closing);
      const outer = open.at(-1);
      if (outer === undefined) {
        block.stand(ended.items);
        contents.push(block);
      } else {
        for (const each of ended.items) outer.items.push(each);
      }
      continue;
    }
    const id = fresh ? undefined : item.id;
    if (item.kind === "open") {
      const { kind: _, id: _id, ...rest } = item;
      const block = new PromptBlock({ ...rest, id });
      if (above !== undefined) (block as Writable<PromptBlock>).parent = above.block;
      open.push({ block, items: [block] });
    } else {
      const chunk = new Chunk(item.text, item.style ?? null, item.logprob ?? null, id);
      if (above === undefined) contents.push(chunk);
      else {
        (chunk as Writable<Chunk>).parent = above.block;
        above.items.push(chunk);
      }
    }
  }
  if (open.length > 0) throw unreadable(`${open.length} blocks are not closed`, items.length);
  return contents;
}

const STATES: readonly unknown[] = [undefined, "logical", "open", "closed"];

/** What is read may come from anywhere: a wrong shape must not become a wrong tree. */
function known(stored: StoredItem, index: number): StoredItem {
  const item: { readonly [name: string]: unknown } = Object(stored);
  const { kind, id, text, logprob, style, role, tags, attrs, state } = item;
  if (kind === "close") return stored;
  const isOptional = (value: unknown, type: string): boolean =>
    value === undefined || typeof value === type;
  if (typeof id === "string" && id !== "") {
    const isChunk =
      typeof text === "string" &&
      text !== "" &&
      isOptional(logprob, "number") &&
      isOptional(style, "string");
    if (kind === "chunk" && isChunk) return stored;
    const isBlock =
      isOptional(role, "string") &&
      isWords(tags) &&
      isWords(style) &&
      isOptional(attrs, "object") &&
      attrs !== null &&
      STATES.includes(state);
    if (kind === "open" && isBlock) return stored;
  }
  throw unreadable(`item ${index} is neither a block nor a chunk`, index);
}

function isWords(value: unknown): boolean {
  return (
    value === undefined || (Array.isArray(value) && value.every((word) => typeof word === "string"))
  );
}

export function loadTree(stored: StoredTree): PromptBlock {
  if (Object(stored).format !== "kumiko-prompt" || !Array.isArray(stored.items)) {
    throw unreadable("it is not what toJSON gives", 0);
  }
  if (stored.version !== 1) {
    throw new KumikoError(
      "unsupported_format",
      `The tree is of version ${String(stored.version)}; this program reads version 1.`,
      { version: String(stored.version) },
    );
  }
  const [root, ...more] = loadContents(stored.items);
  if (root === undefined || root.kind !== "block" || more.length > 0) {
    throw unreadable("it is not one block", 0);
  }
  const ids = new Set<string>();
  for (const item of root.walk()) {
    if (item.kind === "end") continue;
    if (ids.has(item.id)) throw unreadable(`two items have the id ${item.id}`, 0);
    ids.add(item.id);
  }
  return root;
}

function unreadable(reason: string, index: number): KumikoError {
  return new KumikoError("damaged", `The stored prompt tree cannot be read: ${reason}.`, {
    reason,
    item: index,
  });
}
