import fc from "fast-check";

/** Lines that look like parts of a diff, repeat, hold \r, or are not ASCII. */
const nastyLine = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom("a", "b", "c", "", "}", "  x", "\tx", "x  ") },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      "- x",
      "-- x",
      "++ y",
      "+ y",
      "@@ -1 +1 @@",
      "\\ No newline at end of file",
      " lead",
      "--",
      "-- ",
      "diff --git a/x b/x",
      "```",
    ),
  },
  { weight: 2, arbitrary: fc.constantFrom("x\r", "\r", "a\rb", "c\r") },
  {
    weight: 2,
    arbitrary: fc.constantFrom("żółw", "日本語", "😀😀", "\uFEFFbom", "e\u0301", "\u2028"),
  },
  { weight: 1, arbitrary: fc.string({ maxLength: 8 }).map((text) => text.replaceAll("\n", "")) },
);

/** Any text as tools must take it: with or without final newline, empty too. No NUL: git calls that binary. */
export const nastyText: fc.Arbitrary<string> = fc
  .tuple(fc.array(nastyLine, { maxLength: 30 }), fc.boolean())
  .map(([lines, final]) => lines.join("\n") + (final && lines.length > 0 ? "\n" : ""));
