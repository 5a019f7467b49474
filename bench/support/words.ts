/** Text like people and models write it: words of a large vocabulary, the common ones often. From a seed. */
import { Random } from "../../src/base/index.ts";

const SYLLABLES = (
  "ka ri mo ten sha lu per dor vin el qua sto mi gra ne fol tu be cor an is ter lo wen hu pra di ble ous ing " +
  "ment ful re un con pre tion al er ed ly"
).split(" ");

export class Words {
  readonly #random: Random;
  readonly #vocabulary: string[];
  readonly #used = new Map<string, number>();

  constructor(seed: number, words = 8_000) {
    this.#random = new Random(seed);
    this.#vocabulary = Array.from({ length: words }, () => {
      const syllables = 1 + this.#random.below(4);
      return Array.from({ length: syllables }, () => this.#random.pick(SYLLABLES)).join("");
    });
  }

  /** As in every language, the n-th word comes about one n-th as often as the first. */
  next(): string {
    const rank = Math.floor(this.#vocabulary.length ** this.#random.next()) - 1;
    const word = this.#vocabulary[rank]!;
    this.#used.set(word, (this.#used.get(word) ?? 0) + 1);
    return word;
  }

  /** A long word that was given so often, and stands in no other word. */
  rare(least: number, most: number): string {
    const words = [...this.#used];
    const found = words.find(
      ([word, times]) =>
        word.length >= 9 &&
        times >= least &&
        times <= most &&
        words.filter(([other]) => other.includes(word)).length === 1,
    );
    if (found === undefined) throw new Error("no word is as rare as a search needs");
    return found[0];
  }

  /** Lines of a dozen words, about `characters` in all. */
  text(characters: number): string {
    let text = "";
    for (let count = 1; text.length < characters; count++) {
      text += this.next() + (count % 12 === 0 ? ".\n" : " ");
    }
    return text.slice(0, characters);
  }

  /** One token of a stream: a word with the space before it, now and then a line's end. */
  token(): string {
    return this.#random.below(14) === 0 ? `${this.next()}.\n` : ` ${this.next()}`;
  }
}
