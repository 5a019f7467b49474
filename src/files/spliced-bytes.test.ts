import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fcOptions } from "../../test/support/counts.ts";
import { nastyText } from "../../test/support/nasty-text.ts";
import { TextRope } from "../base/index.ts";
import { splicedBytes } from "./spliced-bytes.ts";
import { afterSaving, type TextForm, writeText } from "./text-form.ts";

const PLAIN: TextForm = { encoding: "utf-8", bom: false, crlf: false };

const anyText = fc.oneof(
  nastyText,
  fc.string({ unit: fc.constantFrom("a", "é", "😀", "\n", "\r", "\r\n", "\uFEFF", "€") }),
);

/** Places between characters, as fractions of what is there. */
const anySplice = fc.record({
  from: fc.double({ min: 0, max: 1, noNaN: true }),
  to: fc.double({ min: 0, max: 1, noNaN: true }),
  insert: anyText,
});

describe("bytes made of those that were there", () => {
  test("are those of the whole text, and are read as it, whatever was changed", () => {
    let made = 0;
    fc.assert(
      fc.property(
        anyText.map((text) => `first\n${text}`),
        fc.array(anySplice, { minLength: 1, maxLength: 4 }),
        fc.boolean(),
        (old, wishes, bom) => {
          const { form } = afterSaving({ text: old, form: { ...PLAIN, bom } });
          const rope = new TextRope(old, 8);
          const splices = wishes.map(({ from, to, insert }) => {
            const ends = [from, to].map((part) => between(rope.toString(), part));
            const [at, end] = [Math.min(...ends), Math.max(...ends)];
            const splice = { at, remove: end - at, insert };
            rope.splice(splice.at, splice.remove, splice.insert);
            return splice;
          });
          const pieces = splicedBytes(writeText(old, form), form, { text: rope, splices });
          if (pieces === undefined) return;
          made += 1;
          const text = rope.toString();
          // That the last return went need not be known.
          const { returns } = form;
          const after = afterSaving({ text, form });
          expect({ ...after, form: { ...after.form, returns } }).toEqual({
            text,
            form: { ...form, returns },
          });
          expect(Buffer.concat(pieces)).toEqual(Buffer.from(writeText(text, form)));
        },
      ),
      fcOptions(20_000),
    );
    expect(made).toBeGreaterThan(200);
  });

  const refused: readonly [why: string, old: string, inserted: string, form: TextForm][] = [
    ["a NUL came in", "a\n", "\0", PLAIN],
    ["nothing says how lines end", "a", "b", PLAIN],
    ["the first line ends with \\r\\n", "\n", "a\r", PLAIN],
    ["it begins with a mark that was none", "a\n", "\uFEFF", PLAIN],
    ["lines end with \\r\\n on disk", "a\n", "b", { ...PLAIN, crlf: true }],
    ["it is UTF-16", "a\n", "b", { ...PLAIN, encoding: "utf-16le", bom: true }],
  ];
  test.each(refused)("are not made when %s", (_, old, insert, form) => {
    const text = new TextRope(`${insert}${old}`);
    const splices = [{ at: 0, remove: 0, insert }];
    expect(splicedBytes(writeText(old, form), form, { text, splices })).toBeUndefined();
  });
});

function between(text: string, part: number): number {
  const at = Math.round(part * text.length);
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff ? at - 1 : at;
}
