import type { TreeWriter } from "./tree-writer.ts";

const TAIL = 4;

/**
 * The text that a parser has not decided about yet, with the logprobs of the pieces in which it
 * came. Taking text off its front writes it, cut where a piece with a logprob ends.
 */
export class Source {
  /** Undecided text; parsers read it and move on with `take`. */
  text = "";
  /** How much of `text` was taken. */
  at = 0;
  /** Where `text` begins in the whole. */
  base = 0;
  /** The few characters before `text`: enough to know how its line begins. */
  tail = "";
  /** What was added last, and how often something was. */
  added = "";
  additions = 0;
  #pieces: { end: number; logprob: number | null }[] = [];
  #piece = 0;

  get offset(): number {
    return this.base + this.at;
  }

  get isEmpty(): boolean {
    return this.at === this.text.length;
  }

  add(text: string, logprob: number | null): void {
    const { at } = this;
    this.additions++;
    this.added = text;
    if (at === this.text.length) {
      // Only the last characters count, but a text that is there anyway is cheaper than a copy of them.
      if (at >= TAIL) this.tail = this.text;
      else if (at > 0) this.tail = this.tail.slice(-TAIL) + this.text;
      this.text = text;
    } else if (at === 0) this.text += text;
    else {
      this.tail = (this.tail.slice(-TAIL) + this.text.slice(0, at)).slice(-TAIL);
      this.text = this.text.slice(at) + text;
    }
    this.base += at;
    this.at = 0;
    if (logprob === null && this.#pieces.length === 0) return;
    const end = this.base + this.text.length;
    if (logprob === null && this.#piece === this.#pieces.length) {
      this.#pieces.length = 0;
      this.#piece = 0;
      return;
    }
    this.#pieces.splice(0, this.#piece);
    this.#piece = 0;
    // What was held before logprobs began has none.
    if (this.#pieces.length === 0 && end - text.length > this.base) {
      this.#pieces.push({ end: end - text.length, logprob: null });
    }
    this.#pieces.push({ end, logprob });
  }

  /** Adds text that was written already. Everything before it was taken. */
  pass(text: string): void {
    const { length } = this.text;
    this.base += length;
    if (length >= TAIL) this.tail = this.text;
    else if (length > 0) this.tail = this.tail.slice(-TAIL) + this.text;
    this.text = text;
    this.at = text.length;
  }

  /** The code of the character before an index of `text`, as far back as the tail goes; 0: none. */
  codeBefore(index: number): number {
    if (index > 0) return this.text.charCodeAt(index - 1);
    const at = this.tail.length + index - 1;
    return at >= 0 ? this.tail.charCodeAt(at) : 0;
  }

  /** Writes everything up to an index of `text`. */
  take(to: number, style: string, writer: TreeWriter): void {
    if (to <= this.at) return;
    if (this.#pieces.length === 0) {
      writer.write(this.text, this.at, to, style, null);
      this.at = to;
      return;
    }
    while (this.#piece < this.#pieces.length) {
      const { end, logprob } = this.#pieces[this.#piece]!;
      const local = Math.min(to, end - this.base);
      if (local > this.at) writer.write(this.text, this.at, local, style, logprob);
      this.at = local;
      if (end - this.base <= to) this.#piece++;
      if (local === to) return;
    }
    writer.write(this.text, this.at, to, style, null);
    this.at = to;
  }
}
