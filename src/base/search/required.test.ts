import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyPattern, patternText } from "../../../test/support/arbitrary-pattern.ts";
import { fcOptions } from "../../../test/support/counts.ts";
import { partOfPattern } from "./pattern-reader.ts";
import { requiredBy } from "./required.ts";

function requiredLiterals(
  source: string,
  flags: { readonly ignoreCase: boolean; readonly unicode: boolean },
): readonly string[] {
  return requiredBy(partOfPattern(source, flags)).map(([first]) => first!.literal);
}

/** What the index makes of a text: of the letters of ASCII, only these two have relatives elsewhere. */
function folded(text: string): string {
  return text
    .replace(/[A-Z]/g, (letter) => letter.toLowerCase())
    .replace(/ſ/g, "s")
    .replace(/\u212a/g, "k");
}

function compiled(source: string, flags: string): RegExp | undefined {
  try {
    return new RegExp(source, flags);
  } catch {
    return undefined;
  }
}

describe("literals that every match contains", () => {
  const of = (source: string, ignoreCase = false): readonly string[] =>
    requiredLiterals(source, { ignoreCase, unicode: true });

  it("are found where there are any", () => {
    expect(of("parseConfig\\(")).toEqual(["parseConfig("]);
    expect(of("^\\s*import .* from")).toEqual(["import "]);
    expect(of("(foo|bar)Baz")).toEqual(["fooBaz", "barBaz"]);
    expect(of("TODO|FIXME")).toEqual(["TODO", "FIXME"]);
    expect(of("ab+cd")).toEqual(["bcd"]);
    expect(of("(?:abc)+")).toEqual(["abc"]);
    expect(of("a{3}b{2}")).toEqual(["aaabb"]);
    expect(of("fo(?=x)ob\\ba")).toEqual(["fooba"]);
    expect(of("\\x66oo\\u{62}ar")).toEqual(["foobar"]);
    expect(of("searchKey", true)).toEqual(["searchKey"]);
    expect(of("füßen und", true)).toEqual(["en und"]);
  });

  it("are not claimed where there are none", () => {
    for (const source of [
      "\\d+",
      "(abc)?",
      "abc|x",
      "ab",
      "a.b.c",
      "(?i:abc)",
      "[abc][def]",
      "(?:abc){0,3}",
      "😀😁",
    ]) {
      expect(of(source)).toEqual([]);
    }
  });

  it("stand in whatever a pattern matches", () => {
    let claims = 0;
    let matches = 0;
    fc.assert(
      fc.property(
        anyPattern,
        patternText,
        fc.constantFrom("m", "mu", "mi", "miu"),
        (source, text, flags) => {
          const pattern = compiled(source, `g${flags}`);
          if (pattern === undefined) return;
          const literals = requiredLiterals(pattern.source, pattern);
          if (literals.length === 0) return;
          claims += 1;
          for (const [match] of text.matchAll(pattern)) {
            matches += 1;
            const inMatch = (literal: string): boolean =>
              pattern.ignoreCase
                ? folded(match).includes(folded(literal))
                : match.includes(literal);
            expect(
              literals.some(inMatch),
              `${source} of ${JSON.stringify(literals)} in ${match}`,
            ).toBe(true);
          }
        },
      ),
      fcOptions(100_000),
    );
    expect(claims).toBeGreaterThan(100);
    expect(matches).toBeGreaterThan(20);
  });
});
