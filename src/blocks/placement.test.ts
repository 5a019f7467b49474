import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { fcOptions } from "../../test/support/counts.ts";
import { documentOf, loaded, stamp } from "../../test/support/documents.ts";
import { LastShown, placeAmongAll } from "../../test/support/hidden-place.ts";
import { useSmallLeaves } from "../../test/support/small-leaves.ts";
import { BlockDocument } from "./block-document.ts";
import { translateEdit } from "./edit-lines.ts";
import { translateReplace } from "./replace-text.ts";
import { InsertStore } from "./insert-store.ts";
import type { RecordedCommit } from "./saved-document.ts";
import type { Splice } from "./types.ts";

useSmallLeaves();

function commit(document: BlockDocument, by: string, ...splices: Splice[]): void {
  document.commit(splices, stamp(by, `${by}${document.version}`));
}

/** What the text says when an actor's newest Edit is taken back. */
function undone(document: BlockDocument, actor: string): string {
  const plan = document.planUndo({ actor });
  document.flip(plan, stamp(actor, `u${document.version}`));
  return document.read();
}

function typed(document: BlockDocument, at: number, text: string): void {
  for (const [i, key] of [...text].entries())
    document.commit([{ at: at + i, remove: 0, insert: key }], stamp("ann", "typing"));
}

describe("text in the place of other text", () => {
  test("PLACE-1: a replaced line stands behind the deleted line before it", () => {
    using document = documentOf("one\ntwo\nthree\nfour\n");
    commit(document, "claude", { at: 4, remove: 4, insert: "" });
    commit(document, "ann", { at: 4, remove: 5, insert: "3" });
    expect(undone(document, "claude")).toBe("one\ntwo\n3\nfour\n");
  });

  test("PLACE-1: what follows a replaced word is replaced behind what that word was", () => {
    using document = documentOf("line 9 of");
    commit(document, "claude", { at: 5, remove: 1, insert: "NINE" });
    const find = { old: "NINE of", new: "NINE-of" };
    document.commit(translateReplace(document, { find }), stamp("ann", "A1"));
    expect(undone(document, "claude")).toBe("line 9-of");
    expect(undone(document, "ann")).toBe("line 9 of");
  });
});

describe("text at the beginning of a line", () => {
  test("PLACE-2: what is typed into a blank line stands behind the line deleted before it", () => {
    using document = documentOf("import a\nimport b\n\nrest\n");
    commit(document, "claude", { at: 9, remove: 9, insert: "" });
    typed(document, 9, "const x = 1;");
    expect(undone(document, "claude")).toBe("import a\nimport b\nconst x = 1;\nrest\n");
  });

  test("PLACE-2: the first line and the last have lines before them too", () => {
    using document = documentOf("one\ntwo\nthree\n");
    commit(document, "claude", { at: 8, remove: 6, insert: "" }, { at: 0, remove: 4, insert: "" });
    commit(document, "ann", { at: 4, remove: 0, insert: "four" });
    commit(document, "ann", { at: 0, remove: 0, insert: "> " });
    expect(undone(document, "claude")).toBe("one\n> two\nthree\nfour");
  });

  test("PLACE-2: lines whose text was put away word by word are behind all of them", () => {
    using document = documentOf("a\nbb\ncc\nd\n");
    commit(document, "claude", { at: 7, remove: 1, insert: "" });
    commit(document, "bob", { at: 5, remove: 2, insert: "" });
    commit(document, "bob", { at: 2, remove: 3, insert: "" });
    commit(document, "ann", { at: 2, remove: 0, insert: "> " });
    expect(document.read()).toBe("a\n> d\n");
    expect(undone(document, "bob")).toBe("a\nbb\n> d\n");
  });

  test("PLACE-2: a deletion from the middle of a line comes back behind what the line was ended with", () => {
    for (const text of ["\n", "\nnew", "\nnew\nmore", " x\n\n"]) {
      using document = documentOf("one\ntwo\nthree\n");
      commit(document, "claude", { at: 3, remove: 4, insert: "" });
      typed(document, 3, text);
      expect(undone(document, "claude")).toBe(`one${text}\ntwo\nthree\n`);
    }
  });

  test("PLACE-2: lines that were taken back have their place too", () => {
    using document = documentOf("one\nthree\n");
    commit(document, "claude", { at: 4, remove: 0, insert: "two\n" });
    expect(undone(document, "claude")).toBe("one\nthree\n");
    commit(document, "ann", { at: 4, remove: 0, insert: "> " });
    document.flip(document.planRedo({ actor: "claude" }), stamp("claude", "r"));
    expect(document.read()).toBe("one\ntwo\n> three\n");
  });

  test("PLACE-2: lines deleted one after the other are behind each other, whenever what is before them was written", () => {
    using document = documentOf("one\ntwo\nthree\n");
    commit(document, "claude", { at: 4, remove: 4, insert: "" });
    commit(document, "bob", { at: 0, remove: 0, insert: "zero\n" });
    commit(document, "bob", { at: 5, remove: 4, insert: "" });
    commit(document, "ann", { at: 5, remove: 0, insert: "> " });
    expect(undone(document, "claude")).toBe("zero\ntwo\n> three\n");
  });

  test("PLACE-2: behind the end of a line, text stands before the lines deleted there", () => {
    using document = documentOf("one\ntwo");
    commit(document, "claude", { at: 3, remove: 4, insert: "" });
    commit(document, "ann", { at: 3, remove: 0, insert: "!" });
    expect(undone(document, "claude")).toBe("one!\ntwo");
  });
});

