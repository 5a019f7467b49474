/**
 * Runs tasks one after the other per key, and tasks of different keys at the same time. A task may take
 * several keys: it enters all their lines at the same moment, so two such tasks can never wait for each
 * other.
 */
export class KeyedQueue {
  readonly #lines = new Map<string, Promise<void>>();

  /** How many keys have a task running or waiting. */
  get size(): number {
    return this.#lines.size;
  }

  /** Whether a task of this key is running or waiting. */
  has(key: string): boolean {
    return this.#lines.has(key);
  }

  /** Resolves when no task is running or waiting. */
  async idle(): Promise<void> {
    while (this.#lines.size > 0) await Promise.all(this.#lines.values());
  }

  async run<Result>(
    keys: readonly string[],
    task: () => Result | Promise<Result>,
  ): Promise<Result> {
    const own = Promise.withResolvers<void>();
    const distinct = new Set(keys);
    const before: Promise<void>[] = [];
    for (const key of distinct) {
      const line = this.#lines.get(key);
      if (line !== undefined) before.push(line);
      this.#lines.set(key, own.promise);
    }
    try {
      if (before.length > 0) await Promise.all(before);
      return await task();
    } finally {
      own.resolve();
      for (const key of distinct) if (this.#lines.get(key) === own.promise) this.#lines.delete(key);
    }
  }
}
