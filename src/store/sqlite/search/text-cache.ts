/** Units of text kept at hand. */
const MOST_UNITS = 64 * 1024 * 1024;

interface Kept {
  readonly version: number;
  readonly text: string;
  /** The number of the last search that looked at it. */
  used: number;
}

/**
 * Texts that were read, by block and version: unpacking one costs more than looking through it. What this
 * search or the one before it looked at stays, so that searches over more than there is room for, one after
 * the other, still find some of it here.
 */
export class TextCache {
  readonly #texts = new Map<number, Kept>();
  #units = 0;
  #search = 0;

  /** Another search begins. */
  begin(): void {
    this.#search += 1;
  }

  get(block: number, version: number): string | undefined {
    const found = this.#texts.get(block);
    if (found === undefined || found.version !== version) return undefined;
    found.used = this.#search;
    this.#texts.delete(block);
    this.#texts.set(block, found);
    return found.text;
  }

  put(block: number, version: number, text: string): void {
    this.#drop(block);
    for (const [oldest, { used }] of this.#texts) {
      if (this.#units + text.length <= MOST_UNITS || used >= this.#search - 1) break;
      this.#drop(oldest);
    }
    if (this.#units + text.length > MOST_UNITS) return;
    this.#texts.set(block, { version, text, used: this.#search });
    this.#units += text.length;
  }

  #drop(block: number): void {
    const found = this.#texts.get(block);
    if (found === undefined) return;
    this.#texts.delete(block);
    this.#units -= found.text.length;
  }
}
