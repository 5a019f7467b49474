import { describe, expect, test } from "vitest";
import { scaled, seed } from "../../test/support/counts.ts";
import { spliced } from "../../test/support/spliced.ts";
import { threeTexts, type ThreeTexts } from "../../test/support/three-texts.ts";
import { Random } from "../base/index.ts";
import { splitText } from "../blocks/index.ts";
import { type Merged, type MergeRule, mergeTexts } from "./merge.ts";

const DISK: MergeRule = { stands: "disk", keepsAppended: false };
const MEMORY: MergeRule = { stands: "memory", keepsAppended: false };
const NOBODY: MergeRule = { stands: "nobody", keepsAppended: false };
const APPEND: MergeRule = { stands: "disk", keepsAppended: true };
const RULES = [DISK, MEMORY, NOBODY, APPEND];

function merged(texts: ThreeTexts, rule: MergeRule = DISK): Merged {
  return mergeTexts(texts, rule);
}

/** Texts written as `a b c`: a word is a line, `.` an empty one, and every line ends. */
function words(base: string, memory: string, disk: string): ThreeTexts {
  const text = (line: string): string =>
    line
      .split(" ")
      .filter((word) => word !== "")
      .map((word) => `${word === "." ? "" : word}\n`)
      .join("");
  return { base: text(base), memory: text(memory), disk: text(disk) };
}

function spoken(text: string): string {
  return splitText(text)
    .lines.map((line) => (line === "" ? "." : line))
    .join(" ");
}

/** Many kinds of triples: lines of their own, lines written often, shared changes, ragged ends. */
function* triples(full: number, common = [0, 20, 60]): Generator<ThreeTexts> {
  const random = new Random(seed());
  for (let run = 0; run < scaled(full); run++) {
    yield threeTexts(random, {
      common: random.pick(common),
      changed: random.pick([10, 30, 60]),
      shared: random.pick([0, 30]),
      ragged: random.below(3) === 0,
    });
  }
}

function counts(texts: readonly string[]): Map<string, number> {
  const result = new Map<string, number>();
  for (const line of texts.flatMap((text) => splitText(text).lines))
    result.set(line, (result.get(line) ?? 0) + 1);
  return result;
}

describe("one side or different lines", () => {
  const cases: [string, ThreeTexts, string][] = [
    ["one side changed", words("a b c", "a b c", "a B c"), "a B c"],
    ["different lines", words("a b c", "A b c", "a b C"), "A b C"],
    ["neighbouring lines", words("a b", "A b", "a B"), "A B"],
    ["a line added above one that was changed", words("a b", "a n b", "a B"), "a n B"],
    ["a line added below one that was changed", words("a b c", "a b n c", "a B c"), "a B n c"],
    ["a line added beside ones that were removed", words("a b c d", "a d", "a b c n d"), "a n d"],
    ["two lines added at one place", words("a b", "a m b", "a d b"), "a d m b"],
    ["both added to the end", words("a", "a m", "a d"), "a d m"],
    ["both created it", words("", "m", "d"), "d m"],
    ["removed lines that overlap", words("a b c d e", "a d e", "a b e"), "a e"],
    ["the same change", words("a b c", "a B c", "a B c"), "a B c"],
    ["the same line added twice, with more", words("a b", "a n m b", "a n d b"), "a n d m b"],
    ["one added the beginning of what the other added", words("a", "a n", "a n m"), "a n m"],
    ["a closing line is not shared", words("a }", "a m } }", "a d } }"), "a d } m } }"],
    ["the same line below a changed one", words("a b", "a B n", "a b n"), "a B n"],
    ["the same line above a changed one", words("a b", "a n B", "a n b"), "a n B"],
    ["equal lines among equal ones", words("a x b", "a x x b", "c a x x b"), "c a x x b"],
    ["equal lines, the last is the new one", words("a x b", "c a x x b", "a X b"), "c a X x b"],
    ["a shared line between own", words("a", "a m1 n m2", "a d1 n d2"), "a d1 m1 n d2 m2"],
    ["the same change, and one more line", words("a b c", "a B c", "a B d c"), "a B d c"],
    ["an equal line above a changed one", words("a x b", "a x x b", "a x x B"), "a x x B"],
    ["the same, the other way round", words("a x b", "a x x B", "a x x b"), "a x x B"],
    ["an equal line below a changed one", words("x b c", "x b x c", "x B x c"), "x B x c"],
    ["an equal brace above a changed line", words("a } b", "a } } b", "a } } B"), "a } } B"],
    ["a part of what the other removed too", words("a b c d", "a z d", "a b z d"), "a z d"],
  ];
  test.each(cases)("%s", (_name, texts, result) => {
    const { text, conflicts, save, splices } = merged(texts);
    expect([spoken(text), conflicts, save]).toEqual([result, [], text !== texts.disk]);
    expect(spliced(texts.memory, splices)).toBe(text);
  });
});

