import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  anyText,
  boundaryBefore,
  boundaryBehind,
  someText,
} from "../../test/support/arbitrary-text.ts";
import { fcOptions } from "../../test/support/counts.ts";
import { documentOf, loaded, stamp, stateOf } from "../../test/support/documents.ts";
import { editStep, History, historyOf } from "../../test/support/random-history.ts";
import { refusal, refusalCode } from "../../test/support/refusal.ts";
import { useSmallLeaves } from "../../test/support/small-leaves.ts";
import { spliced } from "../../test/support/spliced.ts";
import { type OracleUnit, textOf, UnitOracle } from "../../test/support/unit-oracle.ts";
import {
  type KumikoError,
  lineAt,
  lineCount,
  lineStart,
  TextRope,
  type Unit,
} from "../base/index.ts";
import type { EditOperation } from "../protocol/index.ts";
import { BlockDocument } from "./block-document.ts";
import { translateEdit } from "./edit-lines.ts";
import { type RangeChange, translateRanges } from "./edit-ranges.ts";
import { translateAppend, translateSplice } from "./splice-text.ts";
import type { Splice } from "./types.ts";

useSmallLeaves();

const units: readonly Unit[] = ["utf16", "line", "byte", "codepoint"];

/** A history that has a birth, so that it can be forked. */
function bornHistory(text: string): History {
  const oracle = new UnitOracle();
  const [baseline, birth] = [stamp("disk", "baseline"), stamp("disk", "birth")];
  oracle.commitFixed(text === "" ? [] : [{ at: 0, remove: 0, insert: text }], baseline);
  oracle.commitFixed([], birth);
  const document = BlockDocument.create({ peer: "2", baseline: { text, stamp: baseline } });
  document.birth(birth);
  return new History(document, oracle);
}

/** A range of a text between characters, from any two numbers. */
function fittingRange(text: string, at: number, length: number): { start: number; end: number } {
  const start = boundaryBefore(text, at % (text.length + 1));
  return { start, end: boundaryBehind(text, Math.min(text.length, start + length)) };
}

/** Where a unit stands in the current text, or where it would stand if it were visible. */
function placeOf(oracle: UnitOracle, unit: OracleUnit): number {
  const visible = new Set(oracle.visible());
  const before = oracle.units.slice(0, oracle.units.indexOf(unit));
  return before.filter((each) => visible.has(each)).length;
}

/** Whether units stand in the current text, all of them and nothing between them. */
function standTogether(oracle: UnitOracle, range: readonly OracleUnit[]): boolean {
  const now = oracle.visible();
  const first = now.indexOf(range[0]!);
  return first !== -1 && range.every((unit, i) => now[first + i] === unit);
}

const base = fc.nat();
const rangeWish = fc.record({ at: fc.nat(200), length: fc.nat(6), insert: anyText(3) });

describe("a past version", () => {
  test("BASE-1, TEXT-2: answers every position like a text of its own", () => {
    fc.assert(
      fc.property(anyText(10), historyOf(12), (text, steps) => {
        const { document } = bornHistory(text).run(steps);
        for (let version = 0; version <= document.version; version++) {
          const past = document.past(version);
          if (version === document.version) {
            expect(past).toBeUndefined();
            continue;
          }
          const plain = document.read(version);
          const rope = new TextRope(plain, 4);
          expect(past!.length).toBe(plain.length);
          for (let offset = 0; offset <= plain.length; offset++) {
            expect(past!.slice(offset, plain.length)).toBe(plain.slice(offset));
            expect(past!.slice(0, offset)).toBe(plain.slice(0, offset));
          }
          for (const unit of units) {
            expect(past!.total(unit)).toBe(rope.total(unit));
            for (let offset = -1; offset <= plain.length + 1; offset++) {
              const answers = [past!, rope].map((each) => answer(() => each.count(unit, offset)));
              expect(answers[0]).toEqual(answers[1]);
            }
            for (let value = -1; value <= rope.total(unit) + 1; value++) {
              const answers = [past!, rope].map((each) => answer(() => each.locate(unit, value)));
              expect(answers[0]).toEqual(answers[1]);
            }
          }
          expect(lineCount(past!)).toBe(lineCount(rope));
          for (let line = 0; line <= lineCount(rope); line++) {
            expect(lineStart(past!, line)).toBe(lineStart(rope, line));
          }
        }
      }),
      fcOptions(400),
    );
  });

  function answer(action: () => number): number | string | undefined {
    let value: number | undefined;
    return refusalCode(() => (value = action())) ?? value;
  }

  test("BASE-1: says of every unit whether it survives and where it is now", () => {
    fc.assert(
      fc.property(anyText(10), historyOf(15), base, (text, steps, wish) => {
        const { document, oracle } = bornHistory(text).run(steps);
        const version = wish % document.version;
        const past = document.past(version)!;
        const then = oracle.visible(version);
        const now = oracle.visible();
        for (const [offset, unit] of then.entries()) {
          const place = now.indexOf(unit);
          expect(past.survives(offset)).toBe(place !== -1);
          expect(past.carry(offset, "right")).toBe(placeOf(oracle, unit));
          expect(past.carry(offset + 1, "left")).toBe(
            placeOf(oracle, unit) + (place === -1 ? 0 : 1),
          );
        }
        expect(past.carry(0, "left")).toBe(0);
        expect(past.carry(then.length, "right")).toBe(now.length);
        for (let start = 0; start < then.length; start++) {
          for (const end of [start + 1, Math.min(then.length, start + 4)]) {
            const range = then.slice(start, end);
            expect(past.intact(start, end)).toBe(standTogether(oracle, range));
          }
        }
      }),
      fcOptions(600),
    );
  });
});

