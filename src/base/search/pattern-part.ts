/**
 * A piece of what a pattern matches: a text as it stands; one character of `\w`; any number of them; a place that does
 * not have such a character on both sides.
 */
export type Piece = { readonly text: string } | "word" | "words" | "edge";

/** Pieces one behind the other; at a gap anything may stand, or nothing, or what stands beside it once more. */
export type Pieces = readonly (Piece | "gap")[];

/** What is known of a part of a pattern: every match of it is made of the pieces of one of these. */
export type Part = readonly Pieces[];

export const ANYTHING: Part = [["gap"]];
export const NOTHING_WIDE: Part = [[]];

const MOST_CHOICES = 16;
/** More of them one behind the other say no more. */
const MOST_TIMES = 64;

export function partOf(...pieces: Pieces): Part {
  return [pieces];
}

export function eitherOf(parts: readonly Part[]): Part {
  const choices = parts.flat();
  return choices.length > MOST_CHOICES ? ANYTHING : choices;
}

/** Parts that follow one another. */
export class Sequence {
  #choices: (Piece | "gap")[][] = [[]];

  finish(): Part {
    return this.#choices;
  }

  add(part: Part): void {
    if (part.length === 1) {
      for (const choice of this.#choices) join(choice, part[0]!);
    } else if (part.length * this.#choices.length <= MOST_CHOICES) {
      this.#choices = this.#choices.flatMap((choice) =>
        part.map((pieces) => join([...choice], pieces)),
      );
    } else if (strengthOf(part) > strengthOf(this.#choices)) {
      this.#choices = part.map((pieces) => join(["gap"], pieces));
    } else this.add(ANYTHING);
  }

  repeat(part: Part, least: number, most: number): void {
    const only = part.length === 1 ? part[0]! : undefined;
    const text = only && textOf(only);
    const isWord = only?.length === 1 && only[0] === "word";
    if (least === 1 && most === 1) this.add(part);
    else if (isWord) {
      for (let times = 0; times < Math.min(least, MOST_TIMES); times++) this.add(part);
      if (most > least || least > MOST_TIMES) this.add(partOf("words"));
    } else if (least === 0) this.add(ANYTHING);
    else if (text === undefined) {
      this.add(part.map((pieces) => ["gap", ...pieces, "gap"]));
    } else if (least === most && text.length * least <= MOST_TIMES) {
      this.add(partOf({ text: text.repeat(least) }));
    } else {
      // Once behind what came before, and once before what follows.
      this.add(partOf({ text }, "gap", { text }));
    }
  }
}

/** The longest text in each choice, of the one where that is shortest. */
function strengthOf(part: Part): number {
  const longest = (pieces: Pieces): number =>
    Math.max(0, ...pieces.map((piece) => (typeof piece === "object" ? piece.text.length : 0)));
  return Math.min(...part.map(longest));
}

/** The one text it matches; undefined when it may match others. */
function textOf(pieces: Pieces): string | undefined {
  const isText = pieces.every((piece) => typeof piece === "object");
  return isText ? pieces.map(({ text }) => text).join("") : undefined;
}

function join(to: (Piece | "gap")[], pieces: Pieces): (Piece | "gap")[] {
  for (const piece of pieces) {
    // Between two texts it says nothing that they do not.
    if (typeof piece === "object" && to.at(-1) === "edge" && typeof to.at(-2) === "object")
      to.pop();
    const last = to.at(-1);
    if (typeof piece !== "object") {
      if (piece === "word" || piece !== last) to.push(piece);
    } else if (typeof last === "object") to[to.length - 1] = { text: last.text + piece.text };
    else if (piece.text !== "") to.push(piece);
  }
  return to;
}
