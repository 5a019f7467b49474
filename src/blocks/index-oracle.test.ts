import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyText } from "../../test/support/arbitrary-text.ts";
import { fcOptions, scaled, seed } from "../../test/support/counts.ts";
import { loaded, stamp } from "../../test/support/documents.ts";
import {
  actors,
  anyStep,
  editStep,
  History,
  historyOf,
} from "../../test/support/random-history.ts";
import { refusal } from "../../test/support/refusal.ts";
import { SMALL_LEAF, useSmallLeaves } from "../../test/support/small-leaves.ts";
import { spliced } from "../../test/support/spliced.ts";
import { UnitOracle } from "../../test/support/unit-oracle.ts";
import { BlockDocument } from "./block-document.ts";
import { RunIndex } from "./run-index.ts";

useSmallLeaves();

function emptyHistory(): History {
  return new History(BlockDocument.create({ peer: "2" }));
}

function historyWithBaseline(text: string): History {
  const first = stamp("disk", "baseline");
  const oracle = new UnitOracle();
  oracle.commitFixed(text === "" ? [] : [{ at: 0, remove: 0, insert: text }], first);
  return new History(BlockDocument.create({ peer: "2", baseline: { text, stamp: first } }), oracle);
}

function oracleBlame(oracle: UnitOracle, start: number, end: number): object[] {
  const runs: { start: number; length: number; edit: string; version: number }[] = [];
  for (const [i, { edit, version }] of oracle.visible().slice(start, end).entries()) {
    const last = runs.at(-1);
    if (last?.edit === edit) last.length++;
    else runs.push({ start: start + i, length: 1, edit, version });
  }
  return runs;
}

/** VERSION-3: every version's text. */
function compareVersions(document: BlockDocument, oracle: UnitOracle): void {
  expect(document.version).toBe(oracle.version);
  for (let version = 0; version <= oracle.version; version++) {
    expect(document.read(version), `version ${version}`).toBe(oracle.text(version));
  }
}

/** BLAME-1, of everything and of parts. */
function compareBlame(document: BlockDocument, oracle: UnitOracle): void {
  const length = oracle.visible().length;
  expect(document.blame()).toEqual(oracleBlame(oracle, 0, length));
  const step = Math.max(1, Math.floor(length / 7));
  for (let start = 0; start < length; start += step) {
    for (const end of [start, start + 1, Math.min(length, start + 2 * step), length]) {
      expect(document.blame(start, end)).toEqual(oracleBlame(oracle, start, end));
    }
  }
}

/** UNDO-5 and what every undo and redo would do now. */
function comparePlans(document: BlockDocument, oracle: UnitOracle): void {
  const text = oracle.text();
  for (const what of ["undo", "redo"] as const) {
    const planOf = (actor: string, edit?: string): ReturnType<BlockDocument["planUndo"]> =>
      what === "undo" ? document.planUndo({ actor, edit }) : document.planRedo({ actor, edit });
    const check = (actor: string, edit?: string): void => {
      const wanted = what === "undo" ? oracle.undoOf(actor, edit) : oracle.redoOf(actor, edit);
      if (wanted === undefined) {
        expect(refusal(() => planOf(actor, edit)).code).toBe("nothing_to_undo");
        return;
      }
      const { splices, held: _held, ...plan } = planOf(actor, edit);
      const { text: after, stayed } = oracle.ifFlipped(wanted);
      expect(plan).toEqual({ ...wanted, stayed });
      expect(spliced(text, splices)).toBe(after);
    };
    for (const actor of actors) check(actor);
    for (const edit of oracle.editIds) check("amy", edit);
  }
  expect(document.read()).toBe(text);
}

function compareHistory(document: BlockDocument, oracle: UnitOracle): void {
  let before: number | undefined;
  let version = oracle.version;
  do {
    const page = document.history({ limit: 7, ...(before === undefined ? {} : { before }) });
    for (const entry of page.entries) {
      const splices = oracle.splices(version);
      expect(entry).toMatchObject({
        version,
        inserted: splices.reduce((sum, { insert }) => sum + insert.length, 0),
        removed: splices.reduce((sum, { remove }) => sum + remove, 0),
      });
      expect(document.entry(version)).toEqual(entry);
      version--;
    }
    before = page.before;
  } while (before !== undefined);
  expect(version).toBe(0);
}