describe("edits by offset", () => {
  test("BASE-3, BASE-4: a range in one piece is replaced where it is now, and else in conflict", () => {
    fc.assert(
      fc.property(anyText(10), historyOf(12), base, rangeWish, (text, steps, version, wish) => {
        const { document, oracle } = bornHistory(text).run(steps);
        const based = version % (document.version + 1);
        const { start, end } = fittingRange(document.read(based), wish.at, wish.length);
        checkRange(document, oracle, based, { start, end, insert: wish.insert });
      }),
      fcOptions(4000),
    );
  });

  /** What BASE-3 and BASE-4 say, told by units. */
  function checkRange(
    document: BlockDocument,
    oracle: UnitOracle,
    version: number,
    change: RangeChange,
  ): void {
    const { start, end, insert } = change;
    const then = oracle.visible(version);
    const now = oracle.text();
    const before = stateOf(document);
    const translate = (): Splice[] => translateRanges(document, [change], version);
    const range = then.slice(start, end);
    const visible = new Set(oracle.visible());
    const neighbours = [then[start - 1], then[start]];
    const stands =
      range.length > 0
        ? standTogether(oracle, range)
        : neighbours.some((unit) => unit === undefined || visible.has(unit));
    if (!stands) {
      checkConflict(document, oracle, version, refusal(translate), { start, end });
    } else {
      const right = then[start];
      const at = right === undefined ? now.length : placeOf(oracle, right);
      const wanted = now.slice(0, at) + insert + now.slice(at + range.length);
      expect(spliced(now, translate())).toBe(wanted);
    }
    expect(stateOf(document)).toEqual(before);
  }

  test("EDIT-1, BASE-1: the same in bytes, UTF-16 units and code points", () => {
    const encoder = new TextEncoder();
    fc.assert(
      fc.property(anyText(10), historyOf(8), base, rangeWish, (text, steps, version, wish) => {
        const { document } = bornHistory(text).run(steps);
        const based = version % (document.version + 1);
        const then = document.read(based);
        const { start, end } = fittingRange(then, wish.at, wish.length);
        const [before, inside] = [then.slice(0, start), then.slice(start, end)];
        const sizes = {
          utf16: (each: string) => each.length,
          codepoint: (each: string) => [...each].length,
          byte: (each: string) => encoder.encode(each).length,
        };
        const outcome = (action: () => Splice[]): unknown => {
          let splices: Splice[] = [];
          return refusalCode(() => (splices = action())) ?? splices;
        };
        const wanted = outcome(() =>
          translateRanges(document, [{ start, end, insert: wish.insert }], based),
        );
        for (const unit of [undefined, "byte", "utf16", "codepoint"] as const) {
          const size = sizes[unit ?? "byte"];
          const request = {
            offset: size(before),
            deleteCount: size(inside),
            insert: wish.insert,
            unit,
            base: based,
          };
          expect(outcome(() => translateSplice(document, request))).toEqual(wanted);
        }
      }),
      fcOptions(800),
    );
  });

  test("EDIT-1, TEXT-3, BASE-8: what cannot be addressed is refused and changes nothing", () => {
    const document = documentOf("a😀é");
    document.commit([{ at: 0, remove: 0, insert: "x" }], stamp("amy", "e1"));
    const before = stateOf(document);
    const refused = [
      [{ offset: 2, deleteCount: 0, unit: "byte", base: 1 }, "split_character"],
      [{ offset: 6, deleteCount: 0, base: 1 }, "split_character"],
      [{ offset: 1, deleteCount: 1, unit: "byte", base: 1 }, "split_character"],
      [{ offset: 2, deleteCount: 0, unit: "utf16", base: 1 }, "split_character"],
      [{ offset: 3, deleteCount: 0, unit: "utf16", base: 2 }, "split_character"],
      [{ offset: 8, deleteCount: 0, base: 1 }, "out_of_range"],
      [{ offset: 0, deleteCount: 4, unit: "codepoint", base: 1 }, "out_of_range"],
      [{ offset: -1, deleteCount: 0, base: 1 }, "out_of_range"],
      [{ offset: 0, deleteCount: 0, base: 3 }, "out_of_range"],
      [{ offset: 0, deleteCount: 0, base: -1 }, "out_of_range"],
      [{ offset: 0, deleteCount: 0, base: 0.5 }, "out_of_range"],
      [{ offset: 0, deleteCount: -1, base: 1 }, "invalid_argument"],
      [{ offset: 0, deleteCount: 0.5, base: 1 }, "invalid_argument"],
      [{ offset: 0, deleteCount: 0, base: undefined }, "base_required"],
      [{ offset: 0, deleteCount: 0, insert: "\ud83d", base: 1 }, "ill_formed_text"],
    ] as const;
    const codes = refused.map(
      ([request]) => refusal(() => translateSplice(document, { insert: "y", ...request })).code,
    );
    expect(codes).toEqual(refused.map(([, code]) => code));
    expect(stateOf(document)).toEqual(before);
  });

  test("BASE-4: several ranges of one version, none overlapping, land together or not at all", () => {
    fc.assert(
      fc.property(
        anyText(15),
        historyOf(6, editStep),
        fc.array(rangeWish, { minLength: 2, maxLength: 4 }),
        (text, steps, wishes) => {
          const { document, oracle } = bornHistory(text).run(steps);
          const then = document.read(2);
          const changes: RangeChange[] = [];
          for (const { at, length, insert } of wishes) {
            const range = { ...fittingRange(then, at, length), insert };
            // Two inserts at one place are told apart by their order alone; see BASE-7.
            if (changes.every((each) => range.start > each.end || range.end < each.start)) {
              changes.push(range);
            }
          }
          const single = changes.map((each) =>
            refusalCode(() => translateRanges(document, [each], 2)),
          );
          const code = refusalCode(() => translateRanges(document, changes, 2));
          expect(code).toBe(single.find((each) => each !== undefined));
          if (code !== undefined) return;
          // Made from the last to the first, they do not move each other.
          const visible = oracle.visible(2);
          let wanted = oracle.text();
          for (const { start, end, insert } of changes.toSorted((a, b) => b.start - a.start)) {
            const right = visible[start];
            const at = right === undefined ? oracle.text().length : placeOf(oracle, right);
            wanted = wanted.slice(0, at) + insert + wanted.slice(at + end - start);
          }
          expect(spliced(oracle.text(), translateRanges(document, changes, 2))).toBe(wanted);
        },
      ),
      fcOptions(1500),
    );
  });

  test("BASE-4: overlapping ranges and ranges that end before they start are refused", () => {
    const document = documentOf("abcdef");
    const code = (...changes: RangeChange[]): string | undefined =>
      refusalCode(() => translateRanges(document, changes, 1));
    const range = (start: number, end: number): RangeChange => ({ start, end, insert: "x" });
    expect(code(range(0, 3), range(2, 4))).toBe("overlapping_operations");
    expect(code(range(0, 3), range(1, 1))).toBe("overlapping_operations");
    expect(code(range(2, 4), range(0, 6))).toBe("overlapping_operations");
    expect(code(range(0, 3), range(3, 3), range(0, 0), range(3, 5))).toBeUndefined();
    expect(code(range(3, 2))).toBe("invalid_argument");
  });

  test("BASE-7: inserts at one place stand in commit order, by offset and by line", () => {
    fc.assert(
      fc.property(
        anyText(6),
        fc.nat(),
        fc.array(someText(3), { minLength: 2, maxLength: 5 }),
        (text, wish, inserts) => {
          const document = documentOf(text);
          const offset = boundaryBefore(text, wish % (text.length + 1));
          for (const [i, insert] of inserts.entries()) {
            const request = { offset, deleteCount: 0, insert, unit: "utf16", base: 1 } as const;
            document.commit(translateSplice(document, request), stamp(`actor ${i}`, `e${i}`));
          }
          expect(document.read()).toBe(
            text.slice(0, offset) + inserts.join("") + text.slice(offset),
          );
          const byLine = documentOf(text);
          const lines = lineCount(byLine.current);
          const line = wish % (lines + 1);
          for (const i of inserts.keys()) {
            const operation: EditOperation = { op: "insert", line, content: `line ${i}` };
            byLine.commit(translateEdit(byLine, [operation], 1), stamp("amy", `e${i}`));
          }
          const once = documentOf(text);
          const content = [...inserts.keys()].map((i) => `line ${i}`).join("\n");
          const operation: EditOperation = { op: "insert", line, content };
          once.commit(translateEdit(once, [operation], 1), stamp("amy", "e1"));
          expect(byLine.read()).toBe(once.read());
        },
      ),
      fcOptions(500),
    );
  });

  test("EDIT-9: an append goes to the end, whatever was read", () => {
    fc.assert(
      fc.property(anyText(6), historyOf(5), someText(), (text, steps, added) => {
        const { document } = bornHistory(text).run(steps);
        expect(spliced(document.read(), translateAppend(document, added))).toBe(
          document.read() + added,
        );
      }),
      fcOptions(100),
    );
    expect(refusal(() => translateAppend(documentOf("a"), "\ude00")).code).toBe("ill_formed_text");
  });
});

