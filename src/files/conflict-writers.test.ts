import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { fcOptions } from "../../test/support/counts.ts";
import { stamp } from "../../test/support/documents.ts";
import { BlockDocument, type EditTarget, type Splice } from "../blocks/index.ts";
import { whenBothChanged } from "../permission/index.ts";
import { writersIn } from "./conflict-writers.ts";
import { mergeTexts } from "./merge.ts";

const NAMES = ["ann", "bob", "claude"];
const RULE = whenBothChanged("read_write");

interface Change {
  readonly actor: string;
  readonly line: number;
  readonly does: "replace" | "remove" | "before" | "into";
}

/** What each of them does to one line: it is replaced, taken out, or something of theirs is put before it or into it. */
const change: fc.Arbitrary<Change> = fc.record({
  actor: fc.constantFrom(...NAMES),
  line: fc.nat({ max: 7 }),
  does: fc.constantFrom("replace" as const, "remove" as const, "before" as const, "into" as const),
});
const ending = fc.constantFrom("", "\n");

function splice(text: string, { actor, line, does }: Change): Splice {
  const lines = text.split(/(?<=\n)/);
  const at = Math.min(line, Math.max(0, lines.length - 1));
  const start = lines.slice(0, at).join("").length;
  const whole = lines[at] ?? "";
  const said = whole.replace(/\n$/, "").length;
  switch (does) {
    case "replace":
      return { at: start, remove: said, insert: `<${actor}>` };
    case "remove":
      return { at: start, remove: whole.length, insert: "" };
    case "before":
      return { at: start, remove: 0, insert: `<${actor}>\n` };
    default:
      return { at: start + Math.min(1, said), remove: 0, insert: `<${actor}>` };
  }
}

test("whoever has something in the lines of a conflict is named, whatever else was written", () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom("one", "two", "", "three"), { maxLength: 8 }),
      ending,
      fc.array(change, { minLength: 1, maxLength: 5 }),
      fc.array(change, { minLength: 1, maxLength: 3 }),
      (lines, last, ours, theirs) => {
        const base = lines.join("\n") + last;
        using document = BlockDocument.create({ peer: "2" });
        document.commit([{ at: 0, remove: 0, insert: base }], stamp("disk", "load"));
        const { version } = document;
        for (const [at, each] of ours.entries())
          document.commit([splice(document.read(), each)], stamp(each.actor, `e${at}`));
        let disk = base;
        for (const each of theirs) {
          const { at, remove, insert } = splice(disk, { ...each, actor: "disk" });
          disk = disk.slice(0, at) + insert + disk.slice(at + remove);
        }
        const { conflicts } = mergeTexts({ base, memory: document.read(), disk }, RULE);
        for (const conflict of conflicts) {
          const since = { base: version, known: version, except: "disk" };
          const there = NAMES.filter((name) => conflict.memory.text.includes(`<${name}>`));
          for (const each of [since, { ...since, base: undefined }]) {
            const named = writersIn(document, each)(conflict);
            expect(named).toEqual(expect.arrayContaining(there));
            expect(named).not.toEqual([]);
            expect(named).not.toContain("disk");
          }
        }
      },
    ),
    fcOptions(5000),
  );
});

type Writing = readonly [actor: string, old: string, by: string];

function written(...edits: readonly Writing[]): BlockDocument {
  const document = BlockDocument.create({ peer: "2" });
  const insert = "one\ntwo\nthree\nfour\nfive\nsix\n";
  document.commit([{ at: 0, remove: 0, insert }], stamp("disk", "load"));
  for (const [at, [actor, old, by]] of edits.entries()) {
    const splices = [{ at: document.read().indexOf(old), remove: old.length, insert: by }];
    document.commit(splices, stamp(actor, `e${at}`));
  }
  return document;
}

test.each([
  {
    edits: [["claude", "one", "ONE"]],
    disk: "1\ntwo\nthree\nfour\nfive\nsix\n",
    named: ["claude"],
  },
  { edits: [["claude", "six\n", ""]], disk: "one\ntwo\nthree\nfour\nfive\n6\n", named: ["claude"] },
  {
    edits: [
      ["claude", "o", "O"],
      ["bob", "ne", "NE"],
    ],
    disk: "1\ntwo\nthree\nfour\nfive\nsix\n",
    named: ["claude", "bob"],
  },
  {
    edits: [
      ["claude", "five\n", ""],
      ["bob", "six", "SIX"],
    ],
    disk: "one\ntwo\nthree\nfour\n5\n6\n",
    named: ["claude", "bob"],
  },
] as const)(
  "of all who wrote since, those are named whose lines they are: $named",
  ({ edits, disk, named }) => {
    using document = written(["ann", "three", "THREE"], ...edits);
    const base = document.read(1);
    const { conflicts } = mergeTexts({ base, memory: document.read(), disk }, RULE);
    const since = { base: 1, known: 1, except: "disk" };
    expect(conflicts.map(writersIn(document, since))).toEqual([named]);
    // Also when no version says all of that text.
    const unknown = { base: undefined, known: 0, except: "disk" };
    expect(conflicts.map(writersIn(document, unknown))).toEqual([named]);
  },
);

