/** Readers remembered; the least recently active is forgotten first and must read again. */
const READERS = 10_000;
const BLOCKS_PER_READER = 1_000;

/**
 * Which version of which block each reader was last shown: that is what its line numbers mean. In memory
 * only; a reader that was forgotten is asked for a base version.
 */
export class Readers {
  readonly #shown = new Map<string, Map<string, number>>();

  shown(reader: string, block: string): number | undefined {
    return this.#shown.get(reader)?.get(block);
  }

  show(reader: string, block: string, version: number): void {
    const known = this.#shown.get(reader) ?? new Map<string, number>();
    moveToEnd(this.#shown, reader, known, READERS);
    moveToEnd(known, block, Math.max(version, known.get(block) ?? 0), BLOCKS_PER_READER);
  }

  forget(reader: string): void {
    this.#shown.delete(reader);
  }
}

function moveToEnd<Value>(map: Map<string, Value>, key: string, value: Value, limit: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= limit) return;
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}