interface ConflictFacts {
  readonly expected: string;
  readonly actual: string;
  readonly around: readonly { readonly line: number; readonly text: string }[];
  readonly version: number;
  readonly base_version: number;
  readonly changed_by: readonly {
    readonly actor: string;
    readonly edit: string;
    readonly version: number;
    readonly time: number;
  }[];
}

/** BASE-6: the facts are those of the documents. */
function checkConflict(
  document: BlockDocument,
  oracle: UnitOracle,
  version: number,
  { code, facts }: KumikoError,
  { start, end }: { readonly start: number; readonly end: number },
): ConflictFacts {
  expect(code).toBe("conflict");
  const given = facts as unknown as ConflictFacts;
  const then = oracle.visible(version);
  const now = document.read();
  expect(given.version).toBe(document.version);
  expect(given.base_version).toBe(version);
  expect(given.expected).toBe(textOf(then.slice(start, end)));
  expect(now).toContain(given.actual);
  const lines = now.replace(/\n$/, "").split("\n");
  for (const { line, text } of given.around) expect(text).toBe(lines[line] ?? "");
  // What is left of the range must be in what is shown as standing there.
  const visible = new Set(oracle.visible());
  const left = then.slice(start, end).filter((unit) => visible.has(unit));
  expect(isSubsequence(textOf(left), given.actual)).toBe(true);
  return given;
}