test("who wrote other lines of a text that no version says is not named", () => {
  using document = written(
    ["claude", "four", "four by claude"],
    ["disk", "one", "One"],
    ["ann", "One", "one by ann"],
  );
  const texts = { base: "One\ntwo\nthree\nfour\nfive\nsix\n", memory: document.read() };
  const { conflicts } = mergeTexts({ ...texts, disk: texts.base.replace("One", "Mine") }, RULE);
  const since = { base: undefined, known: 0, except: "disk" };
  expect(conflicts.map(writersIn(document, since))).toEqual([["ann"]]);
  // Lines that no version says either.
  const unsaid = { ...texts, base: texts.base.replace("One", "ONE") };
  const unknown = mergeTexts({ ...unsaid, disk: texts.base.replace("One", "Mine") }, RULE);
  expect(unknown.conflicts.map(writersIn(document, since))).toEqual([["ann"]]);
});

/** A document that counts how often a version is asked for. */
function counting(document: BlockDocument): { target: EditTarget; asked: () => number } {
  const past = vi.spyOn(document, "past");
  const read = vi.spyOn(document, "read");
  return { target: document, asked: () => past.mock.calls.length + read.mock.calls.length };
}

test("a version is asked once what it says, however many conflicts there are", () => {
  const lines = Array.from({ length: 100 }, (_, at) => `line ${at}\n`);
  using document = BlockDocument.create({ peer: "2" });
  document.commit([{ at: 0, remove: 0, insert: lines.join("") }], stamp("disk", "load"));
  for (let at = 0; at < lines.length; at += 2) {
    const start = document.read().indexOf(lines[at]!);
    document.commit(
      [{ at: start, remove: 4, insert: "LINE" }],
      stamp(at % 4 === 0 ? "ann" : "bob", `e${at}`),
    );
  }
  // Every second line is also another one on disk, and the base says of each what no version did.
  const base = lines.map((line, at) => (at % 2 === 0 ? line.replace("line", "Line") : line));
  const disk = base.map((line) => line.replace("Line", "mine"));
  const texts = { base: base.join(""), memory: document.read(), disk: disk.join("") };
  const { conflicts } = mergeTexts(texts, RULE);
  expect(conflicts).toHaveLength(50);
  const { target, asked } = counting(document);
  const named = conflicts.map(writersIn(target, { base: undefined, known: 0, except: "disk" }));
  expect(named).toEqual(conflicts.map((_, at) => [at % 2 === 0 ? "ann" : "bob"]));
  expect(asked()).toBeLessThanOrEqual(document.version);
});

test("when it takes too long to find out whose lines they are, all who wrote since are told", () => {
  const body = "some words of a line\n".repeat(20_000);
  using document = BlockDocument.create({ peer: "2" });
  document.commit([{ at: 0, remove: 0, insert: `0\n${body}` }], stamp("disk", "load"));
  for (let at = 10; at < 72; at++) {
    const remove = document.current.length - body.length - 1;
    document.commit([{ at: 0, remove, insert: `${at}` }], stamp("ann", `e${at}`));
  }
  document.commit([{ at: 3, remove: body.length, insert: "" }], stamp("bob", "gone"));
  const { conflicts } = mergeTexts({ base: "zero\n", memory: "71\n", disk: "1\n" }, RULE);
  const first = conflicts[0]!;
  // Lines that may have stood anywhere in what is gone.
  const gone = { ...first, memory: { start: 1, end: 1, text: "" } };
  const since = { base: undefined, known: 0, except: "disk" };
  expect(writersIn(document, since)(first)).toEqual(["ann"]);
  const { target, asked } = counting(document);
  const writers = writersIn(target, since);
  expect(writers(gone)).toEqual(["ann", "bob"]);
  const before = asked();
  expect(before).toBeLessThan(document.version - 1);
  expect(writers(first)).toEqual(["ann", "bob"]);
  expect(asked()).toBe(before);
});
