import { LONGEST_WORD, type Piece, type Stretch } from "../../../base/search/index.ts";
import { casesOf } from "./letter-cases.ts";

/**
 * The words of texts: letters, digits and all that is not ASCII, as far as they stand together. What somebody looks
 * for is mostly a word or a piece of one, and in which words a piece stands can be told exactly.
 */
const WORD = /[0-9A-Z_a-z\u0080-\uffff]+/g;
const IS_OF_WORD = /[0-9A-Z_a-z\u0080-\uffff]/;
const WORD_BEFORE = /[0-9A-Z_a-z\u0080-\uffff]*$/;
const WORD_BEHIND = /^[0-9A-Z_a-z\u0080-\uffff]*/;
/** Of a shorter one a trigram tells as much. */
const SHORTEST_WORD = 3;

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
    // What is longer is no word: it is only known that there is such a one.
    if (word.length > LONGEST_WORD) hasLonger = true;
    else if (word.length >= SHORTEST_WORD) words.push(word);
  }
  return { words, hasLonger };
}

/** Patterns of GLOB, one of which a word is like. */
export type WordPatterns = readonly string[];

/**
 * For each word in a stretch, what it is like. Where the stretch ends a word may go on, and at an edge it may go on with
 * what is not ASCII. Nothing is said of words that may be too short to be in the list.
 */
export function wordsIn({ pieces }: Stretch, ignoreCase: boolean): WordPatterns[] {
  const words = new WordReader(ignoreCase);
  for (const piece of pieces) words.read(piece);
  return words.finish();
}

/** What is known of the place where a word begins or ends. */
type End = "end" | "edge" | "open";

class WordReader {
  readonly #ignoreCase: boolean;
  readonly #words: WordPatterns[] = [];
  #before: End = "open";
  #begin: End = "open";
  #glob = "";
  /** Units that it has at least. */
  #units = 0;
  #last = "";

  constructor(ignoreCase: boolean) {
    this.#ignoreCase = ignoreCase;
  }

  read(piece: Piece): void {
    if (piece === "edge") this.#end("edge");
    else if (piece === "word") this.#add("?", 1, "w");
    else if (piece === "words") this.#add("*", 0, "w");
    else for (const character of piece.text) this.#readCharacter(character);
  }

  finish(): WordPatterns[] {
    this.#end("open");
    return this.#words;
  }

  #readCharacter(character: string): void {
    if (!IS_OF_WORD.test(character)) this.#end("end");
    else if (this.#ignoreCase)
      this.#add(`[${casesOf(character).join("")}]`, character.length, character);
    else this.#add(character, character.length, character);
  }

  #add(glob: string, units: number, character: string): void {
    if (this.#glob === "") this.#begin = endAt(this.#before, character);
    this.#glob += glob;
    this.#units += units;
    this.#last = character;
  }

  #end(end: End): void {
    if (this.#units >= SHORTEST_WORD && this.#units <= LONGEST_WORD) {
      const [begins, ends] = [this.#begin, endAt(end, this.#last)];
      this.#words.push(
        BEFORE[begins].flatMap((before) =>
          BEHIND[ends].map((behind) => `${before}${this.#glob}${behind}`),
        ),
      );
    }
    // An edge beside a known end says nothing new.
    if (this.#glob !== "" || this.#before !== "end") this.#before = end;
    this.#glob = "";
    this.#units = 0;
  }
}

const BEFORE: Readonly<Record<End, readonly string[]>> = {
  end: [""],
  edge: ["", "*[^0-9A-Z_a-z]"],
  open: ["*"],
};
const BEHIND: Readonly<Record<End, readonly string[]>> = {
  end: [""],
  edge: ["", "[^0-9A-Z_a-z]*"],
  open: ["*"],
};

/** At an edge beside a character that is not ASCII anything may follow. */
function endAt(end: End, character: string): End {
  return end === "edge" && character > "\u007f" ? "open" : end;
}
