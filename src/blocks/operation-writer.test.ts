import fc from "fast-check";
import { expect, test } from "vitest";
import { fcOptions } from "../../test/support/counts.ts";
import { operationsIn } from "../../test/support/loro-operations.ts";
import { BlockDocument } from "./block-document.ts";

/** Typing and erasing at a place that mostly goes on where it was. */
const keys = fc.array(
  fc.tuple(
    fc.oneof(fc.constant("here"), fc.constant("here"), fc.nat({ max: 30 })),
    fc.integer({ min: -2, max: 2 }),
    fc.constantFrom("", "a", "b", "😀", "cd", "\n"),
    fc.boolean(),
  ),
  { minLength: 1, maxLength: 60 },
);

test("RECORD-2: whenever it is exported, the same splices are the same operations", () => {
  const property = fc.property(keys, (pressed) => {
    using often = BlockDocument.create({ peer: "7" });
    using once = BlockDocument.create({ peer: "7" });
    for (const document of [often, once]) document.birth({ actor: "a", edit: "birth", time: 0 });
    let cursor = 0;
    for (const [place, erase, insert, exports] of pressed) {
      const characters = [...often.read()];
      const at = Math.min(characters.length, place === "here" ? cursor : place);
      const from = erase < 0 ? Math.max(0, at + erase) : at;
      const to = erase < 0 ? at : Math.min(characters.length, at + erase);
      const units = (count: number): number => characters.slice(0, count).join("").length;
      const splice = { at: units(from), remove: units(to) - units(from), insert };
      cursor = from + [...insert].length;
      for (const document of [often, once])
        document.commit([splice], { actor: "a", edit: "e", time: 1 });
      if (exports) often.exportSince();
    }
    expect(operationsIn([often.exportSince()])).toEqual(operationsIn([once.exportSince()]));
    expect(once.read()).toBe(often.read());
  });
  fc.assert(property, fcOptions(2_000));
});