describe("where very much is hidden", () => {
  test("PLACE-2: no more of it is read than the last line that is hidden there", () => {
    using document = documentOf("one\n");
    const lines = Array.from({ length: 200 }, (_, at) => `line ${at}\n`);
    for (const line of lines) {
      commit(document, "ann", { at: 4, remove: 0, insert: line });
      commit(document, "bob", { at: 0, remove: 0, insert: "x" }, { at: 0, remove: 1, insert: "" });
      commit(document, "ann", { at: 4, remove: line.length, insert: "" });
    }
    const read = (["slice", "firstNewline", "lastNewline"] as const).map((name) =>
      vi.spyOn(InsertStore.prototype, name),
    );
    commit(document, "claude", { at: 4, remove: 0, insert: "> " });
    const times = read.reduce((sum, spy) => sum + spy.mock.calls.length, 0);
    for (const spy of read) spy.mockRestore();
    // What is before it, and the end of the last line.
    expect(times).toBeLessThanOrEqual(3);
    const hidden = lines.join("").length;
    expect(document.recorded(document.version).change).toMatchObject({ places: [hidden] });
  });

  test.each([
    {
      says: "is near the end",
      text: `${"y".repeat(20_000)}\n${"z".repeat(16_383)}`,
      place: 20_001,
    },
    { says: "is near the beginning", text: `yy\n${"z".repeat(20_000)}`, place: 3 },
    { says: "is far from both", text: `${"y".repeat(20_000)}\n${"z".repeat(20_000)}`, place: 0 },
    { says: "is just too far", text: `${"y".repeat(16_384)}\n${"z".repeat(16_384)}`, place: 0 },
  ])("PLACE-2: a line is found whose end $says", ({ text, place }) => {
    using document = documentOf(text);
    commit(document, "claude", { at: 0, remove: text.length, insert: "" });
    commit(document, "ann", { at: 0, remove: 0, insert: "new" });
    const { change } = document.recorded(document.version);
    const places = place === 0 ? undefined : [place];
    expect(change).toEqual(expect.objectContaining({ kind: "text", places }));
    const units = [...text].map((unit) => ({ text: unit, version: 1 }));
    const splice = { at: 0, remove: 0 };
    expect(placeAmongAll(units, [], splice, new LastShown())).toBe(place);
  });
});

describe("on record", () => {
  /** The journal of a document as the formats before wrote it: without places, and with the flips of then. */
  function withoutPlaces(document: BlockDocument): RecordedCommit[] {
    return Array.from({ length: document.version }, (_, at) => {
      const recorded = document.recorded(at + 1);
      return { ...recorded, change: { ...recorded.change, places: undefined } };
    });
  }

  test("PLACE-3: what was recorded without a place is undone as it was recorded", () => {
    using document = documentOf("one\ntwo\nthree\nfour\n");
    commit(document, "claude", { at: 4, remove: 4, insert: "" });
    commit(document, "ann", { at: 4, remove: 5, insert: "3" });
    const earlier = withoutPlaces(document);
    using old = BlockDocument.load(undefined, { peer: "2", commits: earlier });
    expect(undone(old, "claude")).toBe("one\n3two\n\nfour\n");
    const journal = Array.from({ length: old.version }, (_, at) => old.recorded(at + 1));
    const { record } = old.save();
    for (const again of [
      BlockDocument.load(undefined, { peer: "2", commits: journal }),
      loaded({ record }),
      loaded(old.save()),
    ]) {
      expect(again.read()).toBe("one\n3two\n\nfour\n");
      // What is written from now on has its place.
      commit(again, "claude", { at: 5, remove: 4, insert: "" });
      commit(again, "ann", { at: 5, remove: 1, insert: "," });
      expect(undone(again, "claude")).toBe("one\n3two\n,four\n");
      again[Symbol.dispose]();
    }
  });

  test("PLACE-3: the journal and the record give the same places", () => {
    using document = documentOf("one\ntwo\nthree\nfour\n");
    commit(document, "claude", { at: 4, remove: 4, insert: "" });
    commit(document, "ann", { at: 4, remove: 5, insert: "3" });
    expect(document.recorded(3).change).toMatchObject({ places: [4] });
    const journal = Array.from({ length: document.version }, (_, at) => document.recorded(at + 1));
    for (const again of [
      BlockDocument.load(undefined, { peer: "2", commits: journal }),
      loaded({ record: document.save().record }),
      loaded(document.save()),
    ]) {
      expect(again.recorded(3)).toEqual(document.recorded(3));
      expect(undone(again, "claude")).toBe("one\ntwo\n3\nfour\n");
      again[Symbol.dispose]();
    }
  });

  test("PLACE-3: a place behind more than is hidden there is damage", () => {
    using document = documentOf("one\ntwo\n");
    commit(document, "claude", { at: 4, remove: 4, insert: "" });
    commit(document, "ann", { at: 4, remove: 0, insert: "3" });
    const commits = [1, 2, 3].map((version) => document.recorded(version));
    const [baseline, deletion, last] = commits as [RecordedCommit, RecordedCommit, RecordedCommit];
    const wrong = { ...last, change: { ...last.change, places: [5] } } as RecordedCommit;
    expect(() =>
      BlockDocument.load(undefined, { peer: "2", commits: [baseline, deletion, wrong] }),
    ).toThrow(expect.objectContaining({ code: "damaged" }));
  });
});

