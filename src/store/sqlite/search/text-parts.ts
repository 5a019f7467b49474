import type { Database, Statement } from "better-sqlite3";
import { LONGEST_STRETCH } from "../../../base/search/index.ts";
import { wordsOf } from "./text-words.ts";

/** A text is indexed in parts, so that a long one is not found for words that only meet in different parts. */
const PART_UNITS = 16 * 1024;
/** Numbers of words that are kept at hand. */
const MOST_NUMBERS = 32 * 1024;

/** Stands for every word that is too long to be one, among the numbers of those that are not. */
export const LONGER_WORD = "longer";

/**
 * Of each part the trigrams, in the case they have, and the words, by their numbers: rows with the same number. What
 * they are of is kept nowhere; a word stays in its list although nobody has it any more.
 */
export const PARTS_TABLES = `
  CREATE VIRTUAL TABLE parts USING fts5(
    text, tokenize = 'trigram case_sensitive 1', detail = none, content = '',
    contentless_delete = 1
  );
  CREATE VIRTUAL TABLE part_words USING fts5(
    words, tokenize = 'ascii', detail = none, content = '', contentless_delete = 1
  );
  CREATE TABLE words (number INTEGER PRIMARY KEY, word TEXT NOT NULL UNIQUE);
`;

/** Where the parts of one text stand: rows that follow one another. */
export interface PartRows {
  readonly first: number;
  readonly parts: number;
}

/** The parts of texts in one database, which says by itself whose rows they are. */
export class TextParts {
  readonly #database: Database;
  readonly #insert: readonly Statement<[number, string]>[];
  readonly #delete: readonly Statement<[number, number]>[];
  readonly #number: Statement<[string], number>;
  readonly #add: Statement<[string]>;
  readonly #numbers = new Map<string, number>();

  constructor(database: Database) {
    this.#database = database;
    const tables = [
      ["parts", "text"],
      ["part_words", "words"],
    ];
    this.#insert = tables.map(([table, column]) =>
      database.prepare(`INSERT INTO ${table}(rowid, ${column}) VALUES (?, ?)`),
    );
    this.#delete = tables.map(([table]) =>
      database.prepare(`DELETE FROM ${table} WHERE rowid BETWEEN ? AND ?`),
    );
    this.#number = database.prepare<[string], number>("SELECT number FROM words WHERE word = ?");
    this.#number.pluck();
    this.#add = database.prepare("INSERT INTO words(word) VALUES (?)");
  }

  /** Runs what puts and removes: all of it lands or nothing. */
  together(task: () => void): void {
    try {
      this.#database.transaction(task).immediate();
    } catch (error) {
      // Those that were given out in it are nobody's.
      this.#numbers.clear();
      throw error;
    }
  }

  /** Puts a text into rows that nobody has, from `first` on; says how many. */
  put(first: number, text: string): number {
    let row = first;
    for (let start = 0; start === 0 || start < text.length; row += 1) {
      const next = boundary(text, start + PART_UNITS);
      // Overlapping, so that every stretch that is asked for stands whole in one of them.
      const end = boundary(text, next + LONGEST_STRETCH);
      this.#insert[0]!.run(row, text.slice(start, end));
      this.#insert[1]!.run(row, this.#words(text, start, end));
      start = next;
    }
    return row - first;
  }

  remove({ first, parts }: PartRows): void {
    for (const statement of this.#delete) statement.run(first, first + parts - 1);
  }

  #words(text: string, start: number, end: number): string {
    const { words, hasLonger } = wordsOf(text, start, end);
    const numbers = words.map((word) => String(this.#numberOf(word)));
    return (hasLonger ? [LONGER_WORD, ...numbers] : numbers).join(" ");
  }

  #numberOf(word: string): number {
    let number = this.#numbers.get(word);
    if (number === undefined) {
      number = this.#number.get(word) ?? Number(this.#add.run(word).lastInsertRowid);
      if (this.#numbers.size === MOST_NUMBERS) this.#numbers.clear();
      this.#numbers.set(copied(word), number);
    }
    return number;
  }
}

/** A piece of a text keeps all of the text in memory. */
function copied(word: string): string {
  return Buffer.from(word, "utf16le").toString("utf16le");
}

function boundary(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff ? at + 1 : at;
}