function isSubsequence(part: string, whole: string): boolean {
  let at = 0;
  for (const unit of whole.split("")) if (unit === part[at]) at++;
  return at === part.length;
}

/**
 * BASE-6: whoever changed the place last is named, and nobody else. The place is the range with what came
 * into it; of an insert, which has no inside, it is both its neighbours and what came between them.
 */
function checkAuthors(
  document: BlockDocument,
  oracle: UnitOracle,
  { changed_by: authors, base_version: version }: ConflictFacts,
  { start, end }: { readonly start: number; readonly end: number },
): void {
  const then = oracle.visible(version);
  const range = start === end ? then.slice(start - 1, start + 1) : then.slice(start, end);
  const from = oracle.units.indexOf(range[0]!);
  const place = oracle.units.slice(from, oracle.units.indexOf(range.at(-1)!) + 1);
  const [before, now] = [new Set(then), new Set(oracle.visible())];
  const wanted = new Set<string>();
  for (const unit of place.filter((each) => before.has(each) !== now.has(each))) {
    let last = document.version;
    while (!oracle.toggled(last).has(unit)) last--;
    wanted.add(document.entry(last).edit);
  }
  expect(new Set(authors.map(({ edit }) => edit))).toEqual(wanted);
  for (const author of authors) {
    expect(author.version).toBeGreaterThan(version);
    const { actor, edit, time } = document.entry(author.version);
    expect({ actor, edit, version: author.version, time }).toEqual(author);
    const toggled = oracle.toggled(author.version);
    expect(place.some((unit) => toggled.has(unit))).toBe(true);
  }
}

describe("conflicts", () => {
  test("BASE-6: name whoever changed the place, and nobody else", () => {
    fc.assert(
      fc.property(anyText(10), historyOf(12), base, rangeWish, (text, steps, wish, range) => {
        const { document, oracle } = bornHistory(text).run(steps);
        const version = wish % document.version;
        const { start, end } = fittingRange(document.read(version), range.at, range.length);
        const translate = (): Splice[] =>
          translateRanges(document, [{ start, end, insert: range.insert }], version);
        fc.pre(refusalCode(translate) === "conflict");
        const facts = refusal(translate).facts as unknown as ConflictFacts;
        checkAuthors(document, oracle, facts, { start, end });
      }),
      fcOptions(1500),
    );
  });
});

interface LineWish {
  readonly op: "insert" | "delete" | "replace";
  readonly line: number;
  readonly lines: number;
  readonly content: string;
}

const lineWish: fc.Arbitrary<LineWish> = fc.record({
  op: fc.constantFrom("insert", "delete", "replace"),
  line: fc.nat(20),
  lines: fc.integer({ min: 1, max: 2 }),
  content: fc.constantFrom("", "x", "x\ny", "word", "a\n"),
});
/** A text of short lines: line edits meet each other all the time. */
const textOfLines = fc
  .tuple(fc.array(fc.constantFrom("", "a", "b", "word", "é😀"), { maxLength: 6 }), fc.boolean())
  .map(([lines, final]) => lines.join("\n") + (final && lines.length > 0 ? "\n" : ""));

/** The offsets at which the lines of a text begin, and its end. */
function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return text === "" || text.endsWith("\n") ? starts : [...starts, text.length];
}

function fittingOperation(text: string, { op, line, lines, content }: LineWish): EditOperation {
  const count = lineStarts(text).length - 1;
  if (op === "insert" || count === 0) {
    return { op: "insert", line: line % (count + 1), content };
  }
  const start = line % count;
  const range = { start_line: start, end_line: Math.min(count, start + lines) };
  return op === "delete" ? { op, ...range } : { op, ...range, content };
}

/** The lines of a text with others in the place of some, as EDIT-2 to EDIT-5 have it. */
function withLines(text: string, start: number, end: number, added: readonly string[]): string {
  const final = text === "" || text.endsWith("\n");
  const lines = text === "" ? [] : text.replace(/\n$/, "").split("\n");
  const result = [...lines.slice(0, start), ...added, ...lines.slice(end)];
  return result.length === 0 ? "" : result.join("\n") + (final ? "\n" : "");
}

function linesOf(operation: EditOperation): string[] {
  return operation.op === "delete" ? [] : operation.content.replace(/\n$/, "").split("\n");
}

/** What others did to a text: anything, then edits by line. */
const lineHistory = fc.record({
  steps: historyOf(6),
  lineEdits: fc.array(lineWish, { maxLength: 4 }),
});

type LineHistory = typeof lineHistory extends fc.Arbitrary<infer Each> ? Each : never;

