import fc from "fast-check";
import { expect, test } from "vitest";
import { fcOptions } from "../../test/support/counts.ts";
import { SpliceComposer } from "./splice-composer.ts";

test("RECORD-2: composed splices make the same text, in no more writes", () => {
  const steps = fc.array(
    fc.tuple(fc.nat(), fc.integer({ min: 0, max: 4 }), fc.string({ maxLength: 3 }), fc.boolean()),
    { maxLength: 40 },
  );
  const property = fc.property(fc.string({ maxLength: 20 }), steps, (text, made) => {
    let plain = text;
    let composed = text;
    let cursor = 0;
    let writes = 0;
    const composer = new SpliceComposer((at, remove, insert) => {
      writes++;
      composed = composed.slice(0, at) + insert + composed.slice(at + remove);
    });
    for (const [place, most, insert, goesOn] of made) {
      const at = goesOn ? Math.min(cursor, plain.length) : place % (plain.length + 1);
      const remove = Math.min(most, plain.length - at);
      plain = plain.slice(0, at) + insert + plain.slice(at + remove);
      composer.add(at, remove, insert);
      cursor = at + insert.length;
    }
    composer.flush();
    expect(composed).toBe(plain);
    expect(writes).toBeLessThanOrEqual(made.length);
  });
  fc.assert(property, fcOptions(5_000));
});

test("RECORD-2: what was typed and erased since is not written at all", () => {
  const writes: unknown[] = [];
  const composer = new SpliceComposer((...write) => writes.push(write));
  for (const [index, key] of [..."wood"].entries()) composer.add(index, 0, key);
  for (let at = 3; at >= 0; at--) composer.add(at, 1, "");
  composer.add(0, 0, "x");
  composer.flush();
  expect(writes).toEqual([[0, 0, "x"]]);
});