/** BASE-1 and VERSION-5: the way from each version to now, and back. */
function comparePasts(document: BlockDocument, oracle: UnitOracle): void {
  const visible = new Set(oracle.visible());
  for (let version = 0; version < oracle.version; version++) {
    const past = document.past(version)!;
    const then = oracle.visible(version);
    expect(past.slice(0, past.length)).toBe(oracle.text(version));
    expect(then.map((_, offset) => past.survives(offset))).toEqual(
      then.map((unit) => visible.has(unit)),
    );
    expect(spliced(oracle.text(), document.translateRollback(version))).toBe(oracle.text(version));
  }
}

function compareAll(document: BlockDocument, oracle: UnitOracle): void {
  compareVersions(document, oracle);
  compareBlame(document, oracle);
  comparePlans(document, oracle);
  comparePasts(document, oracle);
}

/** A document as it was at a version, brought up to date from the journal. */
function fromJournal(document: BlockDocument, version: number): BlockDocument {
  const commits = Array.from({ length: document.version }, (_, i) => document.recorded(i + 1));
  const first = BlockDocument.load(undefined, { peer: "2", commits: commits.slice(0, version) });
  const saved = version === 0 ? undefined : first.save();
  return BlockDocument.load(saved, { peer: "2", commits: commits.slice(version) });
}

describe("against an oracle that keeps every unit", () => {
  test("UNDO-1, VERSION-3, VERSION-4, BLAME-1: text, versions, blame and plans are the oracle's", () => {
    fc.assert(
      fc.property(historyOf(25), (steps) => {
        const { document, oracle } = emptyHistory().run(steps);
        compareAll(document, oracle);
        compareHistory(document, oracle);
      }),
      fcOptions(2500),
    );
  });

  test("UNDO-1, VERSION-6: the same on top of a baseline", () => {
    fc.assert(
      fc.property(anyText(20), historyOf(20), (text, steps) => {
        const { document, oracle } = historyWithBaseline(text).run(steps);
        compareAll(document, oracle);
      }),
      fcOptions(1200),
    );
  });

  test("UNDO-1: typing, erasing and nothing else, key by key, by several who take turns", () => {
    const burst = editStep.filter((step) => step.kind === "type" || step.kind === "erase");
    const flip = anyStep.filter((step) => step.kind === "undo" || step.kind === "redo");
    fc.assert(
      fc.property(
        historyOf(
          40,
          burst.map((step) => ({ ...step, byKey: true })),
        ),
        historyOf(8, flip),
        historyOf(10, burst),
        (typed, flips, more) => {
          const history = emptyHistory().run(typed);
          compareVersions(history.document, history.oracle);
          history.run(flips).run(more);
          compareAll(history.document, history.oracle);
        },
      ),
      fcOptions(800),
    );
  });

  test("VERSION-3, UNDO-1: hundreds of commits", () => {
    fc.assert(
      fc.property(fc.array(anyStep, { minLength: 250, maxLength: 350, size: "max" }), (steps) => {
        const { document, oracle } = emptyHistory().run(steps);
        compareVersions(document, oracle);
        compareBlame(document, oracle);
      }),
      fcOptions(40),
    );
  });

  test("RECORD-1, RECORD-4: a loaded document is the saved one, and goes on as it", () => {
    fc.assert(
      fc.property(
        historyOf(20),
        historyOf(8),
        fc.constantFrom("record", "index", "other leaves", "journal", "record and journal"),
        (steps, more, form) => {
          const history = emptyHistory().run(steps);
          const saved = history.document.save();
          const earlier = Math.floor(history.document.version / 2);
          try {
            if (form === "other leaves") RunIndex.leafRuns = 9;
            const again = form.endsWith("journal")
              ? fromJournal(history.document, form === "journal" ? 0 : earlier)
              : loaded(form === "record" ? { record: saved.record } : saved);
            compareAll(again, history.oracle);
            compareHistory(again, history.oracle);
            // Loading must not have changed anything that saving shows.
            if (!form.endsWith("journal")) expect(again.save().record).toEqual(saved.record);
            history.document = again;
            history.run(more);
            compareAll(history.document, history.oracle);
          } finally {
            RunIndex.leafRuns = SMALL_LEAF;
          }
        },
      ),
      fcOptions(1500),
    );
  });
});

