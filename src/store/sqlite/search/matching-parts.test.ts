import BetterSqlite, { type Database } from "better-sqlite3";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyPattern, patternText } from "../../../../test/support/arbitrary-pattern.ts";
import { fcOptions, scaled, seed } from "../../../../test/support/counts.ts";
import { Random } from "../../../base/index.ts";
import { compilePattern, TextMatcher } from "../../../base/search/index.ts";
import { matchingParts } from "./matching-parts.ts";
import { PARTS_TABLES, TextParts } from "./text-parts.ts";
import { trigramExpression } from "./trigrams.ts";

/** Texts in an index of their own, by number, and what it says of them. */
class Index implements Disposable {
  readonly #database: Database = new BetterSqlite(":memory:");
  readonly #parts: TextParts;
  readonly #texts: { readonly first: number; readonly text: string }[] = [];
  #next = 1;

  constructor() {
    this.#database.exec(PARTS_TABLES);
    this.#parts = new TextParts(this.#database);
  }

  put(...texts: readonly string[]): void {
    this.together(() => {
      for (const text of texts) {
        this.#texts.push({ first: this.#next, text });
        this.#next += this.#parts.put(this.#next, text);
      }
    });
  }

  together(task: () => void): void {
    const { length } = this.#texts;
    const next = this.#next;
    try {
      this.#parts.together(task);
    } catch (error) {
      this.#texts.length = length;
      this.#next = next;
      throw error;
    }
  }

