import type { TextMatcher } from "../../../base/search/index.ts";
import type { Tables } from "../tables.ts";
import { checkIndex, indexExists, indexFileOf } from "./index-file.ts";
import { OtherFormat } from "./index-format.ts";
import { matchingParts } from "./matching-parts.ts";
import { unusable } from "./unusable-index.ts";

/** A block that a search has to look at: its number and its last version. */
export type Candidate = readonly [block: number, version: number];

export interface Candidates {
  readonly blocks: readonly Candidate[];
  /** How many of them are there only because the index does not know their last text. */
  readonly unindexed: number;
  /** The same for as long as nobody has written anything. */
  readonly moment: string;
}

/** Which blocks can match: what the index says of those it knows, and all others. */
export class CandidateFinder {
  readonly #tables: Tables;
  readonly #stateFile: string;
  #attached = false;
  /** Set when the index turned out to be of no use; it is not asked again. */
  unusable: string | undefined;
  #seen: { readonly moment: string; readonly strangers: readonly Candidate[] } | undefined;

  constructor(tables: Tables, stateFile: string) {
    this.#tables = tables;
    this.#stateFile = stateFile;
  }

  find(matcher: TextMatcher): Candidates {
    if (this.#attach()) {
      try {
        return this.#together(() => {
          const moment = this.#moment(["main", "found"]);
          const strangers = this.#strangers(moment);
          const blocks = [...strangers, ...this.#known(matcher)];
          return { blocks, unindexed: strangers.length, moment };
        });
      } catch (error) {
        this.unusable = unusable(error);
        if (this.unusable === undefined) throw error;
      }
    }
    return this.#together(() => {
      const blocks = this.#candidates("SELECT block, version FROM heads WHERE has_row = 1");
      return { blocks, unindexed: blocks.length, moment: this.#moment(["main"]) };
    });
  }

  /** The blocks whose last version is not the one that was indexed. */
  #strangers(moment: string): readonly Candidate[] {
    if (this.#seen?.moment !== moment) {
      const strangers = this.#candidates(
        `SELECT heads.block, heads.version FROM heads LEFT JOIN found.docs ON docs.block = heads.block
         WHERE heads.has_row = 1 AND docs.version IS NOT heads.version`,
      );
      this.#seen = { moment, strangers };
    }
    return this.#seen.strangers;
  }

  /** Of the blocks that are indexed as they are, those that may match. */
  #known(matcher: TextMatcher): Candidate[] {
    const parts = matchingParts(this.#tables.connection.database, "found", matcher);
    const indexed = `SELECT block, heads.version FROM found.docs JOIN heads USING (block)
      WHERE docs.version = heads.version AND heads.has_row = 1`;
    if (parts === undefined) return this.#candidates(indexed);
    return this.#candidates(
      `${indexed} AND block IN (
         SELECT (SELECT block FROM found.docs AS owner WHERE owner.first <= matching.rowid
                 ORDER BY owner.first DESC LIMIT 1)
         FROM (${parts.sql}) AS matching)`,
      ...parts.parameters,
    );
  }

  #attach(): boolean {
    if (this.unusable !== undefined) return false;
    if (this.#attached || !indexExists(this.#stateFile)) return this.#attached;
    const { connection, journal } = this.#tables;
    try {
      connection.run("ATTACH ? AS found", indexFileOf(this.#stateFile));
      checkIndex(connection.database, "found", journal);
      this.#attached = true;
    } catch (error) {
      if (error instanceof OtherFormat) {
        // Its writer is just making it, or will make it anew: until then there is none.
        connection.run("DETACH found");
        return false;
      }
      this.unusable = unusable(error);
      if (this.unusable === undefined) throw error;
    }
    return this.#attached;
  }

  /** The numbers change whenever somebody else has written. */
  #moment(schemas: readonly string[]): string {
    const { database } = this.#tables.connection;
    return schemas
      .map((schema) => String(database.pragma(`${schema}.data_version`, { simple: true })))
      .join();
  }

  #candidates(sql: string, ...parameters: unknown[]): Candidate[] {
    const statement = this.#tables.connection.database.prepare(sql).raw();
    return statement.all(...parameters) as unknown as Candidate[];
  }

  #together<Result>(read: () => Result): Result {
    return this.#tables.connection.together(read);
  }
}
