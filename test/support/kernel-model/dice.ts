import type { Random } from "../../../src/base/index.ts";
import type { Model, ModelBlock } from "./model.ts";
import type { Hunk } from "./placing.ts";

const ACTORS = ["ann", "ben", "claude"];
export const CONTEXTS = ["main", "side"];
const READERS = ["left", "right"];
const WORDS = ["one", "two", "three", "naïve", "🪵🪚", "", "a b", "two two", "x"];

/** Who calls, and through which line of sight. */
export interface Caller {
  readonly actor: string;
  readonly reader: string | undefined;
  /** The reader's name in the model: readers of different actors are never the same. */
  readonly sight: string;
}

/** Everything that is left to chance. */
export class Dice {
  readonly #random: Random;
  readonly #model: Model;
  #names = 0;

  constructor(random: Random, model: Model) {
    this.#random = random;
    this.#model = model;
  }

  chance(share: number): boolean {
    return this.#random.next() < share;
  }

  below(bound: number): number {
    return this.#random.below(bound);
  }

  pick<Item>(items: readonly Item[]): Item {
    return this.#random.pick(items);
  }

  /** A name that was never given before. */
  name(prefix: string): string {
    return `${prefix}-${++this.#names}`;
  }

  caller(): Caller {
    const actor = this.pick(ACTORS);
    const reader = this.pick(READERS);
    return { actor, reader, sight: `${actor}/${reader}` };
  }

  /** Any block, and often the same one: there they meet. */
  block(): ModelBlock {
    return this.chance(0.4) ? this.#model.all[0]! : this.pick(this.#model.all);
  }

  /** A block to whose text nothing is on its way. */
  calmBlock(): ModelBlock | undefined {
    const calm = this.#model.all.filter(({ id }) => !this.#model.isWaiting(id));
    return calm.length === 0 ? undefined : this.pick(calm);
  }

  word(): string {
    return this.chance(0.3) ? this.name("new") : this.pick(WORDS);
  }

  text(): string {
    if (this.chance(0.1)) return "";
    const lines = Array.from({ length: 1 + this.below(7) }, () => this.word());
    return lines.join("\n") + (this.chance(0.6) ? "\n" : "");
  }

  /** An offset between characters. */
  offset(text: string): number {
    const characters = [...text];
    return characters.slice(0, this.below(characters.length + 1)).join("").length;
  }

  /** The first characters of a text, of which it may have fewer. */
  piece(text: string, characters: number): string {
    return Array.from(text).slice(0, characters).join("");
  }

  /** Lines to be replaced by others, never nothing by nothing. */
  hunk(lines: number): Hunk {
    const start = this.below(lines + 1);
    const end = Math.min(lines, start + this.below(4));
    const added = Array.from({ length: this.below(3) }, () => this.word());
    return { start, end, lines: start === end && added.length === 0 ? [this.word()] : added };
  }

  /** What goes into the arguments of a call now and then. */
  maybe<Value>(share: number, value: () => Value): Value | undefined {
    return this.chance(share) ? value() : undefined;
  }
}
