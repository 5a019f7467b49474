import { damaged, KumikoError } from "../../base/index.ts";
import { Ring, type RingLimits } from "./ring.ts";

export interface TopicLimits extends RingLimits {
  /** Events handed out at once. */
  readonly batch: number;
  /** Events read back at once. */
  readonly page: number;
  /** How many new events a subscriber may leave waiting before it is ended. */
  readonly behind: number;
}

export interface TopicOptions<Event> {
  readonly name: string;
  /** The number of the last event before this topic was opened. */
  readonly head: number;
  readonly limits: TopicLimits;
  readonly numberOf: (event: Event) => number;
  readonly weigh: (event: Event) => number;
  /** Reads events that are kept elsewhere, in order and without gaps. Without it only memory keeps them. */
  readonly older?: ((after: number, limit: number) => Promise<Event[]>) | undefined;
}

export interface SubscribeOptions<Event> {
  /** Events behind this number; from now on without it. */
  readonly from?: number | undefined;
  readonly where?: ((event: Event) => boolean) | undefined;
  /** Ends the subscription, without an error. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Numbered events for any number of subscribers. All read from one ring, each from where it stands, and only
 * when it asks: nobody has a queue, nobody waits for anybody, and a publisher never runs a subscriber's code.
 * One that lost the ring reads on from where events are kept; one that cannot, or is too far behind, is
 * ended with `resync`.
 */
export class Topic<Event> {
  readonly #options: TopicOptions<Event>;
  readonly #ring: Ring<Event>;
  readonly #waiting = new Set<() => void>();
  #head: number;
  #subscribers = 0;
  #waking = false;
  #closed = false;

  constructor(options: TopicOptions<Event>) {
    this.#options = options;
    this.#head = options.head;
    this.#ring = new Ring(options.head + 1, options.limits);
  }

  get head(): number {
    return this.#head;
  }

  /** Subscriptions that are being read. */
  get subscribers(): number {
    return this.#subscribers;
  }

  /** Events in memory, for all subscribers together, and their weight. */
  get held(): { readonly events: number; readonly weight: number } {
    return { events: this.#ring.size, weight: this.#ring.weight };
  }

  /** Numbers follow one another: a gap would be read as damage by everyone behind it. */
  publish(event: Event): void {
    const number = this.#options.numberOf(event);
    if (number !== this.#head + 1) {
      throw new Error(`${this.#options.name} ${number} was published behind ${this.#head}`);
    }
    this.#head = number;
    this.#ring.push(event, this.#options.weigh(event));
    this.#wakeSoon();
  }

  /** Batches of events, for as long as the caller goes on asking. What came before `close` is still given. */
  subscribe(options: SubscribeOptions<Event> = {}): AsyncGenerator<readonly Event[], void, void> {
    const from = options.from ?? this.#head;
    if (!Number.isInteger(from) || from < 0 || from > this.#head) {
      throw new KumikoError(
        "out_of_range",
        `There is no ${this.#options.name} ${from}: there are 0 to ${this.#head}.`,
        { position: from, minimum: 0, maximum: this.#head },
      );
    }
    return this.#stream(from, this.#head, options);
  }

  /** Lets go of what is in memory: whoever still needs it reads it from where it is kept. */
  forget(): void {
    this.#ring.clear();
  }

  /** There are events up to a number that are only where they are kept: everyone reads them there. */
  jump(number: number): void {
    this.#head = number;
    this.#ring.restart(number + 1);
    this.#wakeSoon();
  }

  /** Ends every subscription. */
  close(): void {
    this.#closed = true;
    this.#wake();
  }

  async *#stream(
    from: number,
    begun: number,
    { where, signal }: SubscribeOptions<Event>,
  ): AsyncGenerator<readonly Event[], void, void> {
    let seen = from;
    let wake: (() => void) | undefined;
    const stop = (): void => wake?.();
    const aborted = (): boolean => signal?.aborted === true;
    this.#subscribers++;
    signal?.addEventListener("abort", stop, { once: true });
    try {
      while (!aborted()) {
        if (seen === this.#head) {
          if (this.#closed) return;
          const { promise, resolve } = Promise.withResolvers<void>();
          wake = resolve;
          this.#waiting.add(resolve);
          await promise;
          this.#waiting.delete(resolve);
          continue;
        }
        const events = this.#held(seen) ?? (await this.#older(seen, begun));
        seen = this.#options.numberOf(events.at(-1)!);
        const chosen = where === undefined ? events : events.filter((event) => where(event));
        // The list that all have, where it is the same: what is made of it is made once.
        const given = chosen.length === events.length ? events : chosen;
        if (given.length > 0 && !aborted()) yield given;
      }
    } finally {
      this.#subscribers--;
      signal?.removeEventListener("abort", stop);
    }
  }

  #held(seen: number): readonly Event[] | undefined {
    const { limits } = this.#options;
    return this.#ring.has(seen + 1) ? this.#ring.from(seen + 1, limits.batch) : undefined;
  }

  async #older(seen: number, begun: number): Promise<Event[]> {
    const { older, limits, numberOf, name } = this.#options;
    // What was there when the subscription began does not count: any past may be asked for.
    const waiting = this.#head - Math.max(seen, begun);
    if (older === undefined || waiting > limits.behind) throw this.#resync(seen);
    // What is kept may be ahead of what is published; nobody is given it before.
    const events = await older(seen, Math.min(limits.page, this.#head - seen));
    const first = events[0];
    if (first === undefined || numberOf(first) !== seen + 1) {
      throw damaged(`the ${name} behind ${seen} is missing`);
    }
    return events;
  }

  #resync(seen: number): KumikoError {
    return new KumikoError(
      "resync",
      `The subscriber is ${this.#head - seen} events behind; read again what it needs and subscribe from ${this.#options.name} ${this.#head}.`,
      { topic: this.#options.name, seen, head: this.#head },
    );
  }

  #wakeSoon(): void {
    if (this.#waking || this.#waiting.size === 0) return;
    // Once for all that is published in this turn.
    this.#waking = true;
    queueMicrotask(() => this.#wake());
  }

  #wake(): void {
    this.#waking = false;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const resolve of waiting) resolve();
  }
}
