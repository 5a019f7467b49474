export interface BackoffOptions {
  /** Milliseconds before the second try. */
  readonly first?: number | undefined;
  readonly most?: number | undefined;
  /** A number in [0, 1). */
  readonly random?: (() => number) | undefined;
}

/** How long to wait before each try: twice as long each time, up to a limit, and never all clients at once. */
export class Backoff {
  readonly #first: number;
  readonly #most: number;
  readonly #random: () => number;
  #tries = 0;

  constructor({ first = 100, most = 10_000, random = Math.random }: BackoffOptions = {}) {
    this.#first = first;
    this.#most = most;
    this.#random = random;
  }

  next(): number {
    const longest = Math.min(this.#most, this.#first * 2 ** this.#tries);
    this.#tries++;
    return longest / 2 + (longest / 2) * this.#random();
  }

  /** It went well. */
  reset(): void {
    this.#tries = 0;
  }
}