/** A wish to edit whole lines or within one. */
const lineStep = fc.record({
  actor: fc.constantFrom("amy", "bob", "claude"),
  kind: fc.constantFrom("insert", "delete", "replace", "begin", "end", "word"),
  line: fc.nat(30),
  count: fc.integer({ min: 1, max: 3 }),
});

/** Makes a wish fit and commits it as an Edit of its own. Each inserted text is like no other. */
function makeLineStep(
  document: BlockDocument,
  { actor, kind, line, count }: typeof lineStep extends fc.Arbitrary<infer Step> ? Step : never,
): { edit: string; whole: boolean } | undefined {
  const { version } = document;
  const lines = document.read().split("\n").slice(0, -1);
  const edit = `e${version}`;
  const make = (splices: readonly Splice[]): void => {
    document.commit(splices, stamp(actor, edit));
  };
  const fresh = `w${version} x${version} y${version}`;
  if (kind === "insert") {
    const at = line % (lines.length + 1);
    make(translateEdit(document, [{ op: "insert", line: at, content: fresh }], version));
    return undefined;
  }
  if (lines.length < 2) return undefined;
  const at = line % lines.length;
  const range = { start_line: at, end_line: Math.min(lines.length, at + count) };
  const start = lines.slice(0, at).reduce((sum, each) => sum + each.length + 1, 0);
  switch (kind) {
    case "delete":
      if (range.end_line - at === lines.length) return undefined;
      make(translateEdit(document, [{ op: "delete", ...range }], version));
      return { edit, whole: true };
    case "replace":
      make(
        translateEdit(
          document,
          [{ op: "replace", start_line: at, end_line: at + 1, content: fresh }],
          version,
        ),
      );
      return { edit, whole: false };
    case "begin":
      make([{ at: start, remove: 0, insert: `b${version} ` }]);
      return undefined;
    case "end":
      make([{ at: start + lines[at]!.length, remove: 0, insert: ` e${version}` }]);
      return undefined;
    default: {
      const words = lines[at]!.split(" ");
      const word = count % words.length;
      const before = words.slice(0, word).join(" ").length + (word > 0 ? 1 : 0);
      make([{ at: start + before, remove: words[word]!.length, insert: `r${version}` }]);
      return { edit, whole: false };
    }
  }
}

describe("whole lines", () => {
  test("PLACE-1, PLACE-2: undoing one deletion or replacement leaves the lines of others whole", () => {
    fc.assert(
      fc.property(fc.array(lineStep, { minLength: 2, maxLength: 14 }), (steps) => {
        using document = documentOf("l1 m1 n1\nl2 m2 n2\nl3 m3 n3\nl4 m4 n4\nl5 m5 n5\n");
        const made = steps.map((step) => makeLineStep(document, step));
        const { record } = document.save();
        for (const one of made) {
          if (one === undefined) continue;
          using again = loaded({ record });
          const before = again.read().split("\n");
          again.flip(again.planUndo({ actor: "amy", edit: one.edit }), stamp("amy", "u"));
          const behind = again.read().split("\n");
          if (one.whole) {
            let at = 0;
            for (const line of behind) if (line === before[at]) at++;
            expect(at, `${before.join("|")} became ${behind.join("|")}`).toBe(before.length);
          } else {
            expect(behind.length).toBe(before.length);
            const changed = behind.filter((line, at) => line !== before[at]);
            expect(changed.length).toBeLessThanOrEqual(1);
          }
        }
      }),
      fcOptions(1000),
    );
  });
});
