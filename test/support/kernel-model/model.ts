import type { FeedEvent } from "../../../src/protocol/index.ts";
import { ModelText } from "./characters.ts";

/** What a block is, apart from its place and its text. */
export interface Facts {
  readonly status: string;
  readonly flags: { readonly [name: string]: unknown };
  readonly metadata: { readonly [name: string]: unknown };
}

/** One version as histories tell of it. */
interface ModelVersion {
  readonly position: number;
  readonly entry: {
    readonly version: number;
    readonly kind: string;
    readonly actor: string;
    readonly edit: string;
    readonly time: number;
    /** None for what nobody called for. */
    readonly tool?: string | undefined;
    readonly message?: string | undefined;
    readonly call?: string | undefined;
    readonly inserted: number;
    readonly removed: number;
  };
  readonly facts: Facts;
}

export interface ModelBlock {
  readonly id: string;
  readonly context: string;
  readonly parent: string | null;
  readonly kind: string;
  readonly role: string;
  readonly text: ModelText;
  readonly versions: ModelVersion[];
}

/** An Edit of text: whose, where, and whether it counts. */
export interface ModelEdit {
  readonly id: string;
  readonly actor: string;
  readonly blocks: Set<string>;
  last: number;
  active: boolean;
  flipped?: { readonly by: string; readonly position: number };
}

/** What one actor appends to one block, and how much of it no version has yet. */
export interface Stream {
  readonly actor: string;
  readonly block: string;
  edit?: string;
  pending: string;
  accepted: number;
}

/** A call that was answered: made again it gets the same answer. */
export interface AnsweredCall {
  readonly actor: string;
  readonly tool: string;
  readonly input: { readonly [name: string]: unknown };
  readonly answer: unknown;
}

/** The whole kernel, told as simply as can be: arrays of versions, one flag per Edit. */
export class Model {
  readonly blocks = new Map<string, ModelBlock>();
  readonly edits = new Map<string, ModelEdit>();
  /** By the id of an undo or redo: which Edit, and what it became. */
  readonly flips = new Map<string, { readonly target: string; readonly active: boolean }>();
  readonly streams = new Map<string, Stream>();
  readonly calls: AnsweredCall[] = [];
  readonly #shown = new Map<string, number>();
  head = 0;

  get all(): ModelBlock[] {
    return [...this.blocks.values()];
  }

  block(id: string): ModelBlock {
    const block = this.blocks.get(id);
    if (block === undefined) throw new Error(`the model has no block ${id}`);
    return block;
  }

  isActive(edit: string): boolean {
    return this.edits.get(edit)!.active;
  }

  shown(reader: string, block: string): number | undefined {
    return this.#shown.get(`${reader} ${block}`);
  }

  /** It read this version: that is what its positions mean. */
  show(reader: string, block: string, version: number): void {
    this.#shown.set(`${reader} ${block}`, version);
  }

  /** An answer told it of this version. */
  advance(reader: string, block: string, version: number): void {
    this.show(reader, block, Math.max(version, this.shown(reader, block) ?? 0));
  }

  /** Readers do not outlive the process, and streams end with it. */
  restart(): void {
    this.#shown.clear();
    this.streams.clear();
  }

  isWaiting(block: string): boolean {
    return [...this.streams.values()].some((one) => one.block === block && one.pending !== "");
  }

  newestEdit(actor: string): ModelEdit | undefined {
    return highest([...this.edits.values()], (edit) =>
      edit.actor === actor && edit.active ? edit.last : 0,
    );
  }

  /** What the actor undid last, unless it has written something since. */
  newestUndone(actor: string): ModelEdit | undefined {
    const all = [...this.edits.values()];
    const undone = highest(all, ({ active, flipped }) =>
      !active && flipped?.by === actor ? flipped.position : 0,
    );
    const written = Math.max(
      0,
      ...all.filter((one) => one.actor === actor).map(({ last }) => last),
    );
    return undone !== undefined && undone.flipped!.position > written ? undone : undefined;
  }

  /** In conversation order, as of a position. */
  list(query: {
    context: string;
    parent?: string | null;
    depth: number;
    newestFirst?: boolean;
    position?: number | undefined;
  }): ModelBlock[] {
    const { context, parent = null, depth, newestFirst = false, position = Infinity } = query;
    const children = this.all
      .filter((block) => block.context === context && block.parent === parent)
      .filter((block) => block.versions[0]!.position <= position);
    return (newestFirst ? children.toReversed() : children).flatMap((child) => [
      child,
      ...(depth > 1 ? this.list({ ...query, parent: child.id, depth: depth - 1 }) : []),
    ]);
  }

  /** What an event says was done, by a call of that tool. */
  apply(event: FeedEvent, tool: string | undefined): ModelBlock {
    const { position, version, edit, actor, time, message, call, change, state } = event;
    if (position !== this.head + 1) throw new Error(`position ${position} came after ${this.head}`);
    this.head = position;
    const block = this.blocks.get(event.block) ?? this.#born(event);
    if (version !== block.versions.length + 1) throw new Error(`version ${version} came too soon`);
    const splices = "splices" in change ? change.splices : [];
    if (change.kind === "flip") {
      const target = this.edits.get(change.edit)!;
      target.active = change.active;
      target.flipped = { by: actor, position };
      this.flips.set(edit, { target: change.edit, active: change.active });
      const expected = spliced(block.text.read(), splices);
      block.text.flip();
      if (block.text.read() !== expected) throw new Error(`the flip leaves "${expected}"`);
    } else {
      if (change.kind === "text") this.#wrote(edit, actor, block.id, position);
      block.text.commit(splices, edit);
    }
    const facts = state ?? block.versions.at(-1)!.facts;
    const { status, flags, metadata } = facts;
    const flipped = change.kind === "flip" ? (change.active ? "redo" : "undo") : change.kind;
    const inserted = splices.reduce((sum, { insert }) => sum + insert.length, 0);
    const removed = splices.reduce((sum, { remove }) => sum + remove, 0);
    block.versions.push({
      position,
      entry: { version, kind: flipped, actor, edit, time, tool, message, call, inserted, removed },
      facts: { status, flags, metadata },
    });
    return block;
  }

  #wrote(id: string, actor: string, block: string, position: number): void {
    const known = this.edits.get(id);
    if (known === undefined) {
      const blocks = new Set([block]);
      this.edits.set(id, { id, actor, blocks, last: position, active: true });
      return;
    }
    if (!known.active) throw new Error(`${id} is undone and was written to`);
    known.blocks.add(block);
    known.last = position;
  }

  #born({ block: id, state }: FeedEvent): ModelBlock {
    if (state === undefined) throw new Error(`${id} was changed before it was created`);
    const { context, parent, kind, role } = state;
    const text = new ModelText((edit) => this.isActive(edit));
    const block: ModelBlock = { id, context, parent, kind, role, text, versions: [] };
    this.blocks.set(id, block);
    return block;
  }
}

export function factsOf(block: ModelBlock): Facts {
  return block.versions.at(-1)!.facts;
}

/** The version a block had at a position. */
export function versionAt(block: ModelBlock, position: number): number {
  return block.versions.filter((one) => one.position <= position).length;
}

export function spliced(
  text: string,
  splices: readonly { at: number; remove: number; insert: string }[],
): string {
  let result = text;
  for (const { at, remove, insert } of splices)
    result = result.slice(0, at) + insert + result.slice(at + remove);
  return result;
}

function highest<Item>(items: readonly Item[], rank: (item: Item) => number): Item | undefined {
  const ranked = items.filter((item) => rank(item) > 0).toSorted((a, b) => rank(b) - rank(a));
  return ranked[0];
}
