const MOST = 50_000;

/**
 * Rows that the writer read or wrote, so that it need not read them again. Only right while nobody else
 * writes and nothing is rolled back: whoever owns one forgets it then.
 */
export class Seen<Key, Value> {
  readonly #values = new Map<Key, Value>();

  get(key: Key): Value | undefined {
    return this.#values.get(key);
  }

  set(key: Key, value: Value): void {
    if (this.#values.size >= MOST) this.#values.clear();
    this.#values.set(key, value);
  }

  forget(): void {
    this.#values.clear();
  }
}
