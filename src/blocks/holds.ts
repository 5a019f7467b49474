/** The death numbers that one splice gave: one deletion. */
export interface Deletion {
  readonly first: number;
  readonly end: number;
}

interface Held extends Deletion {
  /** Versions at which it began to hold, ceased to, and so on. */
  readonly toggles: readonly number[];
}

/**
 * The deletions of undone Edits that hold all the same, because others decided what stands in their place; now and at
 * any version. A function of the flips in version order.
 */
export class Holds {
  /** In the order of death numbers, none overlapping. */
  readonly #deletions: readonly Held[];

  private constructor(deletions: readonly Held[]) {
    this.#deletions = deletions;
  }

  static readonly none = new Holds([]);

  /** Where pieces have to be cut so that each belongs to one of these deletions or to none. */
  static cuttingAt(deletions: readonly Deletion[]): Holds {
    return new Holds(deletions.map(({ first, end }) => ({ first, end, toggles: [] })));
  }

  /** The first death numbers of those that hold now. */
  get held(): number[] {
    return this.#deletions.filter(({ toggles }) => toggles.length % 2 === 1).map((d) => d.first);
  }

  toggled(deletions: readonly Deletion[], version: number): Holds {
    if (deletions.length === 0) return this;
    const all = new Map(this.#deletions.map((each) => [each.first, each]));
    for (const { first, end } of deletions) {
      all.set(first, { first, end, toggles: [...(all.get(first)?.toggles ?? []), version] });
    }
    return new Holds([...all.values()].toSorted((a, b) => a.first - b.first));
  }

  /** Whether a death number is of a deletion that holds. */
  holds(death: number, version = Infinity): boolean {
    const toggles = this.togglesOf(death);
    let count = 0;
    while (count < toggles.length && toggles[count]! <= version) count++;
    return count % 2 === 1;
  }

  togglesOf(death: number): readonly number[] {
    const found = this.#deletions[this.#upTo(death)];
    return found !== undefined && death < found.end ? found.toggles : [];
  }

  /** How many death numbers from `death` on, `most` at most, have the same fate here. */
  alike(death: number, descending: boolean, most: number): number {
    if (this.#deletions.length === 0) return most;
    const at = this.#upTo(death);
    const last = this.#deletions[at];
    const inside = last !== undefined && death < last.end;
    if (descending) {
      const lowest = inside ? last.first : (last?.end ?? 0);
      return Math.min(most, death - lowest + 1);
    }
    const end = inside ? last.end : (this.#deletions[at + 1]?.first ?? Infinity);
    return Math.min(most, end - death);
  }

  /** The last deletion that does not begin behind `death`; -1 without one. */
  #upTo(death: number): number {
    let low = 0;
    let high = this.#deletions.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#deletions[middle]!.first <= death) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
}
