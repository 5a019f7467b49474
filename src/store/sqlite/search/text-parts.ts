import type { Database, Statement } from "better-sqlite3";
import { LONGEST_LITERAL } from "../../../base/search/index.ts";

/** A text is indexed in parts, so that a long one is not found for words that only meet in different parts. */
const PART_UNITS = 8192;

/** Trigrams in the case they have; what they are of is kept nowhere. */
export const PARTS_TABLE = `
  CREATE VIRTUAL TABLE parts USING fts5(
    text, tokenize = 'trigram case_sensitive 1', detail = none, content = '',
    contentless_delete = 1
  );
`;

/** Where the parts of one text stand: rows that follow one another. */
export interface PartRows {
  readonly first: number;
  readonly parts: number;
}

/** The trigrams of texts in one database, which says by itself whose rows they are. */
export class TextParts {
  readonly #insert: Statement<[number, string]>;
  readonly #delete: Statement<[number, number]>;

  constructor(database: Database) {
    this.#insert = database.prepare("INSERT INTO parts(rowid, text) VALUES (?, ?)");
    this.#delete = database.prepare("DELETE FROM parts WHERE rowid BETWEEN ? AND ?");
  }

  /** Puts a text into rows that nobody has, from `first` on; says how many. */
  put(first: number, text: string): number {
    const parts = partsOf(text);
    for (const [index, part] of parts.entries()) this.#insert.run(first + index, part);
    return parts.length;
  }

  remove({ first, parts }: PartRows): void {
    this.#delete.run(first, first + parts - 1);
  }
}

/** Overlapping, so that every literal that is asked for stands whole in one of them. */
function partsOf(text: string): string[] {
  const parts: string[] = [];
  for (let start = 0; start === 0 || start < text.length;) {
    const next = boundary(text, start + PART_UNITS);
    parts.push(text.slice(start, boundary(text, next + LONGEST_LITERAL)));
    start = next;
  }
  return parts;
}

function boundary(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff ? at + 1 : at;
}
