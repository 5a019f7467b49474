import fc from "fast-check";
import { expect, test } from "vitest";
import { fcOptions } from "../../test/support/counts.ts";
import { Backoff } from "./backoff.ts";

test("each wait is up to twice as long as the one before, never longer than the most, never none", () => {
  const options = fc.record({
    first: fc.integer({ min: 1, max: 1000 }),
    most: fc.integer({ min: 1000, max: 60_000 }),
    numbers: fc.array(fc.double({ min: 0, max: 0.999, noNaN: true }), {
      minLength: 1,
      maxLength: 40,
    }),
  });
  fc.assert(
    fc.property(options, ({ first, most, numbers }) => {
      let at = 0;
      const backoff = new Backoff({ first, most, random: () => numbers[at]! });
      for (; at < numbers.length; at++) {
        const longest = Math.min(most, first * 2 ** at);
        const wait = backoff.next();
        expect(wait).toBeGreaterThanOrEqual(longest / 2);
        expect(wait).toBeLessThanOrEqual(longest);
      }
      backoff.reset();
      at = 0;
      expect(backoff.next()).toBeLessThanOrEqual(Math.min(first, most));
    }),
    fcOptions(200),
  );
});