function afterLineEdits(text: string, { steps, lineEdits }: LineHistory): History {
  const history = bornHistory(text).run(steps);
  for (const wish of lineEdits) {
    const { document } = history;
    const operation = fittingOperation(document.read(), wish);
    const splices = translateEdit(document, [operation], document.version);
    history.commit(splices, history.stamp("bob"));
  }
  return history;
}

/**
 * What becomes of the current text if the edit is made of the units it would touch in its base: a text
 * that got or lost its final newline since then differs by one newline from an edit of lines.
 */
function decidedWhereRead(
  oracle: UnitOracle,
  version: number,
  operation: EditOperation,
): string | undefined {
  const then = oracle.visible(version);
  using reader = documentOf(textOf(then));
  const now = oracle.text();
  const [splice] = translateEdit(reader, [operation], 1);
  if (splice === undefined) return now;
  const { at, remove, insert } = splice;
  const touched = then.slice(at, at + remove);
  if (touched.length > 0 && !standTogether(oracle, touched)) return undefined;
  const place = then[at] === undefined ? now.length : placeOf(oracle, then[at]);
  return now.slice(0, place) + insert + now.slice(place + remove);
}

describe("edits by line", () => {
  test("BASE-2: lines that nobody changed are replaced where they are now, and else in conflict", () => {
    fc.assert(
      fc.property(textOfLines, lineHistory, base, lineWish, (text, others, wish, line) => {
        const { document, oracle } = afterLineEdits(text, others);
        const version = wish % (document.version + 1);
        const then = document.read(version);
        const operation = fittingOperation(then, line);
        fc.pre(operation.op !== "insert");
        const starts = lineStarts(then);
        const [start, end] = [starts[operation.start_line]!, starts[operation.end_line]!];
        const range = oracle.visible(version).slice(start, end);
        const now = oracle.text();
        const at = oracle.visible().indexOf(range[0]!);
        const behind = at + range.length;
        const whole =
          standTogether(oracle, range) &&
          (at === 0 || now[at - 1] === "\n") &&
          (behind === now.length || now[behind - 1] === "\n" || now[behind] === "\n");
        const before = stateOf(document);
        const translate = (): Splice[] => translateEdit(document, [operation], version);
        if (!whole) {
          const error = refusal(translate);
          checkConflict(document, oracle, version, error, { start, end });
        } else {
          const first = lineAt(document.current, at);
          const count = operation.end_line - operation.start_line;
          const byLine = withLines(now, first, first + count, linesOf(operation));
          const byUnit = decidedWhereRead(oracle, version, operation);
          expect([byLine, byUnit]).toContain(spliced(now, translate()));
        }
        expect(stateOf(document)).toEqual(before);
      }),
      fcOptions(4000),
    );
  });

  test("BASE-3: a line goes to the boundary it named as long as that stands", () => {
    fc.assert(
      fc.property(textOfLines, lineHistory, base, lineWish, (text, others, wish, line) => {
        const { document, oracle } = afterLineEdits(text, others);
        const version = wish % (document.version + 1);
        const then = oracle.visible(version);
        const operation = fittingOperation(document.read(version), { ...line, op: "insert" });
        if (operation.op !== "insert") return;
        const starts = lineStarts(textOf(then));
        const boundary = starts[operation.line]!;
        const visible = new Set(oracle.visible());
        const now = oracle.text();
        const before = stateOf(document);
        const translate = (): Splice[] => translateEdit(document, [operation], version);
        const [left, right] = [then[boundary - 1], then[boundary]];
        const content = linesOf(operation);
        if (operation.line === starts.length - 1) {
          const count = lineStarts(now).length - 1;
          expect(spliced(now, translate())).toBe(withLines(now, count, count, content));
        } else if (left === undefined || visible.has(left)) {
          // The newline before it (or the beginning of the text) still stands.
          const from = left === undefined ? 0 : oracle.visible().indexOf(left) + 1;
          const to = placeOf(oracle, right!);
          const at = from + now.slice(from, to).lastIndexOf("\n") + 1;
          const first = lineAt(document.current, at);
          expect(spliced(now, translate())).toBe(withLines(now, first, first, content));
        } else if (!visible.has(right!)) {
          // Nothing of the line need be left at its boundary: only what it said is compared.
          const { code, facts } = refusal(translate);
          const expected = textOf(then).slice(boundary, starts[operation.line + 1]);
          expect({ code, expected: facts["expected"] }).toEqual({ code: "conflict", expected });
        } else {
          // Only its first character stands: a line begins where the boundary was, or it is a conflict.
          const at = oracle.visible().indexOf(right!);
          const start = now.slice(0, at).lastIndexOf("\n") + 1;
          if (start < placeOf(oracle, left)) {
            expect(refusal(translate).code).toBe("conflict");
          } else {
            const first = lineAt(document.current, start);
            expect(spliced(now, translate())).toBe(withLines(now, first, first, content));
          }
        }
        expect(stateOf(document)).toEqual(before);
      }),
      fcOptions(4000),
    );
  });

  test("BASE-5: expecting what the conflict showed as standing there settles it", () => {
    fc.assert(
      fc.property(textOfLines, lineHistory, base, lineWish, (text, others, wish, line) => {
        const { document } = afterLineEdits(text, others);
        const version = wish % (document.version + 1);
        const operation = fittingOperation(document.read(version), line);
        fc.pre(operation.op !== "insert");
        const translate = (each: EditOperation): Splice[] =>
          translateEdit(document, [each], version);
        fc.pre(refusalCode(() => translate(operation)) === "conflict");
        const { actual } = refusal(() => translate(operation)).facts as unknown as ConflictFacts;
        fc.pre(actual !== "");
        const splices = translate({ ...operation, expected_text: actual });
        const now = document.read();
        // Some occurrence of what was expected gave way to the new lines.
        const results: string[] = [];
        const count = lineStarts(actual).length - 1;
        for (let first = 0; first + count <= lineStarts(now).length - 1; first++) {
          const starts = lineStarts(now);
          if (now.slice(starts[first], starts[first + count]) === actual) {
            results.push(withLines(now, first, first + count, linesOf(operation)));
          }
        }
        expect(results).toContain(spliced(now, splices));
        const wrong = { ...operation, expected_text: `${actual}?` } as EditOperation;
        expect(refusalCode(() => translate(wrong))).toBe("conflict");
      }),
      fcOptions(1500),
    );
  });

  test("BASE-5: what was read and still stands settles nothing else", () => {
    const document = documentOf("a\nb\nc\n");
    document.commit([{ at: 2, remove: 1, insert: "B" }], stamp("amy", "e1"));
    const replace = (expected: string): EditOperation => ({
      op: "replace",
      start_line: 1,
      end_line: 2,
      content: "x",
      expected_text: expected,
    });
    for (const expected of ["b", "b\n", "c", ""]) {
      const { code, facts } = refusal(() => translateEdit(document, [replace(expected)], 1));
      expect(code).toBe("conflict");
      expect(facts).toMatchObject({ expected, actual: "B\n", version: 2, base_version: 1 });
      expect(facts["changed_by"]).toMatchObject([{ actor: "amy", edit: "e1", version: 2 }]);
    }
    for (const expected of ["B", "B\n"]) {
      const splices = translateEdit(document, [replace(expected)], 1);
      expect(spliced(document.read(), splices)).toBe("a\nx\nc\n");
    }
  });

  test("BASE-6: the lines around are those of the current text, counted from 0", () => {
    const document = documentOf("0\n1\n2\n3\n4\n5\n6\n");
    document.commit([{ at: 6, remove: 1, insert: "three" }], stamp("amy", "e1"));
    document.commit([{ at: 0, remove: 0, insert: "new\n" }], stamp("bob", "e2"));
    const { facts } = refusal(() =>
      translateEdit(document, [{ op: "delete", start_line: 3, end_line: 4 }], 1),
    );
    expect(facts).toMatchObject({
      operation: 0,
      expected: "3\n",
      actual: "three\n",
      base_version: 1,
      version: 3,
      changed_by: [{ actor: "amy", edit: "e1", version: 2 }],
    });
    expect(facts["around"]).toEqual(
      [
        [2, "1"],
        [3, "2"],
        [4, "three"],
        [5, "4"],
        [6, "5"],
        [7, "6"],
      ]
        .slice(0, (facts["around"] as unknown[]).length)
        .map(([line, text]) => ({
          line,
          counted_from: 0,
          text,
        })),
    );
  });

  test("BASE-1, EDIT-2: operations that stand are made together, as each alone would be", () => {
    fc.assert(
      fc.property(
        textOfLines,
        lineHistory,
        base,
        fc.array(lineWish, { minLength: 2, maxLength: 4 }),
        (text, others, wish, lines) => {
          const { document, oracle } = afterLineEdits(text, others);
          const version = wish % (document.version + 1);
          const then = document.read(version);
          const operations: EditOperation[] = [];
          for (const each of lines) {
            const operation = fittingOperation(then, each);
            const [start, end] = linesAddressed(operation);
            // Operations that touch are one operation to the rules; they are tried elsewhere.
            const apart = operations.every((other) => {
              const [otherStart, otherEnd] = linesAddressed(other);
              return start > otherEnd || end < otherStart;
            });
            if (apart) operations.push(operation);
          }
          const alone = operations.map((each) =>
            refusalCode(() => translateEdit(document, [each], version)),
          );
          const splices: Splice[] = [];
          const code = refusalCode(() =>
            splices.push(...translateEdit(document, operations, version)),
          );
          expect(code).toBe(alone.find((each) => each !== undefined));
          if (code !== undefined) return;
          const now = document.read();
          const singles = operations
            .toSorted((a, b) => linesAddressed(a)[0] - linesAddressed(b)[0])
            .flatMap((each) => translateEdit(document, [each], version))
            .toSorted((a, b) => a.at - b.at);
          const gaps = singles
            .slice(1)
            .map(({ at }, i) => at - singles[i]!.at - singles[i]!.remove);
          const alike = singles.reduceRight((sofar, each) => spliced(sofar, [each]), now);
          // Those that came to touch each other decide about their newlines together.
          const together = madeTogether(document, oracle, version, operations);
          const wanted = gaps.some((gap) => gap < 0)
            ? [together]
            : gaps.includes(0)
              ? [together, alike]
              : [alike];
          expect(wanted).toContain(spliced(now, splices));
        },
      ),
      fcOptions(3000),
    );
  });

  test("BASE-1, EDIT-2: lines that others deleted leave every other line to the edit", () => {
    const fate = fc.constantFrom(
      "stays",
      "others",
      "others",
      "delete",
      "delete",
      "replace",
      "insert",
    );
    fc.assert(
      fc.property(
        fc.array(fate, { minLength: 1, maxLength: 6 }),
        fc.boolean(),
        fc.boolean(),
        (fates, finalNewline, appends) => {
          const lines = fates.map((_, line) => `line ${line}`);
          const document = documentOf(lines.join("\n") + (finalNewline ? "\n" : ""));
          const deletions = fates.flatMap((each, line): EditOperation[] =>
            each === "others" ? [{ op: "delete", start_line: line, end_line: line + 1 }] : [],
          );
          if (deletions.length > 0) {
            document.commit(translateEdit(document, deletions, 1), stamp("bob", "deletions"));
          }
          const operations = fates.flatMap((each, line): EditOperation[] => {
            const range = { start_line: line, end_line: line + 1 };
            if (each === "delete") return [{ op: "delete", ...range }];
            if (each === "replace") return [{ op: "replace", ...range, content: `new ${line}` }];
            return each === "insert" ? [{ op: "insert", line, content: `new ${line}` }] : [];
          });
          if (appends) operations.push({ op: "insert", line: lines.length, content: "last" });
          fc.pre(operations.length > 0);
          const splices: Splice[] = [];
          const code = refusalCode(() => splices.push(...translateEdit(document, operations, 1)));
          // The newline of a line may have gone with the last line, which changes the line.
          fc.pre(code !== "conflict");
          expect(code).toBeUndefined();
          const left = fates.flatMap((each, line) => {
            if (each === "others" || each === "delete") return [];
            if (each === "replace") return [`new ${line}`];
            return each === "insert" ? [`new ${line}`, lines[line]!] : [lines[line]!];
          });
          const wanted = appends ? [...left, "last"] : left;
          const isFinal = finalNewline || (document.read() === "" && wanted.length > 0);
          expect(spliced(document.read(), splices)).toBe(
            wanted.length === 0 ? "" : wanted.join("\n") + (isFinal ? "\n" : ""),
          );
        },
      ),
      fcOptions(2000),
    );
  });
});

