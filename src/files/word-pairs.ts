import { diffLines, type Effort } from "../blocks/index.ts";
import type { Words } from "./words.ts";

/** A word and the one in the other text that is the same. */
export type WordPair = readonly [old: number, fresh: number];

/**
 * In order. Where lines have little in common nothing is taken for the same: of a word that both happen to have nobody
 * would say that it was left as it was.
 */
export function wordPairs(old: Words, fresh: Words, effort: Effort): WordPair[] {
  const pairs: WordPair[] = [];
  let newWord = 0;
  let oldWord = 0;
  const pairUpTo = (end: number): void => {
    while (oldWord < end) pairs.push([oldWord++, newWord++]);
  };
  for (const { oldStart, oldEnd, newEnd } of diffLines(old.all, fresh.all, effort).ranges) {
    pairUpTo(oldStart);
    [oldWord, newWord] = [oldEnd, newEnd];
  }
  pairUpTo(old.all.length);
  return alike(old, fresh, pairs);
}

/** Lines have enough in common that share a third of their words, by characters. */
const ENOUGH = 1 / 3;

/**
 * Those of two lines that share enough for the shorter one, or of lines that were joined or divided: of both, enough is in
 * lines of the other text.
 */
function alike(old: Words, fresh: Words, pairs: readonly WordPair[]): WordPair[] {
  const inOld = new Weights();
  const inNew = new Weights();
  const inBoth = new Weights();
  const linesOf = ([oldWord, newWord]: WordPair): [number, number, number] => {
    const [oldLine, newLine] = [old.lineOf[oldWord]!, fresh.lineOf[newWord]!];
    return [oldLine, newLine, oldLine * fresh.lineWeights.length + newLine];
  };
  for (const pair of pairs) {
    const [oldLine, newLine, both] = linesOf(pair);
    const { length } = old.all[pair[0]]!;
    inOld.add(oldLine, length);
    inNew.add(newLine, length);
    inBoth.add(both, length);
  }
  return pairs.filter((pair) => {
    const [oldLine, newLine, both] = linesOf(pair);
    const ofOld = old.lineWeights[oldLine]! * ENOUGH;
    const ofNew = fresh.lineWeights[newLine]! * ENOUGH;
    if (inBoth.of(both) >= Math.min(ofOld, ofNew)) return true;
    return inOld.of(oldLine) >= ofOld && inNew.of(newLine) >= ofNew;
  });
}

class Weights {
  readonly #weights = new Map<number, number>();

  of(key: number): number {
    return this.#weights.get(key) ?? 0;
  }

  add(key: number, weight: number): void {
    this.#weights.set(key, this.of(key) + weight);
  }
}
