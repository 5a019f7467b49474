import fc from "fast-check";
import { expect, it } from "vitest";
import { fcOptions } from "../../test/support/counts.ts";
import { refusal } from "../../test/support/refusal.ts";
import { LineReader } from "./line-reader.ts";

it("gives the same lines however the bytes are cut", () => {
  const text = fc
    .array(fc.constantFrom("\n", "a", "é", "🌍", "\r", "{}", "\uFEFF"), { maxLength: 40 })
    .map((parts) => parts.join(""));
  fc.assert(
    fc.property(
      text,
      fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 }),
      (whole, sizes) => {
        const bytes = new TextEncoder().encode(whole);
        const reader = new LineReader(1_000);
        const lines: string[] = [];
        for (let at = 0, turn = 0; at < bytes.length; turn++) {
          const size = sizes[turn % sizes.length]!;
          lines.push(...reader.read(bytes.subarray(at, at + size)));
          at += size;
        }
        // Only in front of everything it is no character.
        expect(lines).toEqual(
          whole
            .replace(/^\uFEFF/, "")
            .split("\n")
            .slice(0, -1),
        );
      },
    ),
    fcOptions(1_000),
  );
});

it("refuses a line that does not end", () => {
  const reader = new LineReader(10);
  expect([...reader.read(new TextEncoder().encode("0123456789"))]).toEqual([]);
  expect(refusal(() => [...reader.read(new TextEncoder().encode("x"))]).code).toBe("too_large");
});
