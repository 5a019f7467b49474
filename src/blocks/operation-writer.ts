import type { LoroText } from "loro-crdt";
import type { InsertStore } from "./insert-store.ts";

/**
 * Writes splices to Loro in as few calls as leave every operation what it would have been: typing that goes on
 * is one call.
 *
 * Nothing more may be joined. Loro numbers operations unit by unit, replicas know them by those numbers, and
 * after a crash the same splices are written again with other pauses. A word that was typed and erased must
 * take its numbers again, and two deletions at one place are numbered otherwise than one of both (back to
 * front, where the text comes from several insertions): two operations would share a number.
 */
export class OperationWriter {
  readonly #text: LoroText;
  readonly #inserted: InsertStore;
  #at = 0;
  #counter = 0;
  #length = 0;

  constructor(text: LoroText, inserted: InsertStore) {
    this.#text = text;
    this.#inserted = inserted;
  }

  remove(at: number, length: number): void {
    this.flush();
    this.#text.delete(at, length);
  }

  /** Units that have counters of their own: those that follow each other in place and number are one call. */
  insert(at: number, counter: number, length: number): void {
    const goesOn = at === this.#at + this.#length && counter === this.#counter + this.#length;
    if (this.#length > 0 && !goesOn) this.flush();
    if (this.#length === 0) {
      this.#at = at;
      this.#counter = counter;
    }
    this.#length += length;
  }

  /** Text that is shown again: it has its counters from long ago. */
  restore(at: number, text: string): void {
    this.flush();
    this.#text.insert(at, text);
  }

  flush(): void {
    if (this.#length === 0) return;
    this.#text.insert(this.#at, this.#inserted.slice(this.#counter, this.#counter + this.#length));
    this.#length = 0;
  }
}
