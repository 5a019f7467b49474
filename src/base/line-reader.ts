import { KumikoError } from "./errors.ts";

/** Cuts UTF-8 that comes in pieces into lines; one that never ends is refused before it fills the memory. */
export class LineReader {
  readonly #decoder = new TextDecoder();
  readonly #longest: number;
  #begun: string[] = [];
  #length = 0;

  constructor(longest: number) {
    this.#longest = longest;
  }

  *read(chunk: Uint8Array): Generator<string, void, void> {
    const text = this.#decoder.decode(chunk, { stream: true });
    let start = 0;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", start)) {
      this.#begun.push(text.slice(start, end));
      const line = this.#begun.join("");
      this.#begun = [];
      this.#length = 0;
      start = end + 1;
      yield line;
    }
    if (start === text.length) return;
    this.#begun.push(text.slice(start));
    this.#length += text.length - start;
    if (this.#length > this.#longest) {
      throw new KumikoError("too_large", `A line is longer than ${this.#longest} characters.`, {
        limit: this.#longest,
      });
    }
  }
}
