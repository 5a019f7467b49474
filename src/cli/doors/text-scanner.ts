/** What stands in the way of a change; nothing was changed. */
export class NotEditable extends Error {}

interface Language {
  readonly name: string;
  /** What may stand between any two things: spaces and comments. Sticky. */
  readonly blank: RegExp;
}

/** Goes through a text and says where it is; what a language has in it is for who uses this. */
export class TextScanner {
  readonly text: string;
  readonly #language: Language;
  #at: number;

  constructor(text: string, language: Language) {
    this.text = text;
    this.#language = language;
    this.#at = text.startsWith("\uFEFF") ? 1 : 0;
  }

  get at(): number {
    return this.#at;
  }

  /** The character that comes next; undefined at the end. */
  get next(): string | undefined {
    return this.text[this.#at];
  }

  skip(): void {
    this.match(this.#language.blank);
  }

  takes(text: string): boolean {
    const there = this.text.startsWith(text, this.#at);
    if (there) this.#at += text.length;
    return there;
  }

  /** What the pattern, which is sticky, finds here; it must find something. */
  match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.text)?.[0];
    if (found === undefined) throw this.unexpected();
    this.#at += found.length;
    return found;
  }

  /** Items with commas between them; says whether the last has one too. */
  items(opening: string, closing: string, item: () => void): boolean {
    if (!this.takes(opening)) throw this.unexpected();
    for (let comma = false; ;) {
      this.skip();
      if (this.takes(closing)) return comma;
      item();
      this.skip();
      comma = this.takes(",");
      if (!comma && this.next !== closing) throw this.unexpected();
    }
  }

  unexpected(): NotEditable {
    const line = this.text.slice(0, this.#at).split("\n").length;
    return new NotEditable(`line ${line} is not ${this.#language.name}`);
  }
}
