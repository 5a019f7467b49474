import { KumikoError } from "./errors.ts";

const NEWLINE = 10;
/** For bytes that end with a line. One that was ever told that more comes is several times as slow. */
const whole = new TextDecoder("utf-8", { ignoreBOM: true });
/** Some programs begin with one, in front of the first line. */
const MARK = "\uFEFF";

/** Cuts UTF-8 that comes in pieces into lines; one that never ends is refused before it fills the memory. */
export class LineReader {
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  readonly #longest: number;
  #isMidway = false;
  #isBegun = false;
  #begun: string[] = [];
  #length = 0;

  constructor(longest: number) {
    this.#longest = longest;
  }

  *read(chunk: Uint8Array): Generator<string, void, void> {
    const text = this.#withoutMark(this.#decode(chunk));
    let start = 0;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", start)) {
      let line = text.slice(start, end);
      if (this.#begun.length > 0) {
        line = this.#begun.join("") + line;
        this.#begun = [];
        this.#length = 0;
      }
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

  #decode(chunk: Uint8Array): string {
    const endsLine = chunk.at(-1) === NEWLINE;
    if (endsLine && !this.#isMidway) return whole.decode(chunk);
    this.#isMidway = !endsLine;
    return this.#decoder.decode(chunk, { stream: !endsLine });
  }

  #withoutMark(text: string): string {
    if (this.#isBegun || text === "") return text;
    this.#isBegun = true;
    return text.startsWith(MARK) ? text.slice(MARK.length) : text;
  }
}
