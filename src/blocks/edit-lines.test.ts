import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyText, likeIt } from "../../test/support/arbitrary-text.ts";
import { fcOptions } from "../../test/support/counts.ts";
import { documentOf, stamp, stateOf } from "../../test/support/documents.ts";
import { refusal } from "../../test/support/refusal.ts";
import { spliced } from "../../test/support/spliced.ts";
import type { EditOperation } from "../protocol/index.ts";
import { translateEdit } from "./edit-lines.ts";
import type { Splice } from "./types.ts";

/** A text as an array of lines: the plainest thing that the rules can be said about. */
interface Lines {
  readonly lines: readonly string[];
  readonly finalNewline: boolean;
}

function toLines(text: string): Lines {
  if (text === "") return { lines: [], finalNewline: true };
  const finalNewline = text.endsWith("\n");
  return { lines: (finalNewline ? text.slice(0, -1) : text).split("\n"), finalNewline };
}

function toText({ lines, finalNewline }: Lines): string {
  if (lines.length === 0) return "";
  return lines.join("\n") + (finalNewline ? "\n" : "");
}

function linesOfContent(content: string): string[] {
  return content.replace(/\n$/, "").split("\n");
}

function rangeOf(operation: EditOperation): readonly [start: number, end: number] {
  if (operation.op === "insert") return [operation.line, operation.line];
  return [operation.start_line, operation.end_line];
}

function clash(left: EditOperation, right: EditOperation): boolean {
  const [leftStart, leftEnd] = rangeOf(left);
  const [rightStart, rightEnd] = rangeOf(right);
  return leftStart < rightEnd && rightStart < leftEnd;
}

/** EDIT-2 to EDIT-5 on an array of lines: what each line of the old text becomes. */
function editedLines({ lines, finalNewline }: Lines, operations: readonly EditOperation[]): Lines {
  const result: string[] = [];
  const hasReturns = lines.some((line) => line.includes("\r"));
  for (let line = 0; line <= lines.length; line++) {
    for (const each of operations) {
      if (each.op === "insert" && each.line === line) result.push(...linesOfContent(each.content));
    }
    for (const each of operations) {
      if (each.op === "replace" && each.start_line === line) {
        result.push(...linesOfContent(each.content));
      }
    }
    const taken = operations.some((each) => {
      const [start, end] = rangeOf(each);
      return start <= line && line < end;
    });
    if (line < lines.length && !taken) result.push(lines[line]!);
  }
  const last = result.at(-1);
  if (!finalNewline && !hasReturns && last?.endsWith("\r") === true)
    result[result.length - 1] = last.slice(0, -1);
  return { lines: result, finalNewline };
}

const lineText = fc.constantFrom(
  "",
  "a",
  "b",
  "ab",
  "a b",
  "  a",
  "\r",
  "}",
  "\uFEFF",
  "é😀",
  "😀",
  "x😀y",
  "x😁y",
  ...likeIt,
);
const textOfLines = fc.oneof(
  fc
    .tuple(fc.array(lineText, { maxLength: 7 }), fc.boolean())
    .map(([lines, finalNewline]) => toText({ lines, finalNewline })),
  anyText(15),
);
const content = fc
  .tuple(fc.array(lineText, { maxLength: 3 }), fc.constantFrom("", "\n", "\n\n"))
  .map(([lines, end]) => lines.join("\n") + end);

interface Wish {
  readonly op: "insert" | "delete" | "replace";
  readonly line: number;
  readonly lines: number;
  readonly content: string;
  readonly expectation: "none" | "exact" | "other newline";
}

const wish: fc.Arbitrary<Wish> = fc.record({
  op: fc.constantFrom("insert", "delete", "replace"),
  line: fc.nat(20),
  lines: fc.integer({ min: 1, max: 3 }),
  content,
  expectation: fc.constantFrom("none", "exact", "other newline"),
});

