/**
 * Joins successive splices that touch each other into one: a word typed, erased and typed again becomes
 * what is left of it. Only the outcome is written, once, when a splice goes elsewhere or at the end.
 */
export class SpliceComposer {
  readonly #write: (at: number, remove: number, insert: string) => void;
  #at = 0;
  #removed = 0;
  #text = "";

  constructor(write: (at: number, remove: number, insert: string) => void) {
    this.#write = write;
  }

  add(at: number, remove: number, insert: string): void {
    if (at > this.#at + this.#text.length || at + remove < this.#at) {
      this.flush();
      this.#at = at;
    }
    const before = Math.max(0, this.#at - at);
    const local = Math.max(0, at - this.#at);
    const ofText = Math.min(remove - before, this.#text.length - local);
    this.#at -= before;
    this.#removed += remove - ofText;
    this.#text =
      local === this.#text.length
        ? this.#text + insert
        : this.#text.slice(0, local) + insert + this.#text.slice(local + ofText);
  }

  flush(): void {
    if (this.#removed > 0 || this.#text !== "") this.#write(this.#at, this.#removed, this.#text);
    this.#removed = 0;
    this.#text = "";
  }
}
