import fc from "fast-check";
import { expect, test } from "vitest";
import { fcOptions } from "../../test/support/counts.ts";
import { InsertStore } from "./insert-store.ts";

const LINES = `${"a".repeat(5000)}\n${"b".repeat(20_000)}\n\n${"c".repeat(7000)}`;

test("the first and the last newline of a range are found across chunks", () => {
  const store = new InsertStore();
  store.append(LINES);
  const edges = [0, 5000, 5001, 8192, 16_384, 25_001, 25_002, 25_003, LINES.length];
  const offset = fc.oneof(fc.constantFrom(...edges), fc.nat({ max: LINES.length }));
  fc.assert(
    fc.property(offset, offset, (one, other) => {
      const [start, end] = [Math.min(one, other), Math.max(one, other)];
      const range = LINES.slice(start, end);
      const at = (found: number): number => (found === -1 ? -1 : start + found);
      expect(store.firstNewline(start, end)).toBe(at(range.indexOf("\n")));
      expect(store.lastNewline(start, end)).toBe(at(range.lastIndexOf("\n")));
    }),
    fcOptions(500),
  );
});
