/** Lets so many run at a time; the others wait in line. */
export class AtOnce {
  readonly #most: number;
  readonly #line: (() => void)[] = [];
  #running = 0;

  constructor(most: number) {
    this.#most = most;
  }

  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#running >= this.#most) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#line.push(resolve);
      await promise;
    } else {
      this.#running++;
    }
    try {
      return await work();
    } finally {
      // Whoever is next takes this place.
      const next = this.#line.shift();
      if (next === undefined) this.#running--;
      else next();
    }
  }
}
