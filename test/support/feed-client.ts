import type { BlockState, FeedEvent } from "../../src/protocol/index.ts";

interface Copy {
  readonly version: number;
  readonly text: string;
  readonly state: BlockState;
}

/** A thin client: it keeps texts by doing what events say, and knows no CRDT. */
export class FeedClient {
  readonly copies = new Map<string, Copy>();

  apply({ block, version, change, state }: FeedEvent): void {
    const held = this.copies.get(block);
    const from = held?.version ?? 0;
    if (version <= from) return;
    if (version !== from + 1) throw new Error(`${block}: version ${version} came after ${from}`);
    let text = held?.text ?? "";
    for (const { at, remove, insert } of "splices" in change ? change.splices : []) {
      if (at + remove > text.length) throw new Error(`${block}: a splice behind the end`);
      text = text.slice(0, at) + insert + text.slice(at + remove);
    }
    const now = state ?? held?.state;
    if (now === undefined) throw new Error(`${block}: changed before it was created`);
    this.copies.set(block, { version, text, state: now });
  }

  replace(block: string, copy: Copy): void {
    if (copy.version < (this.copies.get(block)?.version ?? 0))
      throw new Error(`${block} went back to version ${copy.version}`);
    this.copies.set(block, copy);
  }

  versionsOf(blocks: Iterable<string>): { block_id: string; version: number }[] {
    return [...blocks].map((block_id) => ({
      block_id,
      version: this.copies.get(block_id)?.version ?? 0,
    }));
  }
}
