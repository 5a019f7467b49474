import type { Database } from "better-sqlite3";
import type { Required, Stretch } from "../../../base/search/index.ts";
import { LONGER_WORD } from "./text-parts.ts";
import { type WordPatterns, wordsIn } from "./text-words.ts";
import { trigramExpression } from "./trigrams.ts";

/** A piece that stands in more words than this tells little about a text. */
const MOST_WORDS = 256;
/** To look through so many parts costs less than to ask for trigrams that are everywhere. */
const FEW_PARTS = 1000;

interface Wanted {
  readonly required: Required;
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
  const queries = required.map((stretches) => index.query(stretches, ignoreCase));
  if (queries.length === 0 || queries.includes(undefined)) return undefined;
  return {
    sql: queries.map((query) => `SELECT rowid FROM (${query!.sql})`).join(" UNION "),
    parameters: queries.flatMap((query) => query!.parameters),
  };
}

class PartsIndex {
  readonly #database: Database;
  readonly #schema: string;
  /** Choices of one pattern have words in common, and to look for one may take all of the list. */
  readonly #numbers = new Map<string, readonly number[]>();

  constructor(database: Database, schema: string) {
    this.#database = database;
    this.#schema = schema;
  }

  /**
   * The parts that have one of these stretches, of which a match has all, though not always in the same part. Words are
   * few and choosy: they come first, and mostly they are enough.
   */
  query(stretches: readonly Stretch[], ignoreCase: boolean): PartsQuery | undefined {
    let first: PartsQuery | undefined;
    for (const stretch of stretches) {
      const words = this.#words(stretch, ignoreCase);
      if (words !== undefined && this.#areFew(words)) return words;
      if (stretch === stretches[0]) first = words;
    }
    return this.#withTrigrams(stretches[0]!, first, ignoreCase);
  }

  #withTrigrams(
    { literal }: Stretch,
    words: PartsQuery | undefined,
    ignoreCase: boolean,
  ): PartsQuery | undefined {
    const expression = trigramExpression(literal, ignoreCase);
    if (expression === undefined) return words;
    const trigrams = this.#matching("parts", expression);
    if (words === undefined) return trigrams;
    return {
      sql: `${words.sql} INTERSECT ${trigrams.sql}`,
      parameters: [...words.parameters, ...trigrams.parameters],
    };
  }

  /** A word like each of those in the stretch, or one of which nothing is known. */
  #words(stretch: Stretch, ignoreCase: boolean): PartsQuery | undefined {
    const choices = wordsIn(stretch, ignoreCase)
      .map((patterns) => this.#numbersOf(patterns))
      .filter(({ length }) => length <= MOST_WORDS)
      .map((numbers) => [...numbers, LONGER_WORD].map((each) => `"${each}"`).join(" OR "));
    if (choices.length === 0) return undefined;
    return this.#matching("part_words", choices.map((choice) => `(${choice})`).join(" AND "));
  }

  #numbersOf(patterns: WordPatterns): readonly number[] {
    const key = patterns.join(" ");
    const known = this.#numbers.get(key) ?? this.#listed(patterns);
    this.#numbers.set(key, known);
    return known;
  }

  #listed(patterns: WordPatterns): readonly number[] {
    const isLike = patterns.map(() => "word GLOB ?").join(" OR ");
    return this.#database
      .prepare<string[], number>(
        `SELECT number FROM ${this.#schema}.words WHERE ${isLike} LIMIT ${MOST_WORDS + 1}`,
      )
      .pluck()
      .all(...patterns);
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
