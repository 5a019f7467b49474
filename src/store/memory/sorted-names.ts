import { compareNames } from "../contract.ts";

/** Names in order, each with a value: found by binary search, appended at the end in O(1). */
export class SortedNames<Value> {
  readonly #names: string[] = [];
  readonly #values: Value[] = [];

  get(name: string): Value | undefined {
    const at = this.#at(name);
    return this.#names[at] === name ? this.#values[at] : undefined;
  }

  set(name: string, value: Value): void {
    const at = this.#at(name);
    if (this.#names[at] === name) {
      this.#values[at] = value;
    } else if (at === this.#names.length) {
      this.#names.push(name);
      this.#values.push(value);
    } else {
      this.#names.splice(at, 0, name);
      this.#values.splice(at, 0, value);
    }
  }

  delete(name: string): void {
    const at = this.#at(name);
    if (this.#names[at] !== name) return;
    this.#names.splice(at, 1);
    this.#values.splice(at, 1);
  }

  /** The values behind a name, or before it when asked for backwards. */
  page(after: string | undefined, limit: number, backwards = false): Value[] {
    if (backwards) {
      const end = after === undefined ? this.#names.length : this.#at(after);
      return this.#values.slice(Math.max(0, end - limit), end).toReversed();
    }
    if (after === undefined) return this.#values.slice(0, limit);
    const at = this.#at(after);
    const begin = this.#names[at] === after ? at + 1 : at;
    return this.#values.slice(begin, begin + limit);
  }

  entries(): { name: string; value: Value }[] {
    return this.#names.map((name, index) => ({ name, value: this.#values[index]! }));
  }

  #at(name: string): number {
    const last = this.#names.length - 1;
    if (last >= 0 && compareNames(this.#names[last]!, name) < 0) return last + 1;
    let low = 0;
    let high = this.#names.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compareNames(this.#names[middle]!, name) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
