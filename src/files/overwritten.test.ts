import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { fcOptions } from "../../test/support/counts.ts";
import { stamp } from "../../test/support/documents.ts";
import { BlockDocument, type Splice } from "../blocks/index.ts";
import { whenBothChanged } from "../permission/index.ts";
import { mergeTexts } from "./merge.ts";
import { besideEdits, overwritten } from "./overwritten.ts";

const text = fc
  .array(fc.constantFrom("a", "b c", "", "(d)", "😀 e", "word words"), { maxLength: 6 })
  .chain((lines) => fc.constantFrom(lines.join("\n"), `${lines.join("\n")}\n`));

function become(document: BlockDocument, now: string): Splice[] {
  const memory = document.read();
  const { splices } = mergeTexts(
    { base: memory, memory, disk: now },
    whenBothChanged("read_write"),
  );
  return [...splices];
}

test("the text is what it would be without", () => {
  fc.assert(
    fc.property(text, fc.array(text, { maxLength: 3 }), text, (first, edits, last) => {
      using document = BlockDocument.create({ peer: "2" });
      document.commit([{ at: 0, remove: 0, insert: first }], stamp("disk", "load"));
      for (const [at, each] of edits.entries())
        document.commit(become(document, each), stamp("claude", `e${at}`));
      document.commit(overwritten(document, become(document, last)), stamp("disk", "d"));
      expect(document.read()).toBe(last);
    }),
    fcOptions(1500),
  );
});

test.each([
  { wrote: "one by claude\n", disk: "one by sed\n", whole: " by sed" },
  { wrote: "one(two)\n", disk: "one(three)\n", whole: "(three)" },
])("$disk is the program's from where the Edit began", ({ wrote, disk, whole }) => {
  using document = BlockDocument.create({ peer: "2" });
  document.commit([{ at: 0, remove: 0, insert: "one\n" }], stamp("disk", "load"));
  document.commit(become(document, wrote), stamp("claude", "e1"));
  document.commit(overwritten(document, become(document, disk)), stamp("disk", "d1"));
  const own = document.blame().filter(({ edit }) => edit === "d1");
  expect(own.map(({ start, length }) => disk.slice(start, start + length))).toEqual([whole]);
});

test.each([
  // Nothing is behind it that the sign could be put behind.
  { wrote: "one\nTWO", disk: "one\nTWO;", undone: "one\nTWO;" },
  { wrote: "one\nTWO\n", disk: "one\nTWO;\n", undone: "one\ntwo;\n" },
  { wrote: "one\nnew\ntwo", disk: "one\n\nnew\ntwo", undone: "one\n\ntwo" },
])("undoing what was written leaves $undone of $disk", ({ wrote, disk, undone }) => {
  const before = wrote.endsWith("\n") ? "one\ntwo\n" : "one\ntwo";
  using document = BlockDocument.create({ peer: "2" });
  document.commit([{ at: 0, remove: 0, insert: before }], stamp("disk", "load"));
  document.commit(become(document, wrote), stamp("claude", "e1"));
  document.commit(overwritten(document, become(document, disk)), stamp("disk", "d1"));
  document.flip(document.planUndo({ actor: "claude", edit: "e1" }), stamp("ann", "undo"));
  expect(document.read()).toBe(undone);
});

test("who wrote a part of a long line is asked once, however often the line is changed", () => {
  using document = BlockDocument.create({ peer: "2" });
  document.commit([{ at: 0, remove: 0, insert: "x\n" }], stamp("disk", "load"));
  const pairs = Array.from({ length: 100 }, (_, at) => `"k${at}":'v${at}'`);
  const written = `{${pairs.join(",")}}\n`;
  document.commit([{ at: 0, remove: 2, insert: written }], stamp("claude", "e1"));
  const spaced = written.replaceAll(/[:,]/g, "$& ");
  document.commit(overwritten(document, become(document, spaced)), stamp("disk", "d1"));
  const runs = document.blame().length;
  expect(runs).toBeGreaterThan(pairs.length);
  const authors = vi.spyOn(document, "authors");
  const splices = overwritten(document, become(document, spaced.replaceAll("'", '"')));
  expect(authors.mock.calls.length).toBeLessThanOrEqual(runs);
  const [splice, ...others] = splices;
  expect(others).toEqual([]);
  expect(splice!.remove).toBe(spaced.length - 1);
});

describe.each([
  ["on disk", overwritten],
  ["in an editor", besideEdits],
])("a sign added %s at the end of a line that an Edit changed", (_, placed) => {
  test("stays there when a line behind it comes back", () => {
    using document = BlockDocument.create({ peer: "2" });
    document.commit([{ at: 0, remove: 0, insert: "abc\nhidden\nnext\n" }], stamp("disk", "load"));
    document.commit([{ at: 0, remove: 3, insert: "xyz" }], stamp("claude", "e1"));
    document.commit([{ at: 4, remove: 7, insert: "" }], stamp("claude", "e2"));
    document.commit(placed(document, become(document, "xyz;\nnext\n")), stamp("disk", "d1"));
    expect(document.read()).toBe("xyz;\nnext\n");
    document.flip(document.planUndo({ actor: "claude", edit: "e2" }), stamp("ann", "undo"));
    expect(document.read()).toBe("xyz;\nhidden\nnext\n");
  });

  test("stays there when a line that was added behind it is redone", () => {
    using document = BlockDocument.create({ peer: "2" });
    document.commit([{ at: 0, remove: 0, insert: "abc\nnext\n" }], stamp("disk", "load"));
    document.commit([{ at: 0, remove: 3, insert: "xyz" }], stamp("claude", "e1"));
    document.commit([{ at: 4, remove: 0, insert: "added\n" }], stamp("claude", "e2"));
    document.flip(document.planUndo({ actor: "claude", edit: "e2" }), stamp("ann", "undo"));
    document.commit(placed(document, become(document, "xyz;\nnext\n")), stamp("disk", "d1"));
    document.flip(document.planRedo({ actor: "claude", edit: "e2" }), stamp("ann", "redo"));
    expect(document.read()).toBe("xyz;\nadded\nnext\n");
  });
});
