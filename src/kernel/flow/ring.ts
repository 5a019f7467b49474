export interface RingLimits {
  /** Events kept at most; a power of two. */
  readonly events: number;
  /** What they may weigh together. The newest stays whatever it weighs. */
  readonly weight: number;
}

interface Taken<Event> {
  readonly number: number;
  readonly limit: number;
  readonly events: readonly Event[];
}

/** The newest events of a stream with consecutive numbers, in bounded memory. */
export class Ring<Event> {
  readonly #limits: RingLimits;
  readonly #events: (Event | undefined)[];
  readonly #weights: Float64Array;
  #oldest: number;
  #next: number;
  #weight = 0;
  /** What was last asked for: many ask for the same. */
  #taken: Taken<Event> | undefined;

  constructor(next: number, limits: RingLimits) {
    if (limits.events < 1 || (limits.events & (limits.events - 1)) !== 0) {
      throw new RangeError(`a ring holds a power of two, not ${limits.events}`);
    }
    this.#limits = limits;
    this.#events = Array.from({ length: limits.events }, () => undefined);
    this.#weights = new Float64Array(limits.events);
    this.#oldest = next;
    this.#next = next;
  }

  get size(): number {
    return this.#next - this.#oldest;
  }

  get weight(): number {
    return this.#weight;
  }

  push(event: Event, weight: number): void {
    if (this.size === this.#limits.events) this.#drop();
    const slot = this.#next & (this.#limits.events - 1);
    this.#events[slot] = event;
    this.#weights[slot] = weight;
    this.#weight += weight;
    this.#next++;
    this.#taken = undefined;
    while (this.#weight > this.#limits.weight && this.size > 1) this.#drop();
  }

  has(number: number): boolean {
    return number >= this.#oldest && number < this.#next;
  }

  /** Events from a number it has, `limit` at most. Who asks for the same is given the same list. */
  from(number: number, limit: number): readonly Event[] {
    if (this.#taken?.number !== number || this.#taken.limit !== limit) {
      this.#taken = { number, limit, events: Object.freeze(this.#slice(number, limit)) };
    }
    return this.#taken.events;
  }

  clear(): void {
    this.#taken = undefined;
    while (this.size > 0) this.#drop();
  }

  /** Empty, and goes on with another number. */
  restart(next: number): void {
    this.clear();
    this.#oldest = next;
    this.#next = next;
  }

  #slice(number: number, limit: number): Event[] {
    const mask = this.#limits.events - 1;
    const count = Math.min(limit, this.#next - number);
    const start = number & mask;
    const whole = this.#events.slice(start, start + count);
    const rest = count - whole.length;
    return (rest === 0 ? whole : whole.concat(this.#events.slice(0, rest))) as Event[];
  }

  #drop(): void {
    const slot = this.#oldest & (this.#limits.events - 1);
    this.#events[slot] = undefined;
    this.#weight -= this.#weights[slot]!;
    this.#oldest++;
  }
}