describe("the same lines", () => {
  const texts = words("a b c", "a m c e", "f a d c");

  test("disk stands, memory's lines are the conflict's", () => {
    expect(merged(texts, DISK)).toEqual({
      splices: [
        { at: 0, remove: 0, insert: "f\n" },
        { at: 4, remove: 1, insert: "d" },
      ],
      text: "f\na\nd\nc\ne\n",
      save: true,
      conflicts: [
        {
          base: { start: 1, end: 2, text: "b\n" },
          memory: { start: 1, end: 2, text: "m\n" },
          disk: { start: 2, end: 3, text: "d\n" },
          at: { start: 2, end: 3 },
          stood: "disk",
          lost: "m\n",
          around: { before: ["f", "a"], after: ["c", "e"], lines: 5 },
        },
      ],
    });
  });

  test("memory stands, disk's lines are the conflict's", () => {
    const { text, save, conflicts } = merged(texts, MEMORY);
    expect([spoken(text), save]).toEqual(["f a m c e", true]);
    expect(conflicts).toMatchObject([{ stood: "memory", lost: "d\n", at: { start: 2, end: 3 } }]);
  });

  test("nobody stands: everything else merges, and nothing is saved", () => {
    const { text, save, conflicts } = merged(texts, NOBODY);
    expect([spoken(text), save]).toEqual(["f a m c e", false]);
    expect(conflicts).toHaveLength(1);
    expect(conflicts[0]).toMatchObject({ lost: "d\n", at: { start: 2, end: 3 } });
    expect(conflicts[0]!.stood).toBeUndefined();
    expect(merged(words("a b", "a m b", "a b d"), NOBODY).save).toBe(true);
  });

  test("to remove what the other changed is a conflict", () => {
    const removed = words("a b c d", "a d", "a b C d");
    expect(merged(removed, DISK)).toMatchObject({ text: removed.disk, save: false });
    expect(merged(removed, DISK).conflicts).toMatchObject([{ lost: "", at: { start: 1, end: 3 } }]);
    expect(merged(removed, MEMORY).conflicts).toMatchObject([
      { lost: "b\nC\n", at: { start: 1, end: 1 } },
    ]);
    expect(merged(words("a b c d", "a d", "a b n c d"), DISK).conflicts).toHaveLength(1);
  });

  test("only what differs is a conflict", () => {
    const { text, conflicts } = merged(words("a b c d", "x m y", "x n y"));
    expect(spoken(text)).toBe("x n y");
    expect(conflicts).toMatchObject([{ lost: "m\n", base: { start: 1, end: 3, text: "b\nc\n" } }]);
    const two = merged(words("a b c d e", "m1 x m2 y m3", "d1 x d2 y d3"));
    expect(two.conflicts.map(({ base, lost }) => [base.text, lost])).toEqual([
      ["a\n", "m1\n"],
      ["c\n", "m2\n"],
      ["e\n", "m3\n"],
    ]);
  });

  test("conflicts with only braces and empty lines between are one", () => {
    const { conflicts } = merged(words("a b", "m1 } . m2", "d1 } . d2"));
    expect(conflicts).toMatchObject([{ lost: "m1\n}\n\nm2\n", disk: { start: 0, end: 4 } }]);
  });
});

describe("final newlines", () => {
  const cases: [string, ThreeTexts, string][] = [
    [
      "a line behind an unfinished one",
      { base: "a\nb", memory: "a\nb\nc", disk: "A\nb" },
      "A\nb\nc",
    ],
    ["both behind an unfinished one", { base: "a", memory: "a\nm", disk: "a\nd" }, "a\nd\nm"],
    ["one adds it, one a line", { base: "a", memory: "a\n", disk: "a\nd" }, "a\nd\n"],
    ["one takes it away, one adds a line", { base: "a\n", memory: "a", disk: "a\nd\n" }, "a\nd"],
    ["an editor adds it", { base: "a\nb", memory: "A\nb", disk: "a\nb\n" }, "A\nb\n"],
    ["created with and without", { base: "", memory: "m", disk: "d\n" }, "d\nm\n"],
    ["one emptied it, one left it", { base: "a\n", memory: "a\n", disk: "" }, ""],
    ["the end is removed", { base: "a\nb", memory: "a", disk: "A\nb" }, "A"],
    [
      "an empty line becomes the last",
      { base: "a\n\nb\nc", memory: "a\n\nc", disk: "a\n\nb" },
      "a\n\n",
    ],
    ["empty lines stay lines", { base: "a\nb", memory: "a\n\n", disk: "A\nb" }, "A\n\n"],
  ];
  test.each(cases)("%s", (_name, texts, result) => {
    const { text, conflicts, splices } = merged(texts);
    expect([text, conflicts]).toEqual([result, []]);
    expect(spliced(texts.memory, splices)).toBe(text);
  });

  test("the last line in conflict ends as that of whoever stands", () => {
    const texts = { base: "a\nb\n", memory: "a\nm", disk: "a\nd\n" };
    expect(merged(texts, DISK)).toMatchObject({ text: "a\nd\n", conflicts: [{ lost: "m" }] });
    expect(merged(texts, MEMORY)).toMatchObject({ text: "a\nm", conflicts: [{ lost: "d\n" }] });
  });
});

