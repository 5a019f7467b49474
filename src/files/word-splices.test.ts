import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fcOptions } from "../../test/support/counts.ts";
import { documentOf, stamp } from "../../test/support/documents.ts";
import type { BlockDocument } from "../blocks/index.ts";
import { mergeTexts } from "./merge.ts";
import { besideEdits, overwritten } from "./overwritten.ts";

const LINES = 8;
const BETWEEN = [" ", "(", ", ", ".", " = "];

/** Lines of words that are there once. */
const words = fc
  .array(fc.array(fc.constantFrom(...BETWEEN), { maxLength: 5 }), { maxLength: LINES })
  .map((lines) => {
    let count = 0;
    const word = (): string => `word${count++}`;
    return lines.map((line) => `${word()}${line.map((each) => each + word()).join("")}\n`).join("");
  });

/** What is made of one line by a program that changes no word. */
type Reformat = (line: string) => string;

const reformat: fc.Arbitrary<Reformat> = fc.oneof(
  fc.constantFrom("\t", "  ", "    ").map(
    (by): Reformat =>
      (line) =>
        by + line,
  ),
  fc.constantFrom(
    (line: string) => line,
    (line: string) => line.replace(/$/m, ";"),
    (line: string) => line.replaceAll(" ", "  "),
    (line: string) => `  ${line.replace(/$/m, ";")}`,
    (line: string) => line.replace(" ", "\n  "),
    (line: string) => line.replace("\n", " "),
  ),
);

const RULE = { stands: "disk", keepsAppended: false } as const;

function become(document: BlockDocument, disk: string, placed: typeof overwritten): void {
  const memory = document.read();
  const { splices } = mergeTexts({ base: memory, memory, disk }, RULE);
  document.commit(placed(document, splices), stamp("disk", "disk"));
}

function replace(document: BlockDocument, old: string, by: string, edit: string): void {
  const at = document.read().search(new RegExp(String.raw`\b${old}\b`));
  document.commit([{ at, remove: old.length, insert: by }], stamp("claude", edit));
}

/** Of each word, the Edit that wrote it. */
function writersOf(document: BlockDocument): Map<string, string> {
  const now = document.read();
  const all = [...now.matchAll(/\w+/g)].map(({ 0: word, index }) => {
    const runs = document.blame(index, index + word.length);
    return [word, runs.map(({ edit }) => edit).join(" and ")] as const;
  });
  return new Map(all);
}

describe("a program that changes no word", () => {
  const formatted = fc.record({
    before: words,
    replaced: fc.uniqueArray(fc.nat({ max: LINES * 2 }), { maxLength: 5 }),
    changes: fc.array(reformat, { minLength: LINES, maxLength: LINES }),
    whole: fc.boolean(),
  });

  test.each([
    ["on disk", overwritten],
    ["in an editor", besideEdits],
  ])("%s is nobody's author, and what others did is undone in its lines", (_, placed) => {
    fc.assert(
      fc.property(formatted, ({ before, replaced, changes, whole }) => {
        using document = documentOf(before);
        const edits = replaced
          .map((word) => ({ old: `word${word}`, by: `claude${word}`, edit: `e${word}` }))
          .filter(({ old }) => new RegExp(String.raw`\b${old}\b`).test(before));
        for (const { old, by, edit } of edits) replace(document, old, by, edit);
        if (whole)
          document.commit(
            [{ at: 0, remove: 0, insert: "two lines\nof ann\n" }],
            stamp("ann", "ann"),
          );
        const writers = writersOf(document);
        const lines = document
          .read()
          .split(/(?<=\n)/)
          .filter((line) => line !== "");
        const after = lines.map((line, at) => changes[at % LINES]!(line)).join("");
        if (after === document.read()) return;
        become(document, after, placed);
        expect(document.read()).toBe(after);
        expect(writersOf(document)).toEqual(writers);
        const undone = document.planUndo({ actor: "disk" });
        document.flip(undone, stamp("disk", "undo"));
        expect(document.read()).toBe(lines.join(""));
        document.flip(document.planRedo({ actor: "disk" }), stamp("disk", "redo"));
        let expected = after;
        for (const { old, by, edit } of edits) {
          document.flip(document.planUndo({ actor: "claude", edit }), stamp("bob", `undo ${edit}`));
          expected = expected.replace(new RegExp(String.raw`\b${by}\b`), old);
          expect(document.read()).toBe(expected);
        }
      }),
      fcOptions(4000),
    );
  });
});

describe("what a program changed", () => {
  function changed(memory: string, disk: string): string[] {
    const { splices } = mergeTexts({ base: memory, memory, disk }, RULE);
    let now = memory;
    return splices.map(({ at, remove, insert }) => {
      const gone = now.slice(at, at + remove);
      now = now.slice(0, at) + insert + now.slice(at + remove);
      return `${gone}>${insert}`;
    });
  }

  test.each([
    {
      memory: "one of three lines\n",
      disk: "ONE of three LINES\n",
      splices: ["one>ONE", "lines>LINES"],
    },
    { memory: "log(a)\nlog(b)\n", disk: "log(a);\nlog(b);\n", splices: [">;", ">;"] },
    { memory: "if x\n  log(a)\n", disk: "if y\n    log(a)\n", splices: ["x>y", ">  "] },
    // Of what two lines happen to have in common nobody would say that it stayed.
    {
      memory: "return the first of all\nread a line\n",
      disk: "they measure the distance\nopen a door anew\n",
      splices: ["return the first of all\nread a line>they measure the distance\nopen a door anew"],
    },
    // What says the same further in is another line: each is told by its words.
    {
      memory: "if a {\n  if b {\n  }\n}\nend\n",
      disk: "  if a {\n    if b {\n    }\n  }\n  end\n",
      splices: [">  ", ">  ", ">  ", ">  ", ">  "],
    },
  ])("is what is not between words that are still there: $splices", ({ memory, disk, splices }) => {
    expect(changed(memory, disk)).toEqual(splices);
  });

  test("leaves lines between others alone, also where there are too many to look at every word", () => {
    const lines = Array.from({ length: 30_000 }, (_, at) =>
      at % 2 === 0 ? `      number ${at}\n` : "    item of all,\n",
    );
    const numbers = lines.map((line) => line.replace("number", "another number"));
    const others = lines.map((line) => line.replace("number ", "nr"));
    for (const now of [numbers, others]) {
      const { splices } = mergeTexts(
        { base: lines.join(""), memory: lines.join(""), disk: now.join("") },
        RULE,
      );
      expect(splices).toHaveLength(15_000);
      expect(Math.max(...splices.map(({ remove }) => remove))).toBeLessThan(lines[0]!.length + 4);
    }
  });
});
