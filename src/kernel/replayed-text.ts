import { damaged, TextRope } from "../base/index.ts";
import type { RecordedChange } from "../blocks/index.ts";

/** Fewer splices than this are made in the string itself. */
const FEW = 8;

/** The text that commits leave behind when they are made one after the other, without their history. */
export class ReplayedText {
  #text: string;
  #rope: TextRope | undefined;
  #splices = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** How many splices were made. */
  get splices(): number {
    return this.#splices;
  }

  apply(change: RecordedChange): void {
    if (!("splices" in change)) return;
    for (const { at, remove, insert } of change.splices) this.#splice(at, remove, insert);
  }

  toString(): string {
    return this.#rope?.toString() ?? this.#text;
  }

  #splice(at: number, remove: number, insert: string): void {
    const length = this.#rope?.length ?? this.#text.length;
    if (at + remove > length) throw damaged("a commit addresses text that is not there");
    this.#splices += 1;
    if (this.#rope !== undefined) {
      this.#rope.splice(at, remove, insert);
    } else if (this.#splices <= FEW || (at === length && remove === 0)) {
      this.#text = this.#text.slice(0, at) + insert + this.#text.slice(at + remove);
    } else {
      this.#rope = new TextRope(this.#text);
      this.#rope.splice(at, remove, insert);
    }
  }
}
