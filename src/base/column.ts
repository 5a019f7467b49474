/**
 * Numbers appended in order and read by index, kept in one typed array that doubles. Millions of
 * entries cost 4 (or 8) bytes each and nothing for the garbage collector to walk.
 */
export class IntColumn {
  #values: Int32Array<ArrayBuffer>;
  #length = 0;

  constructor(capacity = 8) {
    this.#values = new Int32Array(capacity);
  }

  get length(): number {
    return this.#length;
  }

  push(value: number): void {
    if (this.#length === this.#values.length) {
      const larger = new Int32Array(this.#values.length * 2);
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[this.#length++] = value;
  }

  /** The numbers themselves, for loops over very many; valid until the next push. */
  get values(): Readonly<Int32Array> {
    return this.#values;
  }

  at(index: number): number {
    return this.#values[index]!;
  }

  set(index: number, value: number): void {
    this.#values[index] = value;
  }

  /** The first index whose value is greater than `value`, in a column that never falls. */
  firstAbove(value: number): number {
    let low = 0;
    let high = this.#length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#values[middle]! > value) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