describe("appended text", () => {
  test("stands behind whatever disk says, a line or the rest of one", () => {
    const text = (base: string, memory: string, disk: string): string => {
      const result = merged({ base, memory, disk }, APPEND);
      expect(result.conflicts).toEqual([]);
      expect(spliced(memory, result.splices)).toBe(result.text);
      return result.text;
    };
    expect(text("a\n", "a\nm\n", "")).toBe("m\n");
    expect(text("a\n", "a\nm\n", "d\n")).toBe("d\nm\n");
    expect(text("a\nlog", "a\nlogged\nm\n", "a\nLOG\n")).toBe("a\nLOG\nged\nm\n");
    expect(text("a\nlog", "a\nlogged\nm\n", "a\nLOG")).toBe("a\nLOGged\nm\n");
    expect(text("a\nlog", "a\nlogged", "a\nlogged\nd\n")).toBe("a\nlogged\nd\n");
  });

  test("is memory's hunk like any other without the rule", () => {
    const texts = { base: "a\nlog", memory: "a\nlogged", disk: "a\nLOG\n" };
    expect(merged(texts, DISK).conflicts).toMatchObject([{ lost: "logged" }]);
  });
});

test("a line that both added is not doubled, wherever it is and whatever one of them changed", () => {
  const random = new Random(seed());
  const often = ["}", "", "x"];
  for (let run = 0; run < scaled(20_000); run++) {
    const lines = Array.from({ length: 1 + random.below(10) }, (_, at) =>
      random.below(100) < 60 ? `b${at}` : random.pick(often),
    );
    const added = random.below(lines.length + 1);
    const changed = random.below(lines.length);
    const both = lines.toSpliced(added, 0, random.pick(often));
    const one = both.map((line) => (line === `b${changed}` ? `D${changed}` : line));
    const [base, two, three] = [lines, both, one].map((each) => `${each.join("\n")}\n`);
    for (const [memory, disk] of [
      [two!, three!],
      [three!, two!],
    ] as const) {
      const texts = { base: base!, memory, disk };
      const { text, conflicts } = merged(texts);
      expect({ text, conflicts }, JSON.stringify(texts)).toEqual({ text: three, conflicts: [] });
    }
  }
});

