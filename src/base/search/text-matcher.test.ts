import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyPattern, patternText } from "../../../test/support/arbitrary-pattern.ts";
import { fcOptions } from "../../../test/support/counts.ts";
import { refusal, refusalCode } from "../../../test/support/refusal.ts";
import { TextMatcher } from "./text-matcher.ts";
import { compilePattern, type FoundLine, type TextQuery } from "./text-query.ts";

const never = (): boolean => false;

function findAll(query: TextQuery, text: string, contextLines = 0): FoundLine[] {
  const lines: FoundLine[] = [];
  const found = (line: FoundLine): boolean => lines.push(line) > 0;
  expect(new TextMatcher(query).find(text, { contextLines, found, expired: never })).toBe("all");
  return lines;
}

const literal = (query: string): TextQuery => ({ query, literal: true, ignoreCase: false });
const regex = (query: string): TextQuery => ({ query, literal: false, ignoreCase: false });

/** Line by line, without any shortcut. */
function plainly(query: TextQuery, text: string): { line: number; start: number; end: number }[] {
  const pattern = compilePattern(query);
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines.flatMap((content, line) => {
    pattern.lastIndex = 0;
    const match = pattern.exec(content);
    return match === null ? [] : [{ line, start: match.index, end: match.index + match[0].length }];
  });
}

describe("finding lines", () => {
  it("says where, counted from 0, with the lines around", () => {
    expect(findAll(literal("two"), "one\nx two two\nthree\nfour", 1)).toEqual([
      {
        line: 1,
        endLine: 1,
        start: 2,
        end: 5,
        content: "x two two",
        from: 0,
        length: 9,
        before: ["one"],
        after: ["three"],
      },
    ]);
    expect(findAll(regex("^$"), "a\n\nb\n").map(({ line }) => line)).toEqual([1]);
    expect(findAll(regex("o$"), "o\r\noo\r\n").map(({ line }) => line)).toEqual([0, 1]);
  });

  it("goes over line ends when the query names them", () => {
    const [found] = findAll(regex("one\\n+two"), "zero\n one\n\ntwo x\nthree");
    expect(found).toMatchObject({ line: 1, start: 1, endLine: 3, end: 3, content: " one" });
    expect(findAll(literal("e\nt"), "one\ntwo\ne\nt\n").map(({ line }) => line)).toEqual([0, 2]);
    expect(findAll(regex("o[^x]*o"), "o\no o\n").map(({ line }) => line)).toEqual([1]);
  });

  it("shows long lines in part, around the match, never half a character", () => {
    for (const before of [0, 50, 399, 1_001, 5_000]) {
      const text = `${"😀".repeat(before)}needle${"😀".repeat(1_000)}\n${"x".repeat(900)}`;
      const [found] = findAll(literal("needle"), text, 1);
      expect(found!.content.length).toBeLessThanOrEqual(401);
      expect(found!.content.isWellFormed()).toBe(true);
      expect(found!.content.indexOf("needle")).toBe(found!.start - found!.from);
      expect(found!.length).toBe(before * 2 + 6 + 2_000);
      expect(found!.after[0]).toMatch(/^x{400}… \(500 more\)$/);
    }
  });

  it("finds what a plain loop over the lines finds", () => {
    let hits = 0;
    fc.assert(
      fc.property(
        anyPattern,
        patternText,
        fc.boolean(),
        fc.boolean(),
        (query, text, plain, ignoreCase) => {
          const wanted: TextQuery = { query, literal: plain, ignoreCase };
          if (refusalCode(() => new TextMatcher(wanted)) !== undefined) return;
          const found = findAll(wanted, text).map(({ line, start, end }) => ({ line, start, end }));
          hits += found.length;
          expect(found).toEqual(plainly(wanted, text));
        },
      ),
      fcOptions(30_000),
    );
    expect(hits).toBeGreaterThan(100);
  });

  it("finds literals of any text in itself, in any case", () => {
    fc.assert(
      fc.property(
        patternText,
        fc.nat(),
        fc.nat(8),
        fc.boolean(),
        (text, at, length, ignoreCase) => {
          const query = text.slice(at % (text.length + 1)).slice(0, length);
          if (query === "" || !query.isWellFormed()) return;
          const found = findAll({ query, literal: true, ignoreCase }, text);
          const first = text.indexOf(query);
          const line = text.slice(0, first).split("\n").length - 1;
          expect(found.some((each) => each.line <= line && line <= each.endLine)).toBe(true);
        },
      ),
      fcOptions(10_000),
    );
  });

  it("refuses what is not a pattern, with the reason", () => {
    const refused = refusal(() => new TextMatcher(regex("(abc")));
    expect(refused.code).toBe("invalid_pattern");
    expect(refused.facts["reason"]).toBe("Unterminated group");
    expect(findAll(literal("(abc"), "x(abc")).toHaveLength(1);
    expect(findAll(regex("a\\-b"), "a-b")).toHaveLength(1);
  });
});
