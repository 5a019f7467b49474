import { expect, test } from "vitest";
import { fromRow, toRow } from "./block-state.ts";
import { madeAgain } from "./made-file.ts";

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
