import type { LoroText } from "loro-crdt";

/**
 * Writes splices to Loro in as few calls as leave every operation what it would have been: typing that goes
 * on, and text deleted forwards from one place, are one call each.
 *
 * Nothing more may be joined. Loro numbers operations unit by unit, replicas know them by those numbers, and
 * after a crash the same splices are written again with other pauses: a word that was typed and erased must
 * take its numbers again, or two operations would share one.
 */
export class OperationWriter {
  readonly #text: LoroText;
  #at = 0;
  #removed = 0;
  #inserted = "";

  constructor(text: LoroText) {
    this.#text = text;
  }

  write(at: number, remove: number, insert: string): void {
    if (remove > 0) {
      if (this.#inserted !== "" || at !== this.#at) this.flush();
      this.#at = at;
      this.#removed += remove;
    }
    if (insert === "") return;
    if (this.#removed > 0 || at !== this.#at + this.#inserted.length) this.flush();
    if (this.#inserted === "") this.#at = at;
    this.#inserted += insert;
  }

  flush(): void {
    if (this.#removed > 0) this.#text.delete(this.#at, this.#removed);
    if (this.#inserted !== "") this.#text.insert(this.#at, this.#inserted);
    this.#removed = 0;
    this.#inserted = "";
  }
}
