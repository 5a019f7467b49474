import { isOfWord } from "../blocks/index.ts";

const NEWLINE = 10;

/** Whether it says something by itself, other than white space and signs do. */
export function hasWords(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (isOfWord(text.charCodeAt(at))) return true;
  return false;
}

/** What a line says, however it is indented and whatever is between its words. */
export function saidIn(line: string): string {
  return new Words(line).all.join(" ");
}

/** The words of a text, one by one, whatever is between them. */
export class Words {
  readonly all: string[] = [];
  /** Of each word, which line it is in. */
  readonly lineOf: number[] = [];
  /** Of each line, how many characters its words have. */
  readonly lineWeights: number[] = [0];
  readonly #starts: number[] = [];
  readonly #length: number;

  constructor(text: string) {
    this.#length = text.length;
    let line = 0;
    for (let at = 0; at < text.length; at++) {
      const start = at;
      while (isOfWord(text.charCodeAt(at))) at++;
      if (at > start) {
        this.all.push(text.slice(start, at));
        this.#starts.push(start);
        this.lineOf.push(line);
        this.lineWeights[line]! += at - start;
      }
      if (text.charCodeAt(at) === NEWLINE) this.lineWeights[++line] = 0;
    }
  }

  /** Where a word begins; behind the last one, where the text ends. */
  start(word: number): number {
    return this.#starts[word] ?? this.#length;
  }

  /** Where a word ends. */
  end(word: number): number {
    return this.start(word) + (this.all[word]?.length ?? 0);
  }
}