/** An operation that addresses lines which exist, as far as there are any. */
function fitting(text: string, each: Wish): EditOperation {
  const { lines, finalNewline } = toLines(text);
  if (each.op === "insert" || lines.length === 0) {
    return { op: "insert", line: each.line % (lines.length + 1), content: each.content };
  }
  const start = each.line % lines.length;
  const end = Math.min(lines.length, start + each.lines);
  const range = { start_line: start, end_line: end };
  const isLast = end === lines.length;
  const addressed = toText({
    lines: lines.slice(start, end),
    finalNewline: !isLast || finalNewline,
  });
  const expected =
    each.expectation === "none"
      ? {}
      : { expected_text: each.expectation === "exact" ? addressed : toggledNewline(addressed) };
  return each.op === "delete"
    ? { op: "delete", ...range, ...expected }
    : { op: "replace", ...range, content: each.content, ...expected };
}

function toggledNewline(text: string): string {
  return text.endsWith("\n") ? text.slice(0, -1) : `${text}\n`;
}

/** What it expects, and what it writes when it expects a line end, as a writer of CRLF would say it. */
function withReturns(operation: EditOperation, ends: boolean): EditOperation {
  if (operation.op === "insert" || operation.expected_text === undefined) return operation;
  const expected_text = crlf(operation.expected_text, ends);
  if (operation.op === "delete" || !expected_text.includes("\r"))
    return { ...operation, expected_text };
  return { ...operation, expected_text, content: crlf(operation.content, ends) };
}

/** With a return behind a last line that lacks its end, too. */
function crlf(text: string, ends: boolean): string {
  return text.replaceAll("\n", "\r\n") + (ends && !text.endsWith("\n") ? "\r" : "");
}

