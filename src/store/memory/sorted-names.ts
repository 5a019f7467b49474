import { compareNames } from "../contract.ts";

/** Names in order, each with a value. New ones are sorted in when order is next asked for. */
export class SortedNames<Value> {
  readonly #values = new Map<string, Value>();
  #sorted: string[] = [];
  #unsorted: string[] = [];

  get(name: string): Value | undefined {
    return this.#values.get(name);
  }

  set(name: string, value: Value): void {
    if (!this.#values.has(name)) this.#unsorted.push(name);
    this.#values.set(name, value);
  }

  delete(name: string): void {
    if (!this.#values.delete(name)) return;
    const names = this.#inOrder();
    names.splice(this.#at(name), 1);
  }

  /** The values behind a name, or before it when asked for backwards. */
  page(after: string | undefined, limit: number, backwards = false): Value[] {
    const names = this.#inOrder();
    if (backwards) {
      const end = after === undefined ? names.length : this.#at(after);
      return this.#valuesOf(names.slice(Math.max(0, end - limit), end).toReversed());
    }
    const at = after === undefined ? 0 : this.#at(after);
    const begin = after !== undefined && names[at] === after ? at + 1 : at;
    return this.#valuesOf(names.slice(begin, begin + limit));
  }

  entries(): { name: string; value: Value }[] {
    return this.#inOrder().map((name) => ({ name, value: this.#values.get(name)! }));
  }

  #valuesOf(names: readonly string[]): Value[] {
    return names.map((name) => this.#values.get(name)!);
  }

  #inOrder(): string[] {
    if (this.#unsorted.length > 0) {
      // The sort finds the run that is in order already: adding one costs a pass, not a sort.
      this.#sorted = [...this.#sorted, ...this.#unsorted.toSorted(compareNames)].toSorted(
        compareNames,
      );
      this.#unsorted = [];
    }
    return this.#sorted;
  }

  /** The first name that is not below this one. */
  #at(name: string): number {
    let low = 0;
    let high = this.#sorted.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compareNames(this.#sorted[middle]!, name) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