function linesAddressed(operation: EditOperation): readonly [start: number, end: number] {
  if (operation.op === "insert") return [operation.line, operation.line];
  return [operation.start_line, operation.end_line];
}

/** The current lines with each operation made at the line to which it was carried. */
function madeTogether(
  document: BlockDocument,
  oracle: UnitOracle,
  version: number,
  operations: readonly EditOperation[],
): string {
  const now = document.read();
  const then = oracle.visible(version);
  const starts = lineStarts(textOf(then));
  const count = lineStarts(now).length - 1;
  const final = now === "" || now.endsWith("\n");
  const lines = now === "" ? [] : now.replace(/\n$/, "").split("\n");
  // What stands before each current line, and which lines are gone.
  const inserted = Array.from({ length: count + 1 }, (): string[] => []);
  const taken = new Set<number>();
  for (const operation of operations.toSorted(
    (a, b) => linesAddressed(a)[0] - linesAddressed(b)[0],
  )) {
    const [start, end] = linesAddressed(operation);
    const atEnd = operation.op === "insert" && start === starts.length - 1;
    const place = atEnd ? now.length : placeOf(oracle, then[starts[start]!]!);
    const first = atEnd ? count : lineAt(document.current, place);
    inserted[first]!.push(...linesOf(operation));
    for (let line = first; line < first + end - start; line++) taken.add(line);
  }
  const result = inserted.flatMap((added, line) =>
    line < count && !taken.has(line) ? [...added, lines[line]!] : added,
  );
  return result.length === 0 ? "" : result.join("\n") + (final ? "\n" : "");
}

