import { describe, expect, test } from "vitest";
import { LoroDoc } from "loro-crdt";
import { KumikoError, sha256Bytes, TextRope } from "../src/base/index.ts";
import { BlockDocument, translateEdit, translateSplice } from "../src/blocks/index.ts";
import { documentOf, loaded, stamp } from "./support/documents.ts";
import { operationsIn } from "./support/loro-operations.ts";
import { refusal } from "./support/refusal.ts";

/** What once went wrong, each as small as it could be made. */
describe("regressions", () => {
  test("RECORD-1: a BOM at the beginning of the text is text", () => {
    using document = BlockDocument.create({ peer: "2" });
    document.commit([{ at: 0, remove: 0, insert: "\uFEFFabc" }], stamp("amy", "e1"));
    expect(loaded({ record: document.save().record }).read()).toBe("\uFEFFabc");
    expect(loaded(document.save()).read()).toBe("\uFEFFabc");
  });

  test("RECORD-1: times that lie far apart are refused, or load again", () => {
    for (const times of [
      [-(2 ** 52) - 1],
      [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
      [Number.MAX_SAFE_INTEGER, 0],
    ]) {
      using document = BlockDocument.create({ peer: "2" });
      const taken = times.filter((time) => {
        try {
          document.commit([{ at: 0, remove: 0, insert: "a" }], stamp("amy", "e1", time));
          return true;
        } catch {
          return false;
        }
      });
      const entries = loaded(document.save()).history().entries;
      expect(entries.map(({ time }) => time).toReversed()).toEqual(taken);
    }
  });

  test("RECORD-1: two Edits whose ids are ill-formed are refused, or stay two", () => {
    using document = BlockDocument.create({ peer: "2" });
    try {
      document.commit([{ at: 0, remove: 0, insert: "a" }], stamp("amy", "\ud800"));
      document.commit([{ at: 1, remove: 0, insert: "b" }], stamp("amy", "\ud801"));
    } catch {
      // Refusing is right too.
    }
    expect(loaded({ record: document.save().record }).blame()).toEqual(document.blame());
  });

  test("TEXT-3: a UTF-16 position inside a surrogate pair is refused by locate too", () => {
    expect(refusal(() => new TextRope("a😀").locate("utf16", 2)).code).toBe("split_character");
    using document = documentOf("a😀");
    document.commit([{ at: 0, remove: 0, insert: "x" }], stamp("amy", "e1"));
    expect(refusal(() => document.past(1)!.locate("utf16", 2)).code).toBe("split_character");
  });

  test("EDIT-2: an insert stays where it is when the last line behind it takes its newline along", () => {
    using document = documentOf("a\nb\nc");
    document.commit([{ at: 2, remove: 2, insert: "" }], stamp("bob", "e1"));
    const splices = translateEdit(
      document,
      [
        { op: "insert", line: 1, content: "x" },
        { op: "delete", start_line: 2, end_line: 3 },
      ],
      1,
    );
    document.commit(splices, stamp("amy", "e2"));
    expect(document.read()).toBe("a\nx");
  });

  test("EDIT-2: two deletions that came to touch each other do not take one newline twice", () => {
    using document = documentOf("a\nb\nc");
    document.commit([{ at: 2, remove: 2, insert: "" }], stamp("bob", "e1"));
    const splices = translateEdit(
      document,
      [
        { op: "delete", start_line: 0, end_line: 1 },
        { op: "delete", start_line: 2, end_line: 3 },
      ],
      1,
    );
    document.commit(splices, stamp("amy", "e2"));
    expect(document.read()).toBe("");
  });

  test("BASE-5: the line with what was typed at its beginning settles the conflict", () => {
    using document = documentOf("a\nb\n");
    document.commit([{ at: 2, remove: 0, insert: "new " }], stamp("bob", "e1"));
    const replace = { op: "replace", start_line: 1, end_line: 2, content: "x" } as const;
    const { facts } = refusal(() => translateEdit(document, [replace], 1));
    expect(facts["actual"]).toBe("new b\n");
    document.commit(
      translateEdit(document, [{ ...replace, expected_text: "new b" }], 1),
      stamp("amy", "e2"),
    );
    expect(document.read()).toBe("a\nx\n");
  });

  test("BASE-10: no empty line is left in front of lines that were added meanwhile", () => {
    for (const [at, insert, left] of [
      [1, "\nc", "c"],
      [0, "a\n", "a\n"],
    ] as const) {
      using document = documentOf("b");
      const base = document.version;
      document.commit([{ at, remove: 0, insert }], stamp("bob", "e1"));
      const operations = [{ op: "delete", start_line: 0, end_line: 1 } as const];
      document.commit(translateEdit(document, operations, base), stamp("amy", "e2"));
      expect(document.read()).toBe(left);
    }
  });

  test("RECORD-3: a record of nonsense under a right hash is damaged, and nothing else", () => {
    using document = documentOf("ab\ncd");
    document.commit([{ at: 1, remove: 2, insert: "x😀" }], stamp("amy", "e1"));
    document.birth(stamp("disk", "birth"));
    document.commit([{ at: 0, remove: 1, insert: "" }], stamp("bob", "e2"));
    document.flip({ edit: "e1", active: false }, stamp("amy", "u1"));
    const { record } = document.save();
    const payload = record.subarray(0, record.length - 32);
    const outcomes = { loaded: 0, damaged: 0 };
    for (const [index, byte] of payload.entries()) {
      for (const other of [0, 1, byte ^ 1, byte + 1, byte ^ 0x80, 0xff]) {
        const nonsense = payload.with(index, other & 0xff);
        const sealed = Uint8Array.of(...nonsense, ...sha256Bytes(nonsense));
        try {
          using again = loaded({ record: sealed });
          for (let version = 0; version <= again.version; version++) again.read(version);
          outcomes.loaded++;
        } catch (error) {
          expect(error).toBeInstanceOf(KumikoError);
          outcomes.damaged++;
        }
      }
    }
    expect(outcomes.damaged).toBeGreaterThan(100);
  });

  test("BASE-6: who deleted what stood beside the range is not named", () => {
    using document = documentOf("abcdefgh");
    document.commit([{ at: 0, remove: 2, insert: "" }], stamp("bob", "e1"));
    document.commit([{ at: 0, remove: 4, insert: "" }], stamp("claude", "e2"));
    const request = { offset: 4, deleteCount: 1, insert: "", base: 1 };
    const { facts } = refusal(() => translateSplice(document, request));
    expect(facts["changed_by"]).toMatchObject([{ actor: "claude", edit: "e2", version: 3 }]);
  });

  test("BASE-6: who flipped an Edit without any effect on the range is not named", () => {
    using document = documentOf("");
    document.commit([{ at: 0, remove: 0, insert: "word" }], stamp("amy", "typed"));
    document.commit([{ at: 0, remove: 4, insert: "" }], stamp("bob", "erased"));
    // The word is hidden already; undoing that it was typed shows nothing and hides nothing.
    document.flip(document.planUndo({ actor: "claude", edit: "typed" }), stamp("claude", "undone"));
    const request = { offset: 0, deleteCount: 4, insert: "", base: 2 };
    const { facts } = refusal(() => translateSplice(document, request));
    expect(facts["changed_by"]).toMatchObject([{ actor: "bob", edit: "erased", version: 3 }]);
  });

  test("BASE-6: the line behind lines that are gone is not what stands in their place", () => {
    using document = documentOf("a\nb\nc\n");
    document.commit([{ at: 2, remove: 2, insert: "" }], stamp("bob", "e1"));
    const replace = { op: "replace", start_line: 1, end_line: 2, content: "x" } as const;
    const { facts } = refusal(() => translateEdit(document, [replace], 1));
    expect(facts["actual"]).toBe("");
    // Nor does expecting it settle anything: line c is not what was read as line b.
    const code = refusal(() =>
      translateEdit(document, [{ ...replace, expected_text: "c" }], 1),
    ).code;
    expect(code).toBe("conflict");
  });

  test("MERGE-2: an update that waited at a snapshot is kept with that snapshot after it landed", () => {
    const [here, there] = ["2", "3"].map((peer) => {
      const document = documentOf("", peer);
      document.birth(stamp("disk", "birth"));
      return document;
    }) as [BlockDocument, BlockDocument];
    there.commit([{ at: 0, remove: 0, insert: "a" }], stamp("bob", "e1"));
    const first = there.exportSince();
    const between = there.versionVector();
    there.commit([{ at: 0, remove: 0, insert: "b" }], stamp("bob", "e2"));
    here.import(there.exportSince(between), stamp("bob", "i1"));
    const snapshot = loaded(here.save({ snapshot: true }));
    snapshot.import(first, stamp("bob", "i2"));
    expect(snapshot.read()).toBe("ba");
    const again = loaded(snapshot.save());
    const doc = new LoroDoc();
    doc.import(again.exportSince());
    expect(doc.getText("text").toString()).toBe(again.read());
    for (const each of [here, there, snapshot, again]) each[Symbol.dispose]();
    doc.free();
  });

  test("UNDO-5: an Edit that begins without text clears its author's redo list with its first text", () => {
    using document = documentOf("");
    document.commit([{ at: 0, remove: 0, insert: "a" }], stamp("amy", "A1"));
    document.flip(document.planUndo({ actor: "amy" }), stamp("amy", "u1"));
    document.touch(stamp("amy", "A2"));
    expect(document.planRedo({ actor: "amy" }).edit).toBe("A1");
    document.commit([{ at: 0, remove: 0, insert: "b" }], stamp("amy", "A2"));
    expect(refusal(() => document.planRedo({ actor: "amy" })).code).toBe("nothing_to_undo");
  });

  /** What a journal keeps of a document, from a version on. */
  function journalOf(document: BlockDocument, from = 1): ReturnType<BlockDocument["recorded"]>[] {
    return Array.from({ length: document.version - from + 1 }, (_, i) =>
      document.recorded(from + i),
    );
  }

  test("RECORD-1: a document that is loaded from its journal alone can be exported", () => {
    using document = documentOf("text");
    document.birth(stamp("disk", "birth"));
    document.commit([{ at: 0, remove: 0, insert: "x" }], stamp("amy", "e1"));
    using again = BlockDocument.load(undefined, { peer: "2", commits: journalOf(document) });
    expect(again.read()).toBe("xtext");
    expect(again.exportSince()).toEqual(document.exportSince());
  });

  test("RECORD-4: text of two origins, deleted in two commits, takes the same operations again", () => {
    using document = documentOf("abc");
    document.birth(stamp("disk", "birth"));
    document.commit([{ at: 0, remove: 0, insert: "X" }], stamp("amy", "e1"));
    document.commit([{ at: 0, remove: 1, insert: "" }], stamp("amy", "e2"));
    const journal = journalOf(document);
    document.exportSince();
    document.commit([{ at: 0, remove: 1, insert: "" }], stamp("amy", "e3"));
    journal.push(document.recorded(document.version));
    using again = BlockDocument.load(undefined, { peer: "2", commits: journal });
    expect(operationsIn([again.exportSince()])).toEqual(operationsIn([document.exportSince()]));
  });

  /** A server that exports, crashes, and goes on from what it saved and from its journal. */
  function afterCrash(journalIsRead: "before the export" | "behind the export"): string[] {
    using document = documentOf("text");
    document.birth(stamp("disk", "birth"));
    const saved = document.save();
    document.commit([{ at: 0, remove: 0, insert: "x" }], stamp("amy", "e1"));
    const early = journalOf(document, 3);
    const sent = document.exportSince();
    const journal = journalIsRead === "before the export" ? early : journalOf(document, 3);
    // Here the process ends. Another loads what was saved, and the journal.
    using again = BlockDocument.load(saved, { peer: "2", commits: journal });
    again.commit([{ at: 0, remove: 1, insert: "y" }], stamp("amy", "e2"));
    using client = documentOf("text", "3");
    client.birth(stamp("disk", "birth"));
    client.import(sent, stamp("server", "i1"));
    client.import(again.exportSince(client.versionVector()), stamp("server", "i2"));
    return [client.read(), again.read()];
  }

  test("RECORD-2: what was exported before a crash means the same after it", () => {
    expect(afterCrash("behind the export")).toEqual(["ytext", "ytext"]);
  });

  test("RECORD-2: so it does when the journal was written before the export, as journals are", () => {
    expect(afterCrash("before the export")).toEqual(["ytext", "ytext"]);
  });

  test("RECORD-1: the index of another document is not taken for this one's", () => {
    const saved = ["ab", "bc"].map((text) => documentOf(text).save());
    const mixed = { record: saved[0]!.record, index: saved[1]!.index };
    expect(refusal(() => loaded(mixed)).code).toBe("damaged");
    expect(loaded(saved[0]!).read()).toBe("ab");
  });

  test("VERSION-4: a page of history without entries is refused", () => {
    using document = documentOf("a");
    for (const limit of [0, -1, 1.5, Number.NaN]) {
      expect(refusal(() => document.history({ limit })).code).toBe("invalid_argument");
    }
  });

  test("MERGE-1, MERGE-2: an import is kept as it came, and waits once however often it comes", () => {
    const [here, there] = ["2", "3"].map((peer) => {
      const document = documentOf("", peer);
      document.birth(stamp("disk", "birth"));
      return document;
    }) as [BlockDocument, BlockDocument];
    there.commit([{ at: 0, remove: 0, insert: "a" }], stamp("bob", "e1"));
    const first = there.exportSince();
    const between = there.versionVector();
    there.commit([{ at: 1, remove: 0, insert: "b" }], stamp("bob", "e2"));
    const second = there.exportSince(between);
    here.import(second, stamp("bob", "i1"));
    const { version } = here;
    expect(here.import(second, stamp("bob", "i2")).pending).toEqual(["3"]);
    expect(here.version).toBe(version);
    here.import(first, stamp("bob", "i3"));
    expect(here.read()).toBe("ab");
    // The caller uses its array for something else.
    second.fill(0);
    using again = loaded({ record: here.save().record });
    expect(again.exportSince()).toEqual(here.exportSince());
    for (const each of [here, there]) each[Symbol.dispose]();
  });
});
