import type { Part, Piece, Pieces } from "./pattern-part.ts";

/** The shortest literal worth asking an index for: its entries are made of three characters. */
const SHORTEST = 3;
/** So many units a stretch takes at most, for an index to have it in one piece. */
export const LONGEST_STRETCH = 64;
/**
 * So many units any number of a word's characters are counted with. Of such pieces a stretch has room for one: where it is
 * longer than that, what stands beside it still stands in one piece with its beginning or its end.
 */
export const LONGEST_WORD = 40;
/** Of one choice more are not needed to tell texts apart. */
const MOST_STRETCHES = 4;

/** What stands in a text, one piece directly behind the other. */
export interface Stretch {
  /** Its longest text: three characters or more. */
  readonly literal: string;
  readonly pieces: readonly Piece[];
}

/**
 * Every match has all the stretches of at least one of these choices, wherever they stand in it; those with longer
 * literals come first. Nothing is known when there are none. With `ignoreCase` their literals stand there in some case,
 * and are of ASCII.
 */
export type Required = readonly (readonly Stretch[])[];

export function requiredBy(part: Part): Required {
  const choices = part.map(stretchesOf);
  return choices.some(({ length }) => length === 0) ? [] : choices;
}

function stretchesOf(pieces: Pieces): Stretch[] {
  return runsOf(pieces)
    .flatMap((run) => stretchOf(run) ?? [])
    .toSorted((a, b) => b.literal.length - a.literal.length)
    .slice(0, MOST_STRETCHES);
}

function runsOf(pieces: Pieces): Piece[][] {
  const runs: Piece[][] = [[]];
  for (const piece of pieces) {
    const isHalf = typeof piece === "object" && !piece.text.isWellFormed();
    if (piece === "gap" || isHalf) runs.push([]);
    else runs.at(-1)!.push(piece);
  }
  return runs;
}

/** Its longest literal, and as much around it as there is room for. */
function stretchOf(run: readonly Piece[]): Stretch | undefined {
  let longest = 0;
  for (const [at, piece] of run.entries())
    if (textOf(piece).length > textOf(run[longest]).length) longest = at;
  const literal = textOf(run[longest]);
  if (Array.from(literal.slice(0, SHORTEST * 2)).length < SHORTEST) return undefined;
  if (literal.length > LONGEST_STRETCH) {
    const beginning = cut(literal);
    return { literal: beginning, pieces: [{ text: beginning }] };
  }
  let [first, end] = [longest, longest + 1];
  let room = LONGEST_STRETCH - literal.length;
  for (; end < run.length && unitsOf(run[end]!) <= room; end++) room -= unitsOf(run[end]!);
  for (; first > 0 && unitsOf(run[first - 1]!) <= room; first--) room -= unitsOf(run[first - 1]!);
  return { literal, pieces: run.slice(first, end) };
}

function unitsOf(piece: Piece): number {
  if (typeof piece === "object") return piece.text.length;
  return { word: 1, words: LONGEST_WORD, edge: 0 }[piece];
}

function textOf(piece: Piece | undefined): string {
  return typeof piece === "object" ? piece.text : "";
}

function cut(literal: string): string {
  const beginning = literal.slice(0, LONGEST_STRETCH);
  return beginning.isWellFormed() ? beginning : beginning.slice(0, -1);
}