describe("undo and redo", () => {
  test("UNDO-2: undoing everything in any order gives the baseline", () => {
    fc.assert(
      fc.property(anyText(8), historyOf(20), fc.infiniteStream(fc.nat()), (text, steps, order) => {
        const history = historyWithBaseline(text).run(steps);
        const { oracle, document } = history;
        for (;;) {
          const left = oracle.textEdits().filter((id) => oracle.isActive(id));
          if (left.length === 0) break;
          const edit = left[order.next().value % left.length]!;
          expect(history.flip("undo", "amy", edit)).toBe(true);
        }
        expect(document.read()).toBe(text);
        expect(document.blame().every((run) => run.edit === "baseline")).toBe(true);
      }),
      fcOptions(800),
    );
  });

  test("UNDO-3: undo then redo with nothing between is the identity", () => {
    fc.assert(
      fc.property(historyOf(20), (steps) => {
        const history = emptyHistory().run(steps);
        const { document, oracle } = history;
        for (const edit of oracle.textEdits()) {
          const text = document.read();
          const blame = document.blame();
          const [first, second] = oracle.isActive(edit)
            ? (["undo", "redo"] as const)
            : (["redo", "undo"] as const);
          history.flip(first, "bob", edit);
          history.flip(second, "bob", edit);
          expect(document.read()).toBe(text);
          expect(document.blame()).toEqual(blame);
        }
      }),
      fcOptions(600),
    );
  });

  test("UNDO-4: undoing all Edits of one actor leaves exactly the others' text", () => {
    fc.assert(
      fc.property(historyOf(25, editStep), fc.constantFrom(...actors), (steps, actor) => {
        const history = emptyHistory().run(steps);
        const { document, oracle } = history;
        while (history.flip("undo", actor));
        const others = oracle.textEdits().filter((id) => oracle.actorOf(id) !== actor);
        expect(document.read()).toBe(oracle.textOfOnly(new Set(others)));
        const mine = new Set(oracle.textEdits(actor));
        expect(document.blame().some((run) => mine.has(run.edit))).toBe(false);
      }),
      fcOptions(800),
    );
  });

  test("UNDO-10: what was put in the place of a replacement stays, and what it removed stays away", () => {
    const document = BlockDocument.create({
      peer: "2",
      baseline: { text: "a b c", stamp: stamp("disk", "load") },
    });
    document.commit([{ at: 2, remove: 1, insert: "B" }], stamp("claude", "C1"));
    document.commit([{ at: 2, remove: 1, insert: "b" }], stamp("disk", "D1"));
    const flip = (what: "Undo" | "Redo", edit: string): string => {
      const plan = document[`plan${what}`]({ actor: "amy", edit });
      document.flip(plan, stamp("amy", `f${document.version}`));
      return document.read();
    };
    expect(document.planUndo({ actor: "claude" })).toMatchObject({ splices: [], stayed: 2 });
    expect(flip("Undo", "C1")).toBe("a b c");
    // As long as it stands, and what is put in the place of that, in turn.
    document.commit([{ at: 2, remove: 1, insert: "beta" }], stamp("bob", "B1"));
    expect(flip("Undo", "D1")).toBe("a beta c");
    expect(flip("Undo", "B1")).toBe("a b c");
    expect(document.blame().map(({ edit }) => edit)).toEqual(["load"]);
    expect(flip("Redo", "B1")).toBe("a beta c");
    expect(flip("Redo", "C1")).toBe("a beta c");
    expect(flip("Undo", "B1")).toBe("a B c");
    const versions = Array.from({ length: document.version + 1 }, (_, at) => document.read(at));
    const again = fromJournal(document, 4);
    expect(versions.map((_, at) => again.read(at))).toEqual(versions);
  });

  test("UNDO-10: what is left of a replacement goes, and what it removed comes back", () => {
    const document = BlockDocument.create({
      peer: "2",
      baseline: { text: "a b c", stamp: stamp("disk", "load") },
    });
    document.commit([{ at: 2, remove: 1, insert: "BBB" }], stamp("claude", "C1"));
    document.commit([{ at: 3, remove: 1, insert: "" }], stamp("amy", "A1"));
    expect(document.planUndo({ actor: "claude" }).held).toEqual([]);
    document.flip(document.planUndo({ actor: "claude" }), stamp("claude", "u1"));
    expect(document.read()).toBe("a b c");
  });

  test("UNDO-10: a pure deletion comes back, whatever others wrote there", () => {
    const document = BlockDocument.create({
      peer: "2",
      baseline: { text: "a b c", stamp: stamp("disk", "load") },
    });
    document.commit([{ at: 2, remove: 1, insert: "" }], stamp("claude", "C1"));
    document.commit([{ at: 2, remove: 0, insert: "x" }], stamp("amy", "A1"));
    document.flip(document.planUndo({ actor: "claude" }), stamp("claude", "u1"));
    expect(document.read()).toBe("a xb c");
  });

  test("UNDO-10, RECORD-1: what an old format undid stays as it was recorded", () => {
    const document = BlockDocument.create({ peer: "2" });
    document.commit([{ at: 0, remove: 0, insert: "b" }], stamp("amy", "A1"));
    document.commit([{ at: 0, remove: 1, insert: "B" }], stamp("claude", "C1"));
    document.commit([{ at: 0, remove: 1, insert: "b" }], stamp("disk", "D1"));
    document.flip({ edit: "C1", active: false }, stamp("claude", "u1"));
    expect(document.read()).toBe("bb");
    for (const again of [loaded(document.save()), fromJournal(document, 2)]) {
      expect(again.read()).toBe("bb");
      again.commit([{ at: 2, remove: 0, insert: "!" }], stamp("amy", "A2"));
      again.flip(again.planUndo({ actor: "amy" }), stamp("amy", "u2"));
      expect([again.read(), again.read(4)]).toEqual(["bb", "bb"]);
    }
  });

  test("UNDO-5: the choice of undo and redo without an id", () => {
    const document = BlockDocument.create({ peer: "2" });
    const type = (actor: string, edit: string): void => {
      document.commit(
        [{ at: document.current.length, remove: 0, insert: edit }],
        stamp(actor, edit),
      );
    };
    const undo = (actor: string, edit: string): string => {
      const plan = document.planUndo({ actor });
      document.flip(plan, stamp(actor, edit));
      return plan.edit;
    };
    const redoable = (actor: string): string => document.planRedo({ actor }).edit;
    const nothing = (actor: string): string => refusal(() => redoable(actor)).code;
    type("amy", "A1");
    type("bob", "B1");
    type("amy", "A2");
    // A1 goes on and becomes the newest.
    type("amy", "A1");
    expect(undo("amy", "u1")).toBe("A1");
    expect(undo("amy", "u2")).toBe("A2");
    expect(refusal(() => document.planUndo({ actor: "amy" })).code).toBe("nothing_to_undo");
    expect(redoable("amy")).toBe("A2");
    expect(nothing("bob")).toBe("nothing_to_undo");
    // A new Edit clears its author's list only; going on with an old one clears nothing.
    type("bob", "B1");
    type("bob", "B2");
    expect(redoable("amy")).toBe("A2");
    type("amy", "A3");
    expect(nothing("amy")).toBe("nothing_to_undo");
    // Naming it, anybody may.
    expect(document.planRedo({ actor: "bob", edit: "A2" })).toMatchObject({
      edit: "A2",
      active: true,
    });
    expect(document.read()).toBe("B1B1B2A3");
  });

  test("UNDO-5: what one undid another does not redo without naming it", () => {
    const document = BlockDocument.create({ peer: "2" });
    document.commit([{ at: 0, remove: 0, insert: "a" }], stamp("amy", "A1"));
    document.flip(document.planUndo({ actor: "bob", edit: "A1" }), stamp("bob", "u1"));
    expect(refusal(() => document.planRedo({ actor: "amy" })).code).toBe("nothing_to_undo");
    expect(document.planRedo({ actor: "bob" }).edit).toBe("A1");
    document.flip(document.planRedo({ actor: "amy", edit: "A1" }), stamp("amy", "r1"));
    expect(refusal(() => document.planRedo({ actor: "bob" })).code).toBe("nothing_to_undo");
  });

  test("UNDO-6: undoing a flip flips its target back, and flips are never the newest Edit", () => {
    const document = BlockDocument.create({ peer: "2" });
    document.commit([{ at: 0, remove: 0, insert: "a" }], stamp("amy", "A1"));
    document.commit([{ at: 1, remove: 0, insert: "b" }], stamp("amy", "A2"));
    document.flip(document.planUndo({ actor: "amy" }), stamp("amy", "u1"));
    expect(document.planUndo({ actor: "amy" }).edit).toBe("A1");
    expect(document.planUndo({ actor: "bob", edit: "u1" })).toMatchObject({
      edit: "A2",
      active: true,
    });
    document.flip(document.planUndo({ actor: "bob", edit: "u1" }), stamp("bob", "u2"));
    expect(document.read()).toBe("ab");
    expect(document.entry(4)).toMatchObject({ kind: "redo", actor: "bob", edit: "u2" });
    expect(refusal(() => document.planUndo({ actor: "bob" })).code).toBe("nothing_to_undo");
    expect(document.planUndo({ actor: "bob", edit: "u2" })).toMatchObject({
      edit: "A2",
      active: false,
    });
    expect(refusal(() => document.planRedo({ actor: "bob", edit: "u2" })).code).toBe(
      "nothing_to_undo",
    );
  });

  test("UNDO-7: an undone Edit takes no more text; the baseline and unknown Edits are not undone", () => {
    const document = BlockDocument.create({
      peer: "2",
      baseline: { text: "base", stamp: stamp("disk", "b") },
    });
    document.commit([{ at: 0, remove: 0, insert: "a" }], stamp("amy", "A1"));
    document.flip(document.planUndo({ actor: "amy" }), stamp("amy", "u1"));
    const before = document.save();
    const more = [{ at: 0, remove: 0, insert: "x" }];
    const codes = [
      () => document.commit(more, stamp("amy", "A1")),
      () => document.planUndo({ actor: "disk", edit: "b" }),
      () => document.planUndo({ actor: "disk" }),
      () => document.planUndo({ actor: "amy", edit: "nobody's" }),
      () => document.planUndo({ actor: "amy", edit: "A1" }),
      // An Edit belongs to its author, and text cannot go on under a flip or the baseline.
      () => document.commit(more, stamp("bob", "A1")),
      () => document.commit(more, stamp("amy", "u1")),
      () => document.commit(more, stamp("disk", "b")),
      () => document.flip({ edit: "A1", active: true }, stamp("amy", "u1")),
      () => document.commit(more, stamp("", "A2")),
      () => document.commit(more, stamp("amy", "")),
      () => document.commit(more, stamp("amy", "A2", 1.5)),
    ].map((action) => refusal(action).code);
    expect(codes).toEqual([
      "edit_undone",
      "nothing_to_undo",
      "nothing_to_undo",
      "unknown_edit",
      "nothing_to_undo",
      ...Array.from({ length: 7 }, () => "invalid_argument"),
    ]);
    expect(document.save()).toEqual(before);
    document.flip(document.planRedo({ actor: "amy" }), stamp("amy", "r1"));
    document.commit(more, stamp("amy", "A1"));
    expect(document.read()).toBe("xabase");
  });
});