describe("forks", () => {
  /** Whether a splice of the base and its neighbours were left alone by everything since. */
  function separated(oracle: UnitOracle, version: number, { at, remove }: Splice): boolean {
    // Restored text is new to Loro (UNDO-8), so this follows the splices and not the units.
    const length = oracle.visible(version).length;
    let tokens: (number | undefined)[] = Array.from({ length }, (_, i) => i);
    for (let later = version + 1; later <= oracle.version; later++) {
      for (const splice of oracle.splices(later)) {
        const fresh = splice.insert.split("").map(() => undefined);
        tokens = tokens.toSpliced(splice.at, splice.remove, ...fresh);
      }
    }
    const from = Math.max(0, at - 1);
    const to = Math.min(length, at + remove + 1);
    const place = length === 0 ? 0 : tokens.indexOf(from);
    if (place === -1) return false;
    for (let i = from; i < to; i++) if (tokens[place + i - from] !== i) return false;
    if (at === 0 && place !== 0) return false;
    return at + remove < length || place + to - from === tokens.length;
  }

  /** Sequential splices as they address the text before the first of them. */
  function againstBase(splices: readonly Splice[]): Splice[] {
    let shift = 0;
    return splices.map(({ at, remove, insert }) => {
      const based = { at: at - shift, remove, insert };
      shift += insert.length - remove;
      return based;
    });
  }

  /** Makes a change in a fork and merges it into a copy of the document. Gives the splices made too. */
  function inFork(
    document: BlockDocument,
    forkedFrom: ReturnType<BlockDocument["save"]>,
    translate: (target: BlockDocument) => Splice[],
  ): { merged: string; splices: Splice[] } {
    using fork = loaded(forkedFrom, "77");
    using copy = loaded(document.save(), "2");
    const before = fork.versionVector();
    const splices = translate(fork);
    fork.commit(splices, stamp("claude", "the edit"));
    copy.import(fork.exportSince(before), stamp("claude", "the import"));
    return { merged: copy.read(), splices };
  }

  const history = (maxLength: number): ReturnType<typeof historyOf> =>
    fc.oneof(historyOf(maxLength), historyOf(maxLength, editStep));

  test("BASE-9: a splice against a base is the splice in a fork, merged", () => {
    let compared = 0;
    fc.assert(
      fc.property(
        anyText(12),
        history(6),
        history(3),
        rangeWish,
        fc.constantFrom("byte", "utf16", "codepoint"),
        (text, before, behind, wish, unit) => {
          const forked = bornHistory(text).run(before);
          using document = forked.document;
          const saved = document.save();
          const version = document.version;
          const then = new TextRope(document.read());
          const { oracle } = forked.run(behind);
          const { start, end } = fittingRange(then.toString(), wish.at, wish.length);
          const offset = then.count(unit, start);
          const request = { offset, deleteCount: then.count(unit, end) - offset, unit };
          const translate = (target: BlockDocument): Splice[] =>
            translateSplice(target, { ...request, insert: wish.insert, base: version });
          const { merged, splices } = inFork(document, saved, translate);
          const apart = againstBase(splices).every((each) => separated(oracle, version, each));
          if (!apart) return;
          compared++;
          // A range that is trimmed touches less than it names, and may be in conflict all the same.
          if (!separated(oracle, version, { at: start, remove: end - start, insert: "" })) {
            if (refusalCode(() => translate(document)) === "conflict") return;
          }
          expect(spliced(document.read(), translate(document))).toBe(merged);
        },
      ),
      fcOptions(2000),
    );
    expect(compared).toBeGreaterThan(10);
  });

  test("BASE-9: a line edit against a base is the line edit in a fork, merged", () => {
    let compared = 0;
    fc.assert(
      fc.property(
        textOfLines,
        history(5),
        history(2),
        fc.array(lineWish, { minLength: 1, maxLength: 3 }),
        (text, before, behind, wishes) => {
          const forked = bornHistory(text).run(before);
          using document = forked.document;
          const saved = document.save();
          const version = document.version;
          const operations = wishes.map((wish) => fittingOperation(document.read(), wish));
          const { oracle } = forked.run(behind);
          const translate = (target: BlockDocument): Splice[] =>
            translateEdit(target, operations, version);
          using probe = loaded(saved);
          fc.pre(refusalCode(() => translate(probe)) === undefined);
          const { merged, splices } = inFork(document, saved, translate);
          const apart = againstBase(splices).every((each) => separated(oracle, version, each));
          if (!apart || refusalCode(() => translate(document)) === "conflict") return;
          compared++;
          expect(spliced(document.read(), translate(document))).toBe(merged);
        },
      ),
      fcOptions(2000),
    );
    expect(compared).toBeGreaterThan(10);
  });

  test("BASE-9, BIRTH-2: so it is in a fork that made the same history by itself and was then born", () => {
    let compared = 0;
    fc.assert(
      fc.property(
        anyText(12),
        historyOf(5),
        historyOf(3, editStep),
        rangeWish,
        (text, before, behind, wish) => {
          const [main, other] = ["2", "77"].map((peer) => {
            const twin = new History(documentOf(text, peer), baselineOracle(text)).run(before);
            const birth = stamp("disk", "birth");
            twin.document.birth(birth);
            twin.oracle.commitFixed([], birth);
            return twin;
          });
          using document = main!.document;
          using fork = other!.document;
          const version = document.version;
          const change = {
            ...fittingRange(document.read(), wish.at, wish.length),
            insert: wish.insert,
          };
          const { oracle } = main!.run(behind);
          const splices = translateRanges(fork, [change], version);
          fork.commit(splices, stamp("claude", "the edit"));
          if (!splices.every((each) => separated(oracle, version, each))) return;
          const code = refusalCode(() => translateRanges(document, [change], version));
          if (code === "conflict") return;
          compared++;
          const wanted = spliced(document.read(), translateRanges(document, [change], version));
          document.import(fork.exportSince(), stamp("claude", "the import"));
          expect(document.read()).toBe(wanted);
        },
      ),
      fcOptions(500),
    );
    expect(compared).toBeGreaterThan(5);
  });

  function baselineOracle(text: string): UnitOracle {
    const oracle = new UnitOracle();
    const splices = text === "" ? [] : [{ at: 0, remove: 0, insert: text }];
    oracle.commitFixed(splices, stamp("disk", "baseline"));
    return oracle;
  }
});