describe("of any three texts", () => {
  test("the splices lead from memory to the merged text", () => {
    for (const texts of triples(10_000)) {
      for (const rule of RULES) {
        const { text, splices } = merged(texts, rule);
        expect(spliced(texts.memory, splices), JSON.stringify(texts)).toBe(text);
      }
    }
  });

  test("what only one side changed is that side's", () => {
    for (const { base, memory } of triples(10_000)) {
      for (const rule of RULES) {
        const quiet = { save: false, conflicts: [] };
        expect(merged({ base, memory, disk: base }, rule)).toEqual({
          ...quiet,
          text: memory,
          splices: [],
          save: memory !== base,
        });
        expect(merged({ base, memory: base, disk: memory }, rule)).toMatchObject({
          ...quiet,
          text: memory,
        });
      }
    }
  });

  test("the same change on both sides is one", () => {
    for (const { base, memory } of triples(10_000)) {
      const result = merged({ base, memory, disk: memory });
      expect(result).toEqual({ text: memory, splices: [], save: false, conflicts: [] });
    }
  });

  test("what a side wrote is in the text or in a conflict, and once", () => {
    for (const texts of triples(10_000)) {
      const before = counts([texts.base]);
      const written = [...counts([texts.memory, texts.disk]).keys()].filter(
        (line) => !before.has(line),
      );
      for (const rule of [DISK, MEMORY, NOBODY]) {
        const { text, conflicts } = merged(texts, rule);
        const found = counts([text, ...conflicts.map(({ lost }) => lost)]);
        const lost = written.filter((line) => !found.has(line));
        const doubled = written.filter((line) => /^[md]\d/.test(line) && found.get(line)! > 1);
        expect({ texts, lost, doubled }).toEqual({ texts, lost: [], doubled: [] });
      }
    }
  });

  test("a line that both sides left alone stays, and no line of base is doubled", () => {
    // A line written often may be where the diff holds on to; what is between has then moved, and moved is removed
    // here and added there.
    for (const texts of triples(10_000, [0])) {
      const memory = counts([texts.memory]);
      const disk = counts([texts.disk]);
      for (const rule of RULES) {
        const text = counts([merged(texts, rule).text]);
        const base = splitText(texts.base).lines;
        const gone = base.filter((line) => memory.has(line) && disk.has(line) && !text.has(line));
        const doubled = base.filter((line) => (text.get(line) ?? 0) > 1);
        expect({ texts, gone, doubled }).toEqual({ texts, gone: [], doubled: [] });
      }
    }
  });

  test("what disk did beyond memory's changes is all that is new", () => {
    const random = new Random(seed());
    for (const { base, memory } of triples(10_000)) {
      // Beside a line that nobody else has touched: there the two cannot be taken for each other.
      const [first, last] = [`f${random.below(9)}\n`, `l${random.below(9)}\n`];
      const more = (text: string): string => `${first}${text.replace(/[^\n]$/, "$&\n")}${last}`;
      const texts = { base: more(base), memory: more(memory), disk: `d1\n${more(memory)}d2\n` };
      for (const disk of [texts.disk, `d1\n${more(memory)}`, `${more(memory)}d2\n`]) {
        const result = merged({ ...texts, disk });
        expect({ texts, result }).toMatchObject({ texts, result: { text: disk, conflicts: [] } });
      }
    }
  });

  test("to merge again changes nothing", () => {
    for (const texts of triples(10_000)) {
      const { text } = merged(texts, DISK);
      const again = { splices: [], text, conflicts: [] };
      expect(merged({ ...texts, memory: text, disk: text })).toEqual({ ...again, save: false });
      expect(merged({ base: texts.disk, memory: text, disk: texts.disk })).toEqual({
        ...again,
        save: text !== texts.disk,
      });
    }
  });

  test("which side is which decides only about order and about who stands", () => {
    for (const texts of triples(10_000)) {
      const swapped = { base: texts.base, memory: texts.disk, disk: texts.memory };
      const one = merged(texts, DISK);
      const other = merged(swapped, MEMORY);
      const sorted = (text: string): readonly string[] => splitText(text).lines.toSorted();
      expect(sorted(other.text), JSON.stringify(texts)).toEqual(sorted(one.text));
      expect(other.conflicts.map(({ lost }) => lost)).toEqual(
        one.conflicts.map(({ lost }) => lost),
      );
    }
  });

  test("a conflict says where everything is", () => {
    for (const texts of triples(10_000)) {
      for (const rule of [DISK, MEMORY, NOBODY]) {
        const { text, conflicts, save } = merged(texts, rule);
        const slice = (of: string, { start, end }: { start: number; end: number }) =>
          splitText(of).lines.slice(start, end);
        for (const conflict of conflicts) {
          for (const name of ["base", "memory", "disk"] as const) {
            const side = conflict[name];
            expect(splitText(side.text).lines).toEqual(slice(texts[name], side));
          }
          const stood = conflict[conflict.stood ?? "memory"];
          expect(slice(text, conflict.at)).toEqual(splitText(stood.text).lines);
          expect(conflict.memory.text).not.toBe(conflict.disk.text);
        }
        if (rule === NOBODY && conflicts.length > 0) expect(save).toBe(false);
        else expect(save).toBe(text !== texts.disk);
      }
    }
  });

  test("without effort the hunks are larger, and still nothing is lost", () => {
    for (const texts of triples(5_000)) {
      const { text, splices, conflicts } = mergeTexts(texts, DISK, 0);
      expect(spliced(texts.memory, splices)).toBe(text);
      const found = counts([text, ...conflicts.map(({ lost }) => lost)]);
      const written = [...counts([texts.memory, texts.disk]).keys()].filter((line) =>
        /^[md]\d/.test(line),
      );
      expect(
        written.filter((line) => found.get(line) !== 1),
        JSON.stringify(texts),
      ).toEqual([]);
    }
  });
});

test("a small change of a long text is a small splice", () => {
  const lines = Array.from({ length: 10_000 }, (_, at) => `line ${at}`);
  const text = (changed: ReadonlyMap<number, string>): string =>
    lines.map((line, at) => `${changed.get(at) ?? line}\n`).join("");
  const every = (from: number, with_: string): Map<number, string> =>
    new Map(
      Array.from({ length: 100 }, (_, at) => [from + at * 100, `line ${from + at * 100}${with_}`]),
    );
  const texts = { base: text(new Map()), memory: text(every(5, "!")), disk: text(every(50, "?")) };
  const { splices, conflicts } = merged(texts);
  expect(conflicts).toEqual([]);
  expect(splices).toHaveLength(100);
  expect(splices.every(({ remove, insert }) => remove === 0 && insert === "?")).toBe(true);
});
