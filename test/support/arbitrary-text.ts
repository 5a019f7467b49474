import fc from "fast-check";

/** Characters that share one half of their surrogate pair with "😀". */
export const likeIt = ["😁", "\u{1FA00}"] as const;

const piece = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom("a", "b", "c", " ", "word") },
  { weight: 4, arbitrary: fc.constantFrom("\n", "\n", "\r\n", "\r") },
  {
    weight: 2,
    arbitrary: fc.constantFrom("é", "ß", "日", "e\u0301", "\u2028", "\u0000", "\uFEFF"),
  },
  { weight: 2, arbitrary: fc.constantFrom("😀", ...likeIt, "🏳️‍🌈") },
  { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 2 }) },
);

/** Well-formed text of any kind: CRLF, characters of one to four bytes, with and without final newline. */
export function anyText(maxPieces = 12): fc.Arbitrary<string> {
  return fc.array(piece, { maxLength: maxPieces }).map((pieces) => pieces.join(""));
}

/** Like `anyText`, but never empty. */
export function someText(maxPieces = 4): fc.Arbitrary<string> {
  return fc
    .array(piece, { minLength: 1, maxLength: maxPieces })
    .map((pieces) => pieces.join("") || "x");
}

/** The nearest offset at or before `offset` that lies between characters. */
export function boundaryBefore(text: string, offset: number): number {
  const code = text.charCodeAt(offset);
  return offset > 0 && code >= 0xdc00 && code <= 0xdfff ? offset - 1 : offset;
}

/** The nearest offset at or behind `offset` that lies between characters. */
export function boundaryBehind(text: string, offset: number): number {
  const before = boundaryBefore(text, offset);
  return before === offset ? offset : offset + 1;
}

/** Any number turned into a splice that fits a text. */
export function fittingSplice(
  text: string,
  wish: { readonly at: number; readonly remove: number; readonly insert: string },
): { at: number; remove: number; insert: string } {
  const at = boundaryBefore(text, wish.at % (text.length + 1));
  const end = boundaryBehind(text, Math.min(text.length, at + wish.remove));
  return { at, remove: end - at, insert: wish.insert };
}
