import type { LoroText } from "loro-crdt";

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
  #at = 0;
  #inserted = "";

  constructor(text: LoroText) {
    this.#text = text;
  }

  write(at: number, remove: number, insert: string): void {
    if (remove > 0) {
      this.flush();
      this.#text.delete(at, remove);
    }
    if (insert === "") return;
    if (at !== this.#at + this.#inserted.length) this.flush();
    if (this.#inserted === "") this.#at = at;
    this.#inserted += insert;
  }

  flush(): void {
    if (this.#inserted !== "") this.#text.insert(this.#at, this.#inserted);
    this.#inserted = "";
  }
}
