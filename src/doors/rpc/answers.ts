/** Answers that one peer holds, and their characters; above these nothing more is begun for it. */
const HELD = 10_000;
const HELD_CHARACTERS = 16 * 1024 * 1024;
/** Answers that are made and that the peer has not asked for: their size is known only when they are sent. */
const UNASKED = 16;
/** Calls begun at once on a new connection, and on one whose answers were small. */
const FIRST = 16;
const MOST = 1024;
/** How soon large answers are forgotten. */
const FADE = 0.9;

/**
 * What the answers to one peer cost. The library keeps each until the peer releases it; the calls under way will
 * cost as much as those before them did.
 */
export class Answers {
  readonly #budget: number;
  /** Characters by number: the library counts them as they are begun. */
  readonly #held = new Map<number, number>();
  readonly #unasked = new Set<number>();
  readonly #awaited = new Set<number>();
  #begun = 0;
  #characters = 0;
  #expected: number;

  /** Characters that calls under way may be expected to make. */
  constructor(budget: number) {
    this.#budget = budget;
    this.#expected = budget / FIRST;
  }

  /** Calls so far: the number of the last one. */
  get begun(): number {
    return this.#begun;
  }

  get tooMany(): boolean {
    return this.#held.size > HELD;
  }

  /** The peer holds as much as it may. */
  get full(): boolean {
    return this.#characters > HELD_CHARACTERS;
  }

  /** Whether the calls under way are expected to make as much as may wait. */
  get busy(): boolean {
    return this.#awaited.size > 0 && (this.#awaited.size + 1) * this.#expected > this.#budget;
  }

  /** One that has to be sent although the peer did not ask, because too many are kept like that. */
  get overdue(): number | undefined {
    return this.#unasked.size > UNASKED ? this.#unasked.values().next().value : undefined;
  }

  begin(): void {
    this.#begun++;
    this.#held.set(this.#begun, 0);
    this.#unasked.add(this.#begun);
  }

  ask(id: number): void {
    if (this.#unasked.delete(id)) this.#awaited.add(id);
  }

  sent(id: number, characters: number): void {
    this.#awaited.delete(id);
    this.#expected = Math.max(characters, this.#expected * FADE, this.#budget / MOST);
    if (!this.#held.has(id)) return;
    this.#held.set(id, characters);
    this.#characters += characters;
  }

  release(id: number): void {
    this.#characters -= this.#held.get(id) ?? 0;
    this.#held.delete(id);
    this.#unasked.delete(id);
    this.#awaited.delete(id);
  }

  /** Those under way take long: they wait for something, and nobody is to wait for them. */
  expectNone(): void {
    this.#awaited.clear();
  }
}