  /** Of the texts that it gives, which they are; of all, when it cannot tell. */
  candidates(query: string, { literal = true, ignoreCase = false } = {}): number[] {
    const matcher = new TextMatcher({ query, literal, ignoreCase });
    const found = matchingParts(this.#database, "main", matcher);
    if (found === undefined) return [...this.#texts.keys()];
    return this.#owners(
      this.#database
        .prepare(found.sql)
        .pluck()
        .all(...found.parameters),
    );
  }

  /** What it would say if it knew nothing of words. */
  candidatesByTrigrams(query: string, ignoreCase = false): number[] {
    const { required } = new TextMatcher({ query, literal: true, ignoreCase });
    const expressions = required.map(([first]) => trigramExpression(first!.literal, ignoreCase));
    if (expressions[0] === undefined) return [...this.#texts.keys()];
    const sql = "SELECT rowid FROM parts WHERE parts MATCH ?";
    return this.#owners(this.#database.prepare(sql).pluck().all(expressions[0]));
  }

  get words(): unknown[] {
    return this.#database.prepare("SELECT word FROM words ORDER BY number").pluck().all();
  }

  [Symbol.dispose](): void {
    this.#database.close();
  }

  #owners(rows: readonly unknown[]): number[] {
    const owner = (row: unknown): number =>
      this.#texts.findLastIndex(({ first }) => first <= (row as number));
    return [...new Set(rows.map(owner))].toSorted((a, b) => a - b);
  }
}

const PIECES = [
  ..."aAbBkKsS\u017f\u212a_09 \n\t.({\"'*?[]-^",
  ..."äÖßé日本語",
  "\r\n",
  "\0",
  "😀",
  "🏳️‍🌈",
  "e\u0301",
  "\ufeff",
  "\u2028",
  "\ud83d",
  "\ude00",
  "needle",
  "Stone",
  "of the ",
  "=> {",
  "camelCase",
  "snake_case",
  "a".repeat(39),
];

function anyTextOf(random: Random, units: number): string {
  let text = "";
  while (text.length < units) text += random.pick(PIECES);
  return text;
}

describe("the index of parts", () => {
  it("misses no text that has a literal", () => {
    const random = new Random(seed());
    let asked = 0;
    let spared = 0;
    for (let run = 0; run < scaled(100); run += 1) {
      using index = new Index();
      const texts = Array.from({ length: 12 }, (_, at) =>
        anyTextOf(random, at < 10 ? random.below(300) : 16_600 + random.below(18_000)),
      );
      // As it comes out of a database or a file, or as it stands.
      const stored = random.next() < 0.5 ? texts.map((text) => text.toWellFormed()) : texts;
      index.put(...stored);
      for (let turn = 0; turn < 60; turn += 1) {
        const isAtCut = random.next() < 0.3;
        const from = random.pick(isAtCut ? stored.slice(10) : stored);
        const start = isAtCut ? 16_320 + random.below(70) : random.below(from.length + 1);
        const literal = from.slice(start, start + 3 + random.below(62));
        if (literal === "") continue;
        const ignoreCase = random.next() < 0.4;
        const query = ignoreCase ? otherCase(literal, random) : literal;
        const given = new Set(index.candidates(query, { ignoreCase }));
        const trigrams = new Set(index.candidatesByTrigrams(query, ignoreCase));
        const matcher = new TextMatcher({ query, literal: true, ignoreCase });
        for (const [number, text] of stored.entries()) {
          const options = { contextLines: 0, found: () => false, expired: () => false };
          if (matcher.find(text, options) === "all") spared += given.has(number) ? 0 : 1;
          else {
            const what = `${JSON.stringify(query)}, ${ignoreCase}`;
            expect(given, what).toContain(number);
            expect(trigrams, what).toContain(number);
          }
        }
        asked += 1;
      }
    }
    expect(asked).toBeGreaterThan(scaled(100) * 40);
    expect(spared).toBeGreaterThan(asked);
  });

  const runs = scaled(200);
  it("misses no text that has a match of a pattern", { timeout: runs * 5_000 }, () => {
    const random = new Random(seed());
    let asked = 0;
    let spared = 0;
    for (let run = 0; run < runs; run += 1) {
      using index = new Index();
      const texts = Array.from({ length: 12 }, (_, at) =>
        anyTextOf(
          random,
          at < 10 ? random.below(300) : 16_600 + random.below(18_000),
        ).toWellFormed(),
      );
      index.put(...texts);
      for (let turn = 0; turn < 60; turn += 1) {
        const isAtCut = random.next() < 0.3;
        const from = random.pick(isAtCut ? texts.slice(10) : texts);
        const start = isAtCut ? 16_320 + random.below(70) : random.below(from.length + 1);
        const query = patternFor(from, start, start + 3 + random.below(90), random);
        const ignoreCase = random.next() < 0.3;
        const matcher = new TextMatcher({ query, literal: false, ignoreCase });
        const given = new Set(index.candidates(query, { literal: false, ignoreCase }));
        for (const [number, text] of texts.entries()) {
          const options = { contextLines: 0, found: () => false, expired: () => false };
          if (matcher.find(text, options) === "all") spared += given.has(number) ? 0 : 1;
          else expect(given, `${JSON.stringify(query)}, ${ignoreCase}`).toContain(number);
        }
        asked += 1;
      }
    }
    expect(spared).toBeGreaterThan(asked);
  });

  it("misses no text whatever the pattern is", () => {
    let matches = 0;
    fc.assert(
      fc.property(
        fc.array(anyPattern, { minLength: 1, maxLength: 12 }),
        fc.array(patternText, { minLength: 1, maxLength: 8 }),
        fc.boolean(),
        (patterns, texts, ignoreCase) => {
          using index = new Index();
          index.put(...texts);
          for (const query of patterns.filter(isPattern)) {
            const matcher = new TextMatcher({ query, literal: false, ignoreCase });
            const given = index.candidates(query, { literal: false, ignoreCase });
            for (const [number, text] of texts.entries()) {
              const options = { contextLines: 0, found: () => false, expired: () => false };
              if (matcher.find(text, options) === "all") continue;
              matches += 1;
              expect(given, query).toContain(number);
            }
          }
        },
      ),
      fcOptions(5_000),
    );
    expect(matches).toBeGreaterThan(1_000);
  });

  it("asks for the words around a literal, up to where a pattern says that they end", () => {
    using index = new Index();
    const common = "definition redefine undefinedly ".repeat(20);
    index.put(common, common, "x defines", "defined", "defineé", "so");
    const of = (query: string): number[] => index.candidates(query, { literal: false });
    // What is not ASCII may be a character of a word, and may be its end.
    expect(of("\\w+ define\\w\\b")).toEqual([2, 3, 4]);
    expect(of("\\bdefine[ds]\\b")).toEqual([2, 3, 4]);
    expect(of("^define\\b")).toEqual([4]);
    expect(of("define\\w$")).toEqual([2, 3, 4]);
    expect(of("(^|\\W)defined(\\W|$)")).toEqual([3]);
    expect(of("\\bun\\w*edly .* defines")).toEqual([2]);
    expect(of("definition.*\\bso\\b")).toEqual([0, 1]);
  });

  it("finds a stretch wherever it is cut, although a word in it is too long for the list", () => {
    using index = new Index();
    const long = "0123456789".repeat(20);
    const texts = Array.from(
      { length: 300 },
      (_, at) => `${" ".repeat(16_150 + at)}needle${long} and ${"  ".repeat(200)}`,
    );
    // Words that leave many, so that trigrams are asked for, too.
    index.put(...texts, ...Array.from({ length: 1_100 }, () => `needle1 ${long}`));
    const found = new Set(index.candidates("needle\\w+ and ", { literal: false }));
    for (const at of texts.keys()) expect(found).toContain(at);
  });

  it("tells a word from others that have all of its trigrams, and all of its fours", () => {
    using index = new Index();
    const common = "undefined outlines lined confine fines define lines ".repeat(100);
    index.put(...Array.from({ length: 40 }, () => common), `${common} defines`, "predefinesIt");
    expect(index.candidatesByTrigrams("defines")).toHaveLength(42);
    expect(index.candidates("defines")).toEqual([40, 41]);
    expect(index.candidates("DEFINES", { ignoreCase: true })).toEqual([40, 41]);
    expect(index.candidates(" defines")).toEqual([40]);
    expect(index.candidates("\\w+ define\\w\\b", { literal: false })).toEqual([40]);
    expect(index.candidates("defines|efinesI", { literal: false })).toEqual([40, 41]);
    expect(index.candidates("define lines")).toHaveLength(41);
  });

  it("takes what is equal to a letter when case is ignored", () => {
    using index = new Index();
    index.put("a \u017ftonema\u212aer", "A STONEMAKER", "a stone");
    const found = [0, 1];
    expect(index.candidates("stonemaker", { ignoreCase: true })).toEqual(found);
    expect(index.candidatesByTrigrams("stonemaker", true)).toEqual(found);
  });

  it("knows words whole where it cuts a text", () => {
    using index = new Index();
    for (let before = 16_290; before < 16_490; before += 7) {
      index.put(`${" ".repeat(before)}cutInPieces ${" ".repeat(18_000)}`);
    }
    expect(index.words).toEqual(["cutInPieces"]);
  });

  it("asks for trigrams where words say little", () => {
    using index = new Index();
    const long = "0123456789abcdef".repeat(5);
    index.put("{ a => b }", "x = y;", `${long}needle`, "ab cd", "a needle");
    expect(index.candidates(" => ")).toEqual([0]);
    expect(index.candidates("= y;")).toEqual([1]);
    // In what is too long to be a word may stand anything.
    expect(index.candidates("needle")).toEqual([2, 4]);
    expect(index.candidates("b cd")).toEqual([3]);
  });

  it("asks for trigrams, too, where words leave many", () => {
    using index = new Index();
    const long = "0123456789abcdef".repeat(5);
    index.put(...Array.from({ length: 1_100 }, () => long), `${long}needle`, "a needle");
    expect(index.candidates("needle")).toEqual([1_100, 1_101]);
  });

  it("knows words that it lost with what it could not write", () => {
    using index = new Index();
    const failing = (): void =>
      index.together(() => {
        index.put("first needle");
        throw new Error("no room");
      });
    expect(failing).toThrow("no room");
    index.put("another", "first needle");
    expect(index.candidates("needle")).toEqual([1]);
    expect(index.candidates("another")).toEqual([0]);
  });
});

/** A pattern that matches what stands in a text from one place to another, as people write them. */
function patternFor(text: string, start: number, end: number, random: Random): string {
  let pattern = "";
  for (let at = start; at < Math.min(end, text.length);) {
    const isWord = /\w/.test(text[at]!);
    const isEdge = /\w/.test(text[at - 1] ?? "") !== isWord;
    if (isEdge && random.next() < 0.4) pattern += "\\b";
    const run = /^(?:\w+|\s+)/.exec(text.slice(at, end))?.[0] ?? "";
    const character = String.fromCodePoint(text.codePointAt(at)!);
    const choice = random.next();
    if (isWord && choice < 0.1) pattern += random.pick(["\\w", "[0-9A-Za-z_]", "(?:\\w|-)"]);
    else if (run !== "" && choice < 0.2) {
      pattern += isWord ? random.pick(["\\w+", "\\w*", "[\\w]{1,99}"]) : "\\s+";
      at += run.length;
      continue;
    } else if (run !== "" && !isWord && choice < 0.5) pattern += "\\s";
    else if (!isWord && run === "" && choice < 0.2) pattern += "\\W{1,2}?";
    else if (choice < 0.23) pattern += random.pick([".*?", "\\w*", "(?:none|)", "x?"]);
    else {
      pattern += character.replace(/[\\^$.*+?()[\]{}|/]/, "\\$&");
      at += character.length;
      continue;
    }
    if (!/\*\??$|\)$|x\?$/.test(pattern)) at += character.length;
  }
  return pattern === "" ? "\\w" : pattern;
}

function isPattern(query: string): boolean {
  try {
    compilePattern({ query, literal: false, ignoreCase: false });
    return true;
  } catch {
    return false;
  }
}

function otherCase(text: string, random: Random): string {
  return text.replace(/[a-z]/gi, (letter) =>
    random.next() < 0.5 ? letter.toLowerCase() : letter.toUpperCase(),
  );
}
