/** Every unit ever inserted, in the order of insertion. A unit's index here is its counter. */
const CHUNK_UNITS = 8192;

export class InsertStore {
  #full: string[] = [];
  #tail = "";
  /** The counter of the newest newline. */
  #newline = -1;

  get length(): number {
    return this.#full.length * CHUNK_UNITS + this.#tail.length;
  }

  append(text: string): void {
    const newline = text.lastIndexOf("\n");
    if (newline !== -1) this.#newline = this.length + newline;
    let tail = this.#tail + text;
    while (tail.length >= CHUNK_UNITS) {
      this.#full.push(tail.slice(0, CHUNK_UNITS));
      tail = tail.slice(CHUNK_UNITS);
    }
    this.#tail = tail;
  }

  /** Asked of nearly every key that is typed: reading the store each time would be to put its tail together anew. */
  isNewline(counter: number): boolean {
    if (counter >= this.#newline) return counter === this.#newline;
    return this.slice(counter, counter + 1) === "\n";
  }

  slice(start: number, end: number): string {
    const first = Math.floor(start / CHUNK_UNITS);
    const last = Math.floor((end - 1) / CHUNK_UNITS);
    const base = first * CHUNK_UNITS;
    if (first === last) return this.#chunk(first).slice(start - base, end - base);
    let result = "";
    for (let chunk = first; chunk <= last; chunk++) {
      const origin = chunk * CHUNK_UNITS;
      result += this.#chunk(chunk).slice(Math.max(0, start - origin), end - origin);
    }
    return result;
  }

  /** The counter of the last newline in a range, or -1. What is before it is not read, however long the range is. */
  lastNewline(start: number, end: number): number {
    for (let until = end; until > start;) {
      const origin = Math.floor((until - 1) / CHUNK_UNITS) * CHUNK_UNITS;
      const newline = this.#chunk(origin / CHUNK_UNITS).lastIndexOf("\n", until - 1 - origin);
      if (newline !== -1) return origin + newline < start ? -1 : origin + newline;
      until = origin;
    }
    return -1;
  }

  /** The counter of the first newline in a range, or -1. */
  firstNewline(start: number, end: number): number {
    for (let from = start; from < end;) {
      const origin = Math.floor(from / CHUNK_UNITS) * CHUNK_UNITS;
      const newline = this.#chunk(origin / CHUNK_UNITS).indexOf("\n", from - origin);
      if (newline !== -1) return origin + newline < end ? origin + newline : -1;
      from = origin + CHUNK_UNITS;
    }
    return -1;
  }

  #chunk(index: number): string {
    return index < this.#full.length ? this.#full[index]! : this.#tail;
  }
}
