import type { Invocation } from "./invocation.ts";

/** Readers remembered; the least recently active is forgotten first and must read again. */
const READERS = 10_000;
const BLOCKS_PER_READER = 1_000;

/** One actor's line of sight: readers of two actors are two, whatever they are called. */
type Sight = Pick<Invocation, "actor" | "reader">;

/**
 * Which version of which block each reader was last shown: that is what its line numbers mean. In memory
 * only; a reader that was forgotten is asked for a base version.
 */
export class Readers {
  readonly #shown = new Map<string, Map<string, number>>();

  shown(sight: Sight, block: string): number | undefined {
    return this.#shown.get(keyOf(sight))?.get(block);
  }

  /** It read this version, perhaps a past one: that is what its positions mean now. */
  show(sight: Sight, block: string, version: number): void {
    const key = keyOf(sight);
    const known = this.#shown.get(key) ?? new Map<string, number>();
    moveToEnd(this.#shown, key, known, READERS);
    moveToEnd(known, block, version, BLOCKS_PER_READER);
  }

  /** What it knows of the block is not enough any more: it has to read it again, or say what it means. */
  forget(sight: Sight, block: string): void {
    this.#shown.get(keyOf(sight))?.delete(block);
  }

  /** An answer told it of this version; one that is told again, because the call was retried, leads nowhere back. */
  advance(sight: Sight, block: string, version: number): void {
    this.show(sight, block, Math.max(version, this.shown(sight, block) ?? 0));
  }
}

function keyOf({ actor, reader = actor }: Sight): string {
  return JSON.stringify([actor, reader]);
}

function moveToEnd<Value>(map: Map<string, Value>, key: string, value: Value, limit: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= limit) return;
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}