describe("line edits", () => {
  test("EDIT-2, EDIT-3, EDIT-4, EDIT-5: equal edits of an array of lines", () => {
    fc.assert(
      fc.property(textOfLines, fc.array(wish, { minLength: 1, maxLength: 5 }), (text, wishes) => {
        const operations: EditOperation[] = [];
        for (const each of wishes) {
          const operation = fitting(text, each);
          if (!operations.some((other) => clash(other, operation))) operations.push(operation);
        }
        const document = documentOf(text);
        document.commit(translateEdit(document, operations, 1), stamp("claude", "e1"));
        expect(document.read()).toBe(toText(editedLines(toLines(text), operations)));
        expect(document.read(1)).toBe(text);
      }),
      fcOptions(6000),
    );
  });

  test("EDIT-2: overlapping operations are refused and name each other", () => {
    fc.assert(
      fc.property(textOfLines, fc.array(wish, { minLength: 2, maxLength: 4 }), (text, wishes) => {
        const operations = wishes.map((each) => fitting(text, each));
        const clashes = operations.some((left, i) =>
          operations.slice(i + 1).some((right) => clash(left, right)),
        );
        fc.pre(clashes);
        const document = documentOf(text);
        const before = stateOf(document);
        const { code, facts } = refusal(() => translateEdit(document, operations, 1));
        expect(code).toBe("overlapping_operations");
        const [first, second] = [facts["first"] as number, facts["second"] as number];
        expect(clash(operations[first]!, operations[second]!)).toBe(true);
        expect(stateOf(document)).toEqual(before);
      }),
      fcOptions(1000),
    );
  });

  test("EDIT-2: two inserts at one place stand in the order given, around a range at its ends", () => {
    const document = documentOf("a\nb\nc\n");
    const operations: EditOperation[] = [
      { op: "insert", line: 2, content: "behind 1" },
      { op: "replace", start_line: 1, end_line: 2, content: "B" },
      { op: "insert", line: 1, content: "before 1" },
      { op: "insert", line: 2, content: "behind 2" },
      { op: "insert", line: 1, content: "before 2" },
    ];
    document.commit(translateEdit(document, operations, 1), stamp("claude", "e1"));
    expect(document.read()).toBe("a\nbefore 1\nbefore 2\nB\nbehind 1\nbehind 2\nc\n");
  });

  test.each([
    ["", "x", "x\n"],
    ["", "", "\n"],
    ["", "\n\n", "\n\n"],
    ["a", "x", "a\nx"],
    ["a", "", "a\n"],
    ["a\n", "x", "a\nx\n"],
    ["a\n", "x\n", "a\nx\n"],
    ["a\n", "x\n\n", "a\nx\n\n"],
  ])("EDIT-3, EDIT-4: %j with the line %j added is %j", (text, added, wanted) => {
    const document = documentOf(text);
    const line = document.lineCount;
    document.commit(
      translateEdit(document, [{ op: "insert", line, content: added }], 1),
      stamp("claude", "e1"),
    );
    expect(document.read()).toBe(wanted);
  });

  test.each([
    ["a\nb", 1, 2, "a"],
    ["a\nb", 0, 1, "b"],
    ["a\nb", 0, 2, ""],
    ["a\nb\n", 1, 2, "a\n"],
    ["\n\n", 1, 2, "\n"],
    ["a\n\nb", 1, 3, "a"],
  ])("EDIT-5: %j without its lines %i to %i is %j", (text, start, end, wanted) => {
    const document = documentOf(text);
    const operation: EditOperation = { op: "delete", start_line: start, end_line: end };
    document.commit(translateEdit(document, [operation], 1), stamp("claude", "e1"));
    expect(document.read()).toBe(wanted);
  });

  test("EDIT-6: what the lines are not is a conflict, and nothing is changed", () => {
    fc.assert(
      fc.property(textOfLines, wish, lineText, (text, each, other) => {
        const operation = fitting(text, { ...each, expectation: "exact" });
        fc.pre(operation.op !== "insert");
        const right = operation.expected_text ?? "";
        const wrong = `${right.replace(/\n$/, "")}${other}!`;
        const document = documentOf(text);
        const before = stateOf(document);
        for (const base of [1, undefined]) {
          const { code, facts } = refusal(() =>
            translateEdit(document, [{ ...operation, expected_text: wrong }], base),
          );
          expect(code).toBe("conflict");
          expect(facts).toMatchObject({
            operation: 0,
            expected: wrong,
            actual: right,
            version: 1,
            base_version: 1,
            changed_by: [],
          });
        }
        expect(stateOf(document)).toEqual(before);
      }),
      fcOptions(500),
    );
  });

  test("EDIT-6, BASE-8: expected_text stands in for a base, for every operation or not at all", () => {
    const document = documentOf("a\nb\n");
    const expecting: EditOperation = {
      op: "delete",
      start_line: 0,
      end_line: 1,
      expected_text: "a",
    };
    const silent: EditOperation = { op: "delete", start_line: 1, end_line: 2 };
    const insert: EditOperation = { op: "insert", line: 1, content: "x" };
    expect(translateEdit(document, [expecting], undefined)).toEqual([
      { at: 0, remove: 2, insert: "" },
    ]);
    for (const operations of [[silent], [insert], [expecting, silent], [expecting, insert]]) {
      const { code, facts } = refusal(() => translateEdit(document, operations, undefined));
      expect({ code, facts }).toEqual({ code: "base_required", facts: { version: 1 } });
    }
  });

  test("EDIT-10: CRLF in what is expected gives what LF gives, where the text has no return", () => {
    const plain = textOfLines.map((text) => text.replaceAll("\r", ""));
    const wishes = fc.array(fc.tuple(wish, fc.boolean()), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(plain, wishes, fc.boolean(), (text, all, isPast) => {
        const operations: EditOperation[] = [];
        const windows: EditOperation[] = [];
        for (const [each, ends] of all) {
          const operation = fitting(text, { ...each, content: each.content.replaceAll("\r", "") });
          if (operations.some((other) => clash(other, operation))) continue;
          operations.push(operation);
          windows.push(withReturns(operation, ends));
        }
        const document = documentOf(text);
        if (isPast) document.commit([{ at: 0, remove: 0, insert: "# new\n" }], stamp("amy", "e0"));
        expect(translateEdit(document, windows, 1)).toEqual(translateEdit(document, operations, 1));
      }),
      fcOptions(3000),
    );
  });

  test("EDIT-10: where the text has a return, one that is expected is text", () => {
    const document = documentOf("one\ntwo\rthree\n");
    const operation: EditOperation = {
      op: "replace",
      start_line: 0,
      end_line: 1,
      content: "1\r\n",
      expected_text: "one\r\n",
    };
    expect(refusal(() => translateEdit(document, [operation], 1)).code).toBe("conflict");
    document.commit([{ at: 7, remove: 1, insert: "" }], stamp("amy", "e1"));
    // Also where only the version that was read has one: what is expected of it was read in it.
    expect(refusal(() => translateEdit(document, [operation], 1)).code).toBe("conflict");
    expect(translateEdit(document, [operation], 2)).toEqual([{ at: 0, remove: 3, insert: "1" }]);
  });

  test.each([
    ["a\nb", { op: "replace", start_line: 1, end_line: 2, content: "B\r\n" }, "a\nB"],
    ["a\nb", { op: "insert", line: 2, content: "c\r\n" }, "a\nb\nc"],
    ["a\nb", { op: "insert", line: 2, content: "c\r\nd\r" }, "a\nb\nc\r\nd"],
    ["a\nb", { op: "insert", line: 1, content: "c\r\n" }, "a\nc\r\nb"],
    ["a\nb\n", { op: "insert", line: 2, content: "c\r\n" }, "a\nb\nc\r\n"],
    ["a\r\nb", { op: "insert", line: 2, content: "c\r\n" }, "a\r\nb\nc\r"],
  ] as const)(
    "EDIT-3: of a line end that %j lacks no half is left by %j",
    (text, operation, wanted) => {
      const document = documentOf(text);
      document.commit(translateEdit(document, [operation], 1), stamp("claude", "e1"));
      expect(document.read()).toBe(wanted);
    },
  );

  test("EDIT-7: a replacement touches no whole word that old and new text share at their ends", () => {
    const words = /[\p{L}\p{N}\p{M}_\u{10000}-\u{10ffff}]+|[^]/gu;
    fc.assert(
      fc.property(textOfLines, wish, (text, each) => {
        const operation = fitting(text, { ...each, op: "replace" });
        fc.pre(operation.op === "replace");
        const document = documentOf(text);
        const splices = translateEdit(document, [operation], 1);
        expect(splices.length).toBeLessThanOrEqual(1);
        document.commit(splices, stamp("claude", "e1"));
        for (const { at, remove, insert } of splices) {
          const [removed, added] = [text.slice(at, at + remove).match(words), insert.match(words)];
          if (removed === null || added === null) continue;
          expect(removed[0]).not.toBe(added[0]);
          expect(removed.at(-1)).not.toBe(added.at(-1));
        }
      }),
      fcOptions(1000),
    );
  });

  test("EDIT-7: a word that becomes another is one change", () => {
    const document = documentOf("the colour of it\n");
    const operation: EditOperation = {
      op: "replace",
      start_line: 0,
      end_line: 1,
      content: "the color of it",
    };
    expect(translateEdit(document, [operation], 1)).toEqual([
      { at: 4, remove: 6, insert: "color" },
    ]);
  });

  test("EDIT-7: what stays keeps its blame", () => {
    const document = documentOf("one two three\nnext\n");
    const operation: EditOperation = {
      op: "replace",
      start_line: 0,
      end_line: 1,
      content: "one 2 three",
    };
    document.commit(translateEdit(document, [operation], 1), stamp("claude", "e1"));
    expect(document.blame()).toMatchObject([
      { start: 0, length: 4, edit: "baseline" },
      { start: 4, length: 1, edit: "e1" },
      { start: 5, length: 12, edit: "baseline" },
    ]);
  });
});

