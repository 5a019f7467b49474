import fc from "fast-check";

const letters = [
  "a",
  "b",
  "c",
  "k",
  "s",
  "K",
  "ab",
  "abc",
  "bca",
  "é",
  "😀",
  "ſ",
  "\u212a",
  "-",
  "0",
];

const atom = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...letters) },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      ".",
      "[ab]",
      "[^a]",
      "[\\]b-]",
      "\\w",
      "\\d",
      "\\s",
      "\\b",
      "^",
      "$",
    ),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom("\\x61", "\\u0062", "\\.", "\\-", "\\t", "\\(", "{", "\\/", "\\0"),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom("(?=ab)", "(?!c)", "(?<=b)", "(?i:ab)", "\\1", "\\p{L}"),
  },
);

const quantifier = fc.oneof(
  { weight: 6, arbitrary: fc.constant("") },
  {
    weight: 3,
    arbitrary: fc.constantFrom("*", "+", "?", "{2}", "{1,}", "{0,2}", "{1,2}", "+?", "{3}?"),
  },
);

/** Regular expressions, most of them valid, of the letters in `patternText`. */
export const anyPattern: fc.Arbitrary<string> = fc.letrec<{ pattern: string; term: string }>(
  (tie) => ({
    pattern: fc
      .array(fc.array(tie("term"), { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 2 })
      .map((branches) => branches.map((terms) => terms.join("")).join("|")),
    term: fc
      .tuple(
        fc.oneof(
          { depthSize: "small", withCrossShrink: true },
          { weight: 5, arbitrary: atom },
          {
            weight: 2,
            arbitrary: fc
              .tuple(fc.constantFrom("(", "(?:", "(?<n>"), tie("pattern"))
              .map(([open, inside]) => `${open}${inside})`),
          },
        ),
        quantifier,
      )
      .map(([part, times]) => part + times),
  }),
).pattern;

/** Texts in which such patterns have something to match. */
export const patternText: fc.Arbitrary<string> = fc
  .array(
    fc.constantFrom(
      ...letters,
      "A",
      "B",
      "C",
      "S",
      "\n",
      "\n",
      "\r\n",
      " ",
      "abcabc",
      "\0",
      "\t",
      ".",
      "{",
      "(",
    ),
    {
      maxLength: 24,
    },
  )
  .map((pieces) => pieces.join(""));
