import { diffLines, Effort, type Splice, trimmed } from "../blocks/index.ts";
import { type WordPair, wordPairs } from "./word-pairs.ts";
import { Words } from "./words.ts";

/** Some 15 ms for all that one merge changed; behind that, stretches are replaced as a whole. */
const WORD_STEPS = 1_000_000;

/** To look at every word once costs no steps, but time: behind so many characters, stretches are replaced as a whole. */
const MOST_CHARACTERS = 1_000_000;

/** A stretch of a text, and what takes its place. */
export interface Replaced {
  readonly at: number;
  readonly old: string;
  readonly fresh: string;
}

/** Whether a word that is still there is looked for in all of them. */
export function areLookedThrough(stretches: readonly Replaced[]): boolean {
  const characters = stretches.reduce((sum, stretch) => sum + lengthOf(stretch), 0);
  return characters <= MOST_CHARACTERS;
}

function lengthOf({ old, fresh }: Replaced): number {
  return old.length + fresh.length;
}

/**
 * Splices for stretches of a text, in order, each in the text that the one before it left. Every word that is still there
 * stays where it is: it keeps its author, and its Edit can be undone, also when a program indented or wrapped its line.
 */
export function wordSplices(stretches: readonly Replaced[]): Splice[] {
  const effort = new Effort(WORD_STEPS);
  const splices: Splice[] = [];
  let characters = 0;
  let shift = 0;
  for (const stretch of stretches) {
    characters += lengthOf(stretch);
    const parts = characters > MOST_CHARACTERS ? [stretch] : byLines(stretch, effort);
    for (const { at, old, fresh } of parts) {
      const splice = trimmed(at, old, fresh);
      splices.push({ ...splice, at: splice.at + shift });
      shift += splice.insert.length - splice.remove;
    }
  }
  return splices;
}

/** Lines of the same words are paired first: so a thousand lines that were indented cost next to nothing. */
function byLines(stretch: Replaced, effort: Effort): Replaced[] {
  if (stretch.old === "" || stretch.fresh === "") return [stretch];
  const [old, fresh] = [new Lines(stretch.old), new Lines(stretch.fresh)];
  const parts: Replaced[] = [];
  let { at } = stretch;
  let [oldLine, newLine] = [0, 0];
  const pairUpTo = (end: number): void => {
    for (; oldLine < end; oldLine++, newLine++) {
      const line = { at, old: old.all[oldLine]!, fresh: fresh.all[newLine]! };
      if (line.old !== line.fresh)
        parts.push(...around(line, old.words[oldLine]!, fresh.words[newLine]!));
      at += line.old.length;
    }
  };
  for (const range of diffLines(old.keys, fresh.keys, effort).ranges) {
    pairUpTo(range.oldStart);
    const lines = {
      at,
      old: old.slice(oldLine, range.oldEnd),
      fresh: fresh.slice(newLine, range.newEnd),
    };
    const words = [new Words(lines.old), new Words(lines.fresh)] as const;
    parts.push(...around(lines, ...words, wordPairs(...words, effort)));
    at += lines.old.length;
    [oldLine, newLine] = [range.oldEnd, range.newEnd];
  }
  pairUpTo(old.all.length);
  return parts;
}

/** Each with its newline. */
class Lines {
  readonly all: readonly string[];
  readonly words: readonly Words[];
  /** What each says, whatever is between its words. */
  readonly keys: readonly string[];

  constructor(text: string) {
    this.all = text.split(/(?<=\n)/);
    this.words = this.all.map((line) => new Words(line));
    this.keys = this.words.map(({ all }) => all.join(" "));
  }

  slice(start: number, end: number): string {
    return this.all.slice(start, end).join("");
  }
}

/** What is between the words that both have: all of them, unless they are given. */
function around(
  { at, old: gone, fresh: came }: Replaced,
  old: Words,
  fresh: Words,
  pairs: readonly WordPair[] = old.all.map((_, word) => [word, word]),
): Replaced[] {
  const parts: Replaced[] = [];
  let [oldAt, newAt] = [0, 0];
  const behind = [old.all.length, fresh.all.length] as const;
  for (const [oldWord, newWord] of [...pairs, behind]) {
    const part = {
      at: at + oldAt,
      old: gone.slice(oldAt, old.start(oldWord)),
      fresh: came.slice(newAt, fresh.start(newWord)),
    };
    if (part.old !== part.fresh) parts.push(part);
    [oldAt, newAt] = [old.end(oldWord), fresh.end(newWord)];
  }
  return parts;
}
