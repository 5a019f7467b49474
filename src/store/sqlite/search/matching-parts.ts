import type { Database } from "better-sqlite3";
import { LONGER_WORD } from "./text-parts.ts";
import { wordPatterns } from "./text-words.ts";
import { trigramExpression } from "./trigrams.ts";

/** A piece that stands in more words than this tells little about a text. */
const MOST_WORDS = 256;
/** To look through so many parts costs less than to ask for trigrams that are everywhere. */
const FEW_PARTS = 1000;

interface Wanted {
  /** Every match contains at least one of them. */
  readonly required: readonly string[];
  /** They are of ASCII then, and may stand there in any case. */
  readonly ignoreCase: boolean;
}

/** SQL that gives the rows of parts. */
export interface PartsQuery {
  readonly sql: string;
  readonly parameters: readonly string[];
}

/** What gives the parts that can hold a match, in one of a connection's databases; undefined when all can. */
export function matchingParts(
  database: Database,
  schema: string,
  { required, ignoreCase }: Wanted,
): PartsQuery | undefined {
  const index = new PartsIndex(database, schema);
  const queries = required.map((literal) => index.query(literal, ignoreCase));
  if (queries.length === 0 || queries.includes(undefined)) return undefined;
  return {
    sql: queries.map((query) => `SELECT rowid FROM (${query!.sql})`).join(" UNION "),
    parameters: queries.flatMap((query) => query!.parameters),
  };
}

class PartsIndex {
  readonly #database: Database;
  readonly #schema: string;

  constructor(database: Database, schema: string) {
    this.#database = database;
    this.#schema = schema;
  }

  /** Words are few and choosy: they come first, and mostly they are enough. */
  query(literal: string, ignoreCase: boolean): PartsQuery | undefined {
    const expression = this.#wordExpression(wordPatterns(literal, ignoreCase));
    const words = expression === undefined ? undefined : this.#matching("part_words", expression);
    if (words !== undefined && this.#areFew(words)) return words;
    const trigrams = trigramExpression(literal, ignoreCase);
    if (trigrams === undefined) return words;
    const parts = this.#matching("parts", trigrams);
    if (words === undefined) return parts;
    return {
      sql: `${words.sql} INTERSECT ${parts.sql}`,
      parameters: [...words.parameters, ...parts.parameters],
    };
  }

  /** A word like each of these patterns, or one of which nothing is known. */
  #wordExpression(patterns: readonly string[]): string | undefined {
    const alike = this.#database
      .prepare<[string], number>(
        `SELECT number FROM ${this.#schema}.words WHERE word GLOB ? LIMIT ${MOST_WORDS + 1}`,
      )
      .pluck();
    const choices = patterns
      .map((pattern) => alike.all(pattern))
      .filter(({ length }) => length <= MOST_WORDS)
      .map((numbers) => [...numbers, LONGER_WORD].map((each) => `"${each}"`).join(" OR "));
    return choices.length === 0 ? undefined : choices.map((choice) => `(${choice})`).join(" AND ");
  }

  #matching(table: string, expression: string): PartsQuery {
    const sql = `SELECT rowid FROM ${this.#schema}.${table} WHERE ${table} MATCH ?`;
    return { sql, parameters: [expression] };
  }

  #areFew({ sql, parameters }: PartsQuery): boolean {
    const rows = this.#database.prepare(`${sql} LIMIT ${FEW_PARTS + 1}`).all(...parameters);
    return rows.length <= FEW_PARTS;
  }
}
