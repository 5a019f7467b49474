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
