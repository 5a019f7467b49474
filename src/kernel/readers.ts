import type { Invocation } from "./invocation.ts";

/** Readers remembered; the least recently active is forgotten first and must read again. */
const READERS = 10_000;
const BLOCKS_PER_READER = 1_000;

/** As many calls may be under way that were made before any of them was answered. */
const ANSWERS_PER_BLOCK = 64;

/** One actor's line of sight: readers of two actors are two, whatever they are called. */
type Sight = Pick<Invocation, "actor" | "reader" | "made" | "call" | "beside">;

/** A version that was shown, when, and by the answer to which call. */
interface Shown {
  readonly version: number;
  readonly at: number;
  readonly by: string | undefined;
}

/**
 * Which version of which block each reader was last shown: that is what its line numbers mean. In memory
 * only; a reader that was forgotten is asked for a base version.
 *
 * What a call is about was decided when it was made. So it knows nothing of answers that came later: of two edits that are
 * sent together, the second would mean a text that nobody had seen yet.
 */
export class Readers {
  readonly #shown = new Map<string, Map<string, readonly Shown[]>>();
  #now = 0;

  /** The moment at which a call is made. */
  get now(): number {
    return this.#now;
  }

  shown(sight: Sight, block: string): number | undefined {
    const { made = Infinity, beside = [] } = sight;
    const isKnown = ({ at, by }: Shown): boolean =>
      at <= made && (by === undefined || !beside.includes(by));
    return this.#of(sight, block).findLast(isKnown)?.version;
  }

  /** It read this version, perhaps a past one: that is what its positions mean now. */
  show(sight: Sight, block: string, version: number): void {
    const key = keyOf(sight);
    const known = this.#shown.get(key) ?? new Map<string, readonly Shown[]>();
    this.#now += 1;
    const before = this.#of(sight, block).slice(1 - ANSWERS_PER_BLOCK);
    moveToEnd(this.#shown, key, known, READERS);
    moveToEnd(
      known,
      block,
      [...before, { version, at: this.#now, by: sight.call }],
      BLOCKS_PER_READER,
    );
  }

  /** What it knows of the block is not enough any more: it has to read it again, or say what it means. */
  forget(sight: Sight, block: string): void {
    this.#shown.get(keyOf(sight))?.delete(block);
  }

  /** An answer told it of this version; one that is told again, because the call was retried, leads nowhere back. */
  advance(sight: Sight, block: string, version: number): void {
    this.show(sight, block, Math.max(version, this.#of(sight, block).at(-1)?.version ?? 0));
  }

  #of(sight: Sight, block: string): readonly Shown[] {
    return this.#shown.get(keyOf(sight))?.get(block) ?? [];
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
