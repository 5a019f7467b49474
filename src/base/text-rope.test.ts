import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyText, boundaryBefore, fittingSplice } from "../../test/support/arbitrary-text.ts";
import { fcOptions, scaled, seed } from "../../test/support/counts.ts";
import { refusal } from "../../test/support/refusal.ts";
import { Random } from "./random.ts";
import {
  checkWellFormed,
  endsWithNewline,
  lineAt,
  lineCount,
  lineEnd,
  lineStart,
  type Unit,
} from "./text-positions.ts";
import { TextRope } from "./text-rope.ts";

const units: readonly Unit[] = ["utf16", "line", "byte", "codepoint"];
const encoder = new TextEncoder();

/** How many of a unit a plain text has, by the plainest means there are. */
function plainCount(text: string, unit: Unit): number {
  switch (unit) {
    case "utf16":
      return text.length;
    case "line":
      return text.split("\n").length - 1;
    case "byte":
      return encoder.encode(text).length;
    default:
      return [...text].length;
  }
}

function boundaries(text: string): number[] {
  const offsets = Array.from({ length: text.length + 1 }, (_, offset) => offset);
  return offsets.filter((offset) => boundaryBefore(text, offset) === offset);
}

/** The lines of a text with their newlines, as SPEC.md counts them. */
function plainLines(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

const spliceWish = fc.record({ at: fc.nat(200), remove: fc.nat(12), insert: anyText(5) });
const smallLimit = fc.integer({ min: 2, max: 9 });

describe("TextRope", () => {
  test("TEXT-2: equals a plain string while it is spliced and asked", () => {
    const step = fc.record({ splice: spliceWish, ask: fc.nat(200), whole: fc.boolean() });
    fc.assert(
      fc.property(
        anyText(20),
        smallLimit,
        fc.array(step, { maxLength: 40, size: "max" }),
        (initial, limit, steps) => {
          const rope = new TextRope(initial, limit);
          let plain = initial;
          for (const { splice, ask, whole } of steps) {
            const { at, remove, insert } = fittingSplice(plain, splice);
            rope.splice(at, remove, insert);
            plain = plain.slice(0, at) + insert + plain.slice(at + remove);
            expect(rope.length).toBe(plain.length);
            for (const unit of units) expect(rope.total(unit)).toBe(plainCount(plain, unit));
            const offset = boundaryBefore(plain, ask % (plain.length + 1));
            expect(rope.slice(offset, plain.length)).toBe(plain.slice(offset));
            expect(rope.slice(0, offset)).toBe(plain.slice(0, offset));
            expect(rope.count("byte", offset)).toBe(plainCount(plain.slice(0, offset), "byte"));
            if (whole) expect(rope.toString()).toBe(plain);
          }
          expect(rope.toString()).toBe(plain);
        },
      ),
      fcOptions(1500),
    );
  });

  test("TEXT-2: positions of every unit convert into each other and back", () => {
    fc.assert(
      fc.property(
        anyText(20),
        smallLimit,
        fc.array(spliceWish, { maxLength: 6 }),
        (initial, limit, wishes) => {
          const rope = new TextRope(initial, limit);
          let plain = initial;
          for (const wish of wishes) {
            const { at, remove, insert } = fittingSplice(plain, wish);
            rope.splice(at, remove, insert);
            plain = plain.slice(0, at) + insert + plain.slice(at + remove);
          }
          for (const unit of units) {
            for (const offset of boundaries(plain)) {
              const value = plainCount(plain.slice(0, offset), unit);
              expect(rope.count(unit, offset)).toBe(value);
              // The first offset with so many before it: only lines have several.
              const first = boundaries(plain).find(
                (each) => plainCount(plain.slice(0, each), unit) === value,
              );
              expect(rope.locate(unit, value)).toBe(unit === "line" ? first : offset);
            }
          }
        },
      ),
      fcOptions(1000),
    );
  });

  test("TEXT-2: positions are right in a text of a megabyte that is being edited", () => {
    const random = new Random(seed());
    const line = "The quick brown fox — 日本語, 😀 — jumps.\r\n";
    let plain = line.repeat(Math.ceil(1_000_000 / line.length));
    const rope = new TextRope(plain);
    for (let left = scaled(300); left > 0; left--) {
      const { at, remove, insert } = fittingSplice(plain, {
        at: random.below(plain.length),
        remove: random.below(random.below(10) === 0 ? 5000 : 5),
        insert: line.repeat(random.below(random.below(10) === 0 ? 200 : 2)),
      });
      rope.splice(at, remove, insert);
      plain = plain.slice(0, at) + insert + plain.slice(at + remove);
      const asked = boundaryBefore(plain, random.below(plain.length));
      for (const unit of units) {
        const value = plainCount(plain.slice(0, asked), unit);
        expect(rope.count(unit, asked)).toBe(value);
        if (unit !== "line") expect(rope.locate(unit, value)).toBe(asked);
        else expect(rope.locate(unit, value)).toBe(plain.lastIndexOf("\n", asked - 1) + 1);
      }
    }
    expect(rope.toString()).toBe(plain);
  });

  test("TEXT-3: a position inside a character is refused, with the position and its unit", () => {
    fc.assert(
      fc.property(anyText(12), smallLimit, (text, limit) => {
        const rope = new TextRope(text, limit);
        for (const unit of ["byte", "codepoint"] as const) {
          const allowed = new Set(
            boundaries(text).map((offset) => plainCount(text.slice(0, offset), unit)),
          );
          for (let position = 0; position <= rope.total(unit); position++) {
            if (allowed.has(position)) continue;
            const { code, facts } = refusal(() => rope.locate(unit, position));
            expect({ code, facts }).toEqual({ code: "split_character", facts: { position, unit } });
          }
        }
        for (let offset = 0; offset <= text.length; offset++) {
          if (boundaryBefore(text, offset) === offset) continue;
          const facts = { position: offset, unit: "utf16" };
          for (const action of [
            () => rope.checkBoundary(offset),
            () => rope.count("byte", offset),
          ]) {
            expect(refusal(action)).toMatchObject({ code: "split_character", facts });
          }
        }
      }),
      fcOptions(600),
    );
  });

  test("TEXT-3: a position outside the text is refused, with the valid range", () => {
    fc.assert(
      fc.property(anyText(8), smallLimit, (text, limit) => {
        const rope = new TextRope(text, limit);
        for (const unit of units) {
          const maximum = plainCount(text, unit);
          for (const position of [-1, maximum + 1, 0.5, Number.NaN, Infinity]) {
            const { code, facts } = refusal(() => rope.locate(unit, position));
            expect({ code, facts }).toEqual({
              code: "out_of_range",
              facts: { position, unit, minimum: 0, maximum },
            });
          }
        }
        const maximum = text.length;
        for (const position of [-1, maximum + 1, 0.5, Number.NaN]) {
          expect(refusal(() => rope.count("byte", position))).toMatchObject({
            code: "out_of_range",
            facts: { position, minimum: 0, maximum },
          });
        }
        for (const [start, end] of [
          [-1, 0],
          [0, maximum + 1],
          [1, 0],
          [0, 0.5],
          [Number.NaN, 0],
        ] as const) {
          expect(refusal(() => rope.slice(start, end))).toMatchObject({
            code: "out_of_range",
            facts: { minimum: 0, maximum },
          });
        }
      }),
      fcOptions(200),
    );
  });

  test("TEXT-3: half a surrogate pair is ill-formed text", () => {
    for (const text of ["\ud83d", "\ude00", "a\ud83d", "\ud83d\ud83d\ude00", "\ude00\ud83d"]) {
      expect(refusal(() => checkWellFormed(text)).code).toBe("ill_formed_text");
    }
    expect(() => checkWellFormed("😀\uFEFF\u0000")).not.toThrow();
  });
});

describe("lines", () => {
  test.each([
    ["a\nb\n", 2],
    ["a\nb", 2],
    ["\n", 1],
    ["", 0],
    ["\n\n", 2],
    ["a\r\nb", 2],
    ["\r", 1],
  ])("TEXT-1: %j has %i lines", (text, lines) => {
    expect(lineCount(new TextRope(text))).toBe(lines);
  });

  test("TEXT-1: starts, ends and numbers of lines are those of a plain text", () => {
    fc.assert(
      fc.property(anyText(20), smallLimit, (text, limit) => {
        const rope = new TextRope(text, limit);
        const lines = plainLines(text);
        expect(lineCount(rope)).toBe(lines.length);
        expect(endsWithNewline(rope)).toBe(text.endsWith("\n"));
        let start = 0;
        for (const [line, content] of lines.entries()) {
          expect(lineStart(rope, line)).toBe(start);
          expect(lineEnd(rope, line)).toBe(start + content.replace(/\n$/, "").length);
          for (const offset of boundaries(content)) {
            if (offset < content.length) expect(lineAt(rope, start + offset)).toBe(line);
          }
          start += content.length;
        }
        expect(lineStart(rope, lines.length)).toBe(text.length);
      }),
      fcOptions(1000),
    );
  });

  test("TEXT-3: a line outside the text is refused, with the valid range", () => {
    fc.assert(
      fc.property(anyText(8), (text) => {
        const rope = new TextRope(text);
        const lines = plainLines(text).length;
        for (const line of [-1, lines + 1, 0.5, Number.NaN]) {
          const { code, facts } = refusal(() => lineStart(rope, line));
          expect(code).toBe("out_of_range");
          expect(facts).toMatchObject({ line, minimum: 0, maximum: lines, line_count: lines });
        }
      }),
      fcOptions(100),
    );
  });
});
