import type { BlameEntry, EditTarget } from "../blocks/index.ts";
import { DISK } from "./found-text.ts";
import { hasWords } from "./words.ts";

export interface Range {
  readonly start: number;
  readonly end: number;
}

export interface Change extends Range {
  readonly insert: string;
}

/** Whole lines, without the newline that ends the last one, and what changes in them. */
export interface Lines extends Range {
  readonly changes: Change[];
}

/** Of each run, how far what goes with it reaches to either side; undefined where nothing does. */
interface Reaches {
  readonly starts: readonly (number | undefined)[];
  readonly ends: readonly (number | undefined)[];
}

/** The text as it was, and who wrote it. */
export class Origin {
  readonly target: EditTarget;
  readonly text: string;
  /** What was in the file from the beginning. */
  readonly fixed: string | undefined;

  constructor(target: EditTarget) {
    this.target = target;
    this.text = target.read();
    const first = target.version === 0 ? undefined : target.authors([1])[0];
    this.fixed = first?.actor === DISK.actor ? first.edit : undefined;
  }

  /** The Edit that wrote a character. */
  at(offset: number): string | undefined {
    if (offset < 0 || offset >= this.text.length) return undefined;
    return this.target.blame(offset, offset + 1)[0]?.edit;
  }

  /** Whether something comes directly behind what an Edit wrote in a line. */
  isBehindEdit({ start, end, insert }: Change): boolean {
    if (insert === "" || start === 0 || this.text[start - 1] === "\n") return false;
    const before = this.at(start - 1);
    return before !== this.fixed && before !== this.at(end);
  }

  /** Whether it replaces something, or what is next may become the program's: it says nothing, and goes with no other Edit. */
  canComeBehind({ start, end }: Change): boolean {
    if (end > start) return true;
    if (end >= this.text.length || hasWords(this.text[end]!)) return false;
    return this.text[end]!.trim() === "" || this.at(end) === this.fixed;
  }
}

/** Lines of which something is changed, and who wrote what of them. */
export class ChangedLines {
  readonly #origin: Origin;
  readonly #lines: Lines;
  readonly #runs: readonly BlameEntry[];
  readonly #newlineBy: string | undefined;

  constructor(origin: Origin, lines: Lines) {
    this.#origin = origin;
    this.#lines = lines;
    this.#runs = origin.target.blame(lines.start, lines.end);
    this.#newlineBy = origin.at(lines.end);
  }

  /** What goes of them. */
  widened(): Range[] {
    const { changes } = this.#lines;
    const { fixed } = this.#origin;
    const own = changes.filter((change) => !this.#isMere(change));
    // What was only taken away leaves nothing behind.
    if (own.every(({ insert }) => insert === "")) return [...changes, ...this.#newlineLeft()];
    const taken = new Set(own.flatMap((change) => this.#changedBy(change)));
    if (fixed !== undefined) taken.delete(fixed);
    const reaches = this.#reaches(taken);
    return changes.map((change) => this.#around(change, taken, reaches));
  }

  /** Changes nothing of what is said. */
  #isMere(change: Change): boolean {
    const gone = this.#origin.text.slice(change.start, change.end);
    if (hasWords(gone) || hasWords(change.insert)) return false;
    if ((gone + change.insert).trim() === "") return true;
    return !this.#isWithin(change) && !this.#isStuck(change);
  }

  /** What the Edit took the place of would come back behind it. */
  #isStuck(change: Change): boolean {
    return this.#origin.isBehindEdit(change) && !this.#origin.canComeBehind(change);
  }

  /** Whether it is in the middle of what one Edit wrote. */
  #isWithin({ start, end }: Change): boolean {
    const before = this.#at(start - 1);
    return before !== undefined && before === this.#at(end);
  }

  /** The Edits of whose text it takes something, in whose midst it is, or behind whose text it cannot be put. */
  #changedBy(change: Change): string[] {
    const { start, end } = change;
    const edits: string[] = [];
    for (let at = this.#runAt(start); this.#runs[at] !== undefined; at++) {
      const run = this.#runs[at]!;
      if (run.start >= end) break;
      edits.push(run.edit);
    }
    if (this.#isWithin(change)) edits.push(this.#at(end)!);
    if (!hasWords(change.insert) && this.#isStuck(change)) edits.push(this.#at(start - 1)!);
    return edits;
  }

  #around(change: Change, taken: ReadonlySet<string>, { starts, ends }: Reaches): Range {
    const start = Math.min(change.start, starts[this.#runAt(change.start - 1)] ?? change.start);
    const end = Math.max(change.end, ends[this.#runAt(change.end)] ?? change.end);
    // The newline that the Edit ended the line with is the line's.
    const isEnded = this.#newlineBy !== undefined && taken.has(this.#newlineBy);
    return { start, end: end === this.#lines.end && isEnded ? end + 1 : end };
  }

  /** Found for all changes at once: a program may change a line in thousands of places, each with all of its runs around it. */
  #reaches(taken: ReadonlySet<string>): Reaches {
    const runs = this.#runs;
    const passed = runs.map((run) => !taken.has(run.edit) && this.#isPassed(run));
    const reach = (at: number, beside: number | undefined, own: number): number | undefined => {
      if (taken.has(runs[at]!.edit)) return beside ?? own;
      return passed[at] === true ? beside : undefined;
    };
    const starts: (number | undefined)[] = [];
    for (const [at, { start }] of runs.entries()) starts[at] = reach(at, starts[at - 1], start);
    const ends: (number | undefined)[] = runs.map(() => undefined);
    for (let at = runs.length - 1; at >= 0; at--) {
      const { start, length } = runs[at]!;
      ends[at] = reach(at, ends[at + 1], start + length);
    }
    return { starts, ends };
  }

  /** What a program put between two parts of what an Edit wrote does not keep them apart. */
  #isPassed({ start, length, edit, version }: BlameEntry): boolean {
    if (edit === this.#origin.fixed || hasWords(this.#origin.text.slice(start, start + length)))
      return false;
    return this.#origin.target.authors([version])[0]?.actor === DISK.actor;
  }

  /**
   * Lines that are all of one Edit go when it is undone: what a program put into them then has a line of its own, and is not
   * what the next one begins with.
   */
  #newlineLeft(): Range[] {
    const by = this.#newlineBy;
    const isOwn =
      by !== undefined && by !== this.#origin.fixed && this.#runs.every(({ edit }) => edit === by);
    if (!isOwn || !this.#lines.changes.some((change) => this.#isInLine(change))) return [];
    const { end } = this.#lines;
    return [{ start: end, end: end + 1 }];
  }

  /** Whether it puts something into a line, and not lines between lines. */
  #isInLine({ start, insert }: Change): boolean {
    if (insert === "") return false;
    return !insert.endsWith("\n") || (start > 0 && this.#origin.text[start - 1] !== "\n");
  }

  #at(offset: number): string | undefined {
    return this.#runs[this.#runAt(offset)]?.edit;
  }

  /** Which run an offset is in; what is behind the last one when it is in none. */
  #runAt(offset: number): number {
    let low = 0;
    let high = this.#runs.length;
    if (offset < this.#lines.start) return high;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const { start, length } = this.#runs[middle]!;
      if (start + length <= offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
