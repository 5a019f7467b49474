import { type Clock, KumikoError } from "../base/index.ts";
import type { Principal } from "./principal.ts";

/** Far more than people and agents need, and less than what would keep everybody else waiting. */
const CALLS_PER_SECOND = 5_000;
/** Seconds of calls that may come at once. */
const BURST = 2;

/** How many calls a token may make: a bucket per token that fills steadily. */
export class RateLimits {
  readonly #clock: Clock;
  readonly #perSecond: number;
  readonly #buckets = new Map<string, { level: number; at: number }>();

  constructor(clock: Clock, perSecond: number = CALLS_PER_SECOND) {
    this.#clock = clock;
    this.#perSecond = perSecond;
  }

  /** Counts one call, or refuses it and says when the next may come. */
  take({ token, signal }: Principal): void {
    const now = this.#clock.now();
    const full = this.#perSecond * BURST;
    let bucket = this.#buckets.get(token);
    if (bucket === undefined) {
      bucket = { level: full, at: now };
      this.#buckets.set(token, bucket);
      signal.addEventListener("abort", () => this.#buckets.delete(token), { once: true });
    }
    const filled = ((now - bucket.at) / 1000) * this.#perSecond;
    bucket.level = Math.min(full, bucket.level + filled);
    bucket.at = now;
    if (bucket.level >= 1) {
      bucket.level -= 1;
      return;
    }
    const seconds = Math.ceil((1 - bucket.level) / this.#perSecond);
    throw new KumikoError(
      "too_many",
      `More than ${this.#perSecond} calls in a second by the token ${token}. Try again in ${seconds} s.`,
      { token, limit: this.#perSecond, retry_after: seconds },
    );
  }
}
