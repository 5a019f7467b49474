import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fcOptions } from "../../test/support/counts.ts";
import { IntColumn } from "./column.ts";

describe("IntColumn", () => {
  test("gives back what was pushed and finds the first value above another", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(3), { maxLength: 40 }), (steps) => {
        const column = new IntColumn(1);
        const plain: number[] = [];
        for (const step of steps) {
          plain.push((plain.at(-1) ?? 0) + step);
          column.push(plain.at(-1)!);
        }
        expect(column.length).toBe(plain.length);
        expect(plain.map((_, index) => column.at(index))).toEqual(plain);
        for (let value = -1; value <= (plain.at(-1) ?? 0) + 1; value++) {
          const found = plain.findIndex((each) => each > value);
          expect(column.firstAbove(value)).toBe(found === -1 ? plain.length : found);
        }
      }),
      fcOptions(300),
    );
  });
});
