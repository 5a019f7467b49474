import { casesOf } from "./letter-cases.ts";

/**
 * The words of texts: letters, digits and all that is not ASCII, as far as they stand together. What somebody looks
 * for is mostly a word or a piece of one, and in which words a piece stands can be told exactly.
 */
const WORD = /[0-9A-Z_a-z\u0080-\uffff]+/g;
const WORD_BEFORE = /[0-9A-Z_a-z\u0080-\uffff]*$/;
const WORD_BEHIND = /^[0-9A-Z_a-z\u0080-\uffff]*/;
/** Of a shorter one a trigram tells as much. */
const SHORTEST_WORD = 3;
/** What is longer is no word: it is only known that there is such a one. */
const LONGEST_WORD = 40;

interface Words {
  /** Each once. */
  readonly words: readonly string[];
  readonly hasLonger: boolean;
}

/** The words in a part of a text; whole, also where the part begins or ends within one. */
export function wordsOf(text: string, start: number, end: number): Words {
  // Further than a word can be long: what still goes on there is seen to be too long.
  const before = WORD_BEFORE.exec(text.slice(Math.max(0, start - LONGEST_WORD - 1), start))![0];
  const behind = WORD_BEHIND.exec(text.slice(end, end + LONGEST_WORD + 1))![0];
  const all = new Set(text.slice(start - before.length, end + behind.length).match(WORD));
  const words: string[] = [];
  let hasLonger = false;
  for (const word of all) {
    if (word.length > LONGEST_WORD) hasLonger = true;
    else if (word.length >= SHORTEST_WORD) words.push(word);
  }
  return { words, hasLonger };
}

/**
 * For each piece of a word in a literal, which words it can stand in, as patterns of GLOB: where the literal ends the
 * word may go on. None of what a word is made of means anything in such a pattern.
 */
export function wordPatterns(literal: string, ignoreCase: boolean): string[] {
  return Array.from(literal.matchAll(WORD)).flatMap(({ 0: piece, index }) => {
    if (piece.length < SHORTEST_WORD || piece.length > LONGEST_WORD) return [];
    const before = index === 0 ? "*" : "";
    const behind = index + piece.length === literal.length ? "*" : "";
    return `${before}${ignoreCase ? inAnyCase(piece) : piece}${behind}`;
  });
}

function inAnyCase(piece: string): string {
  return Array.from(piece, (character) => `[${casesOf(character).join("")}]`).join("");
}