describe("versions", () => {
  test("VERSION-1: every commit is recorded with all that it was given", () => {
    const document = BlockDocument.create({ peer: "2" });
    expect([document.version, document.read(), document.read(0)]).toEqual([0, "", ""]);
    const given = {
      actor: "amy",
      edit: "A1",
      time: 123,
      call: "call-1",
      message: "why\n\uFEFF😀",
      model: "m",
      turn: "t",
    };
    document.commit([{ at: 0, remove: 0, insert: "abc" }], given);
    document.commit([{ at: 1, remove: 1, insert: "" }], { ...given, time: 99, message: "" });
    document.commit([{ at: 1, remove: 0, insert: "" }], given);
    expect(document.version).toBe(2);
    const entries = [
      { ...given, time: 99, message: "", version: 2, kind: "text", inserted: 0, removed: 1 },
      { ...given, version: 1, kind: "text", inserted: 3, removed: 0 },
    ];
    expect(document.history().entries).toEqual(entries);
    expect(loaded(document.save()).history().entries).toEqual(entries);
  });

  test("VERSION-3, VERSION-4: versions that do not exist are out of range", () => {
    const { document } = emptyHistory();
    document.commit([{ at: 0, remove: 0, insert: "abc" }], stamp("amy", "A1"));
    for (const version of [-1, 2, 0.5, Number.NaN]) {
      for (const action of [
        () => document.read(version),
        () => document.past(version),
        () => document.entry(version),
        () => document.translateRollback(version),
        () => document.history({ before: version + 1 }),
      ]) {
        expect(refusal(action)).toMatchObject({ code: "out_of_range", facts: { maximum: 1 } });
      }
    }
    expect(refusal(() => document.entry(0)).code).toBe("out_of_range");
  });

  test("VERSION-4: pages go from the newest version to the oldest, none twice and none left out", () => {
    const document = BlockDocument.create({ peer: "2" });
    for (let i = 0; i < 10; i++) {
      document.commit([{ at: 0, remove: 0, insert: "a" }], stamp("amy", `A${i}`));
    }
    const pages: number[][] = [];
    for (let before: number | undefined = 11; before !== undefined;) {
      const page = document.history({ before, limit: 4 });
      pages.push(page.entries.map(({ version }) => version));
      before = page.before;
    }
    expect(pages).toEqual([
      [10, 9, 8, 7],
      [6, 5, 4, 3],
      [2, 1],
    ]);
    expect(document.history().entries.length).toBe(10);
    expect(BlockDocument.create({ peer: "2" }).history()).toEqual({
      entries: [],
      before: undefined,
    });
  });

  test("VERSION-5: a rollback changes nothing that is the same in both versions", () => {
    fc.assert(
      fc.property(historyOf(20), fc.nat(), (steps, wish) => {
        const history = emptyHistory().run(steps);
        const { document, oracle } = history;
        const version = wish % (document.version + 1);
        const [then, now] = [new Set(oracle.visible(version)), new Set(oracle.visible())];
        const splices = document.translateRollback(version);
        const removed = splices.reduce((sum, { remove }) => sum + remove, 0);
        const inserted = splices.reduce((sum, { insert }) => sum + insert.length, 0);
        const isSame = oracle.text(version) === oracle.text();
        expect(removed).toBe(isSame ? 0 : now.difference(then).size);
        expect(inserted).toBe(isSame ? 0 : then.difference(now).size);
        history.commit(splices, history.stamp("amy"));
        expect(document.read()).toBe(oracle.text(version));
        expect(now.intersection(then).isSubsetOf(new Set(oracle.visible()))).toBe(true);
        compareAll(document, oracle);
      }),
      fcOptions(600),
    );
  });

  test("VERSION-6: the baseline is version 1 and an Edit of its own, even when it is empty", () => {
    for (const text of ["", "a\nb", "\uFEFFa"]) {
      const { document } = historyWithBaseline(text);
      expect([document.version, document.read(1), document.read(0)]).toEqual([1, text, ""]);
      expect(document.entry(1)).toMatchObject({
        kind: "baseline",
        edit: "baseline",
        actor: "disk",
      });
      expect(refusal(() => document.planUndo({ actor: "disk" })).code).toBe("nothing_to_undo");
      expect(loaded(document.save()).read()).toBe(text);
    }
  });
});

test("BLAME-1: every unit of a long document typed by three, with undos, has its own author", () => {
  const steps = fc.sample(anyStep, { seed: seed(), numRuns: scaled(3000) });
  const { document, oracle } = emptyHistory().run(steps);
  expect(document.version).toBeGreaterThan(steps.length / 2);
  compareBlame(document, oracle);
  compareVersions(document, oracle);
});

test("VERSION-3: histories longer than a chunk of the store read back", () => {
  const { document, oracle } = emptyHistory();
  const history = new History(document, oracle);
  const paste = "0123456789abcdef😀".repeat(700);
  history.commit([{ at: 0, remove: 0, insert: paste }], history.stamp("amy"));
  history.commit([{ at: 9000, remove: 900, insert: paste }], history.stamp("bob"));
  history.commit([{ at: 3600, remove: 7200, insert: "" }], history.stamp("claude"));
  expect(history.flip("undo", "bob")).toBe(true);
  compareVersions(document, oracle);
  compareVersions(loaded({ record: document.save().record }), oracle);
});
