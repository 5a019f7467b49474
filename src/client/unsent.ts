import type { Splice } from "../blocks/index.ts";

/** What a person typed and no server has: handed back when it cannot be sent any more. */
export interface UnsentText {
  /** Everything inserted that still stands, place by place. */
  readonly inserted: readonly string[];
  /** The edits, as they were made; each in the text that the one before it left. */
  readonly splices: readonly Splice[];
  /** The whole text as it stood here. */
  readonly text: string;
}

interface Entry {
  readonly own: boolean;
  readonly splices: readonly Splice[];
  /** What takes an own edit back. */
  readonly back: readonly Splice[];
}

/** The edits that are not known to be on disk yet, with what others changed between them. */
export class Unsent {
  #entries: Entry[] = [];
  /** How many of them are under way. */
  #flying = 0;

  get edits(): readonly Splice[] {
    return this.#entries.filter(({ own }) => own).flatMap(({ splices }) => splices);
  }

  get isEmpty(): boolean {
    return this.#entries.length === 0;
  }

  made(splices: readonly Splice[], back: readonly Splice[]): void {
    this.#entries.push({ own: true, splices, back });
  }

  /** Others changed the text: it matters to edits before it. */
  merged(splices: readonly Splice[]): void {
    if (this.#entries.length > 0) this.#entries.push({ own: false, splices, back: [] });
  }

  /** All there is goes on its way. */
  fly(): void {
    this.#flying = this.#entries.length;
  }

  /** What was on its way has arrived. */
  landed(): void {
    this.#entries.splice(0, this.#flying);
    this.#flying = 0;
    if (!this.#entries.some(({ own }) => own)) this.#entries = [];
  }

  /** What was on its way may not have arrived. */
  grounded(): void {
    this.#flying = 0;
  }

  clear(): void {
    this.#entries = [];
    this.#flying = 0;
  }

  /** Forgets the last edit and says what takes it back; undefined when it may be at the server, or others edited since. */
  takeBack(): readonly Splice[] | undefined {
    const last = this.#entries.at(-1);
    if (last?.own !== true || this.#entries.length <= this.#flying) return undefined;
    this.#entries.pop();
    return last.back;
  }

  handBack(text: string): UnsentText {
    return { inserted: this.#inserted(), splices: this.edits, text };
  }

  #inserted(): string[] {
    // Stretches of the text: our own, and what is not ours by its length alone.
    let pieces: (string | number)[] = [Number.MAX_SAFE_INTEGER];
    for (const { own, splices } of this.#entries) {
      for (const { at, remove, insert } of splices) {
        const [before, rest] = cut(pieces, at);
        const [, after] = cut(rest, remove);
        pieces = [...before, own ? insert : insert.length, ...after];
      }
    }
    const joined: string[] = [];
    let open = false;
    for (const piece of pieces) {
      if (piece === "" || piece === 0) continue;
      if (typeof piece === "string") {
        if (open) joined[joined.length - 1] += piece;
        else joined.push(piece);
      }
      open = typeof piece === "string";
    }
    return joined;
  }
}

type Pieces = (string | number)[];

function cut(pieces: Pieces, at: number): [Pieces, Pieces] {
  let left = at;
  for (const [index, piece] of pieces.entries()) {
    const length = typeof piece === "string" ? piece.length : piece;
    if (left >= length) {
      left -= length;
      continue;
    }
    const [head, tail] =
      typeof piece === "string" ? [piece.slice(0, left), piece.slice(left)] : [left, piece - left];
    return [
      [...pieces.slice(0, index), head],
      [tail, ...pieces.slice(index + 1)],
    ];
  }
  return [pieces, []];
}