describe("refused line edits", () => {
  const refused: readonly (readonly [string, EditOperation[], string, object])[] = [
    ["no operation", [], "invalid_argument", {}],
    [
      "an insert behind the end",
      [{ op: "insert", line: 4, content: "x" }],
      "out_of_range",
      { operation: 0, line: 4, minimum: 0, maximum: 3, line_count: 3 },
    ],
    [
      "a negative line",
      [
        { op: "insert", line: 0, content: "x" },
        { op: "insert", line: -1, content: "x" },
      ],
      "out_of_range",
      { operation: 1, line: -1, minimum: 0, maximum: 3 },
    ],
    [
      "half a line",
      [{ op: "delete", start_line: 0.5, end_line: 1 }],
      "out_of_range",
      { operation: 0, line: 0.5 },
    ],
    [
      "a range behind the end",
      [{ op: "delete", start_line: 0, end_line: 4 }],
      "out_of_range",
      { operation: 0, line: 4, maximum: 3 },
    ],
    [
      "an empty range",
      [{ op: "delete", start_line: 1, end_line: 1 }],
      "invalid_argument",
      { operation: 0, start_line: 1, end_line: 1 },
    ],
    [
      "a range that ends before it starts",
      [{ op: "replace", start_line: 2, end_line: 1, content: "x" }],
      "invalid_argument",
      { operation: 0, start_line: 2, end_line: 1 },
    ],
    ["half a character", [{ op: "insert", line: 0, content: "\ud83d" }], "ill_formed_text", {}],
    [
      "an insert inside a range",
      [
        { op: "delete", start_line: 0, end_line: 3 },
        { op: "insert", line: 1, content: "x" },
      ],
      "overlapping_operations",
      { first: 0, second: 1 },
    ],
  ];

  test.each(refused)("EDIT-2, EDIT-5: %s changes nothing", (_, operations, code, facts) => {
    const document = documentOf("a\nb\nc");
    const before = stateOf(document);
    expect(refusal(() => translateEdit(document, operations, 1))).toMatchObject({ code, facts });
    expect(stateOf(document)).toEqual(before);
  });

  test("VERSION-2: a commit with one splice that does not fit changes nothing", () => {
    const bad = fc.constantFrom<Splice>(
      { at: -1, remove: 0, insert: "x" },
      { at: 1000, remove: 0, insert: "x" },
      { at: 0, remove: 1000, insert: "x" },
      { at: 0, remove: -1, insert: "x" },
      { at: 0.5, remove: 0, insert: "x" },
      { at: 0, remove: Number.NaN, insert: "x" },
      { at: 0, remove: 0, insert: "\ude00" },
    );
    const good = fc.record({ at: fc.nat(3), remove: fc.nat(2), insert: anyText(3) });
    fc.assert(
      fc.property(fc.array(good, { maxLength: 3 }), bad, fc.array(good), (before, one, behind) => {
        const document = documentOf("abcdefghijklmnopqrstuvwxyz");
        document.commit([{ at: 3, remove: 2, insert: "é" }], stamp("amy", "e1"));
        const state = stateOf(document);
        const splices = [...before.map((each) => ({ ...each, insert: "yy" })), one, ...behind];
        const { code } = refusal(() => document.commit(splices, stamp("claude", "e2")));
        expect(["out_of_range", "ill_formed_text"]).toContain(code);
        expect(stateOf(document)).toEqual(state);
        expect(document.blame().length).toBe(3);
      }),
      fcOptions(300),
    );
  });

  test("TEXT-3: a splice that would cut a character changes nothing", () => {
    const document = documentOf("a😀b");
    const before = stateOf(document);
    for (const splice of [
      { at: 2, remove: 0, insert: "x" },
      { at: 1, remove: 1, insert: "" },
      { at: 2, remove: 1, insert: "" },
    ]) {
      expect(refusal(() => document.commit([splice], stamp("amy", "e1"))).code).toBe(
        "split_character",
      );
    }
    expect(stateOf(document)).toEqual(before);
  });
});

test("VERSION-2: the splices of a commit are sequential", () => {
  fc.assert(
    fc.property(
      anyText(10),
      fc.array(fc.record({ at: fc.nat(40), remove: fc.nat(6), insert: anyText(3) }), {
        minLength: 1,
        maxLength: 5,
      }),
      (text, wishes) => {
        const document = documentOf(text);
        const splices: Splice[] = [];
        let now = text;
        for (const { at, remove, insert } of wishes) {
          const whole = [...now];
          const start = at % (whole.length + 1);
          const splice = {
            at: whole.slice(0, start).join("").length,
            remove: whole.slice(start, start + remove).join("").length,
            insert,
          };
          splices.push(splice);
          now = spliced(now, [splice]);
        }
        const changes = splices.some(({ remove, insert }) => remove > 0 || insert !== "");
        const { version } = document.commit(splices, stamp("claude", "e1"));
        expect(version).toBe(changes ? 2 : 1);
        expect(document.read()).toBe(now);
        expect(document.read(1)).toBe(text);
      },
    ),
    fcOptions(500),
  );
});
