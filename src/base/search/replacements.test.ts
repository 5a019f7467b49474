import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyPattern, patternText } from "../../../test/support/arbitrary-pattern.ts";
import { fcOptions } from "../../../test/support/counts.ts";
import { refusalCode } from "../../../test/support/refusal.ts";
import { findReplacements, type Replacement } from "./replacements.ts";
import { compilePattern } from "./text-query.ts";

const replacementText = fc
  .array(
    fc.constantFrom(
      "$1",
      "$2",
      "$10",
      "$01",
      "$0",
      "$&",
      "$$",
      "$`",
      "$'",
      "$<n>",
      "$<x",
      "$",
      "a",
      "1",
      "<n>",
    ),
    {
      maxLength: 5,
    },
  )
  .map((pieces) => pieces.join(""));

function applied(text: string, replacements: readonly Replacement[]): string {
  let result = "";
  let at = 0;
  for (const { start, end, insert } of replacements) {
    result += text.slice(at, start) + insert;
    at = end;
  }
  return result + text.slice(at);
}

describe("replacements of a pattern", () => {
  it("give what String.replace gives", () => {
    let changed = 0;
    fc.assert(
      fc.property(
        anyPattern,
        patternText,
        replacementText,
        fc.boolean(),
        (pattern, text, replacement, ignoreCase) => {
          const query = { query: pattern, literal: false, ignoreCase };
          if (refusalCode(() => compilePattern(query)) !== undefined) return;
          // The engine's own replace is wrong about a name that two groups share.
          if (pattern.split("<n>").length > 2) return;
          const wanted = { pattern, ignoreCase, replacement, most: Infinity };
          const result = applied(text, findReplacements(text, wanted));
          const native = text.replace(compilePattern(query), replacement);
          if (native !== text) changed += 1;
          expect(result).toBe(native);
        },
      ),
      fcOptions(50_000),
    );
    expect(changed).toBeGreaterThan(100);
  });

  it("stop at as many as are needed, and before they fill the memory", () => {
    const wanted = { pattern: "a", ignoreCase: false, replacement: "b", most: 2 };
    expect(findReplacements("aaaa", wanted)).toHaveLength(2);
    const huge = { pattern: "a", ignoreCase: false, replacement: "$`", most: Infinity };
    expect(refusalCode(() => findReplacements("a".repeat(20_000), huge))).toBe("invalid_argument");
  });
});
