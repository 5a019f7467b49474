import { expect, test } from "vitest";
import { flipEdit } from "../base/index.ts";
import { BlockDocument } from "../blocks/index.ts";
import { fromRow, toRow } from "./block-state.ts";
import { isUnmade, madeAgain } from "./made-file.ts";

const ROW = {
  block: "@a~file~1",
  context: "@a",
  parent: null,
  order: "a0",
  kind: "file",
  role: "user",
  status: "done",
  attributes: JSON.stringify({ flags: {}, metadata: { made: [7] }, owner: null, created: 1 }),
};

test("a block keeps which versions made its file again, the newest of them, apart from its metadata", () => {
  let state = fromRow(ROW);
  expect(state.made).toBeUndefined();
  expect(toRow(state)).toEqual(ROW);
  for (let version = 2; version <= 1000; version++)
    state = fromRow(toRow(madeAgain(state, version)));
  expect(state.made).toHaveLength(64);
  expect(state.made?.at(-1)).toBe(1000);
  expect(state.metadata).toEqual({ made: [7] });
});

test("a file that journals of before make and unmake again and again is unmade, or made, as the last of it", () => {
  const [actor, time] = ["ann", 1];
  using document = BlockDocument.create({ peer: "2" });
  const isAway = (): boolean => isUnmade({ document, state: fromRow(ROW) });
  for (let round = 1; round <= 100; round++) {
    const edit = `e1-${round}`;
    document.commit([{ at: 0, remove: 0, insert: "new" }], { actor, time, edit }, { makes: true });
    expect(isAway()).toBe(false);
    const undoing = flipEdit(`e2-${round}`, { target: edit, active: false });
    document.flip(document.planUndo({ actor, edit }), { actor, time, edit: undoing });
    expect(isAway()).toBe(true);
  }
});

test("a making, or the redoing of one, that failed and was taken back leaves what was before it", () => {
  const time = 1;
  using document = BlockDocument.create({ peer: "2" });
  let state = fromRow(ROW);
  const isAway = (): boolean => isUnmade({ document, state });
  const make = (edit: string): void => {
    document.commit(
      [{ at: 0, remove: 0, insert: "new" }],
      { actor: "ann", time, edit },
      { makes: true },
    );
    state = madeAgain(state, document.version);
  };
  let flips = 0;
  const flip = (actor: string, target: string, active: boolean): void => {
    const request = { actor, edit: target };
    const planned = active ? document.planRedo(request) : document.planUndo(request);
    document.flip(planned, { actor, time, edit: flipEdit(`e2-${++flips}`, { target, active }) });
  };
  document.commit([{ at: 0, remove: 0, insert: "old" }], { actor: "disk", time, edit: "e1-1" });
  // Somebody deletes it; two fail to make it again.
  for (const edit of ["e1-2", "e1-3"]) {
    make(edit);
    flip("system", edit, false);
    expect(isAway()).toBe(false);
  }
  make("e1-4");
  flip("ann", "e1-4", false);
  expect(isAway()).toBe(true);
  flip("ann", "e1-4", true);
  expect(isAway()).toBe(false);
  flip("system", "e1-4", false);
  expect(isAway()).toBe(true);
  make("e1-5");
  flip("system", "e1-5", false);
  expect(isAway()).toBe(true);
});
