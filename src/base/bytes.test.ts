import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyText } from "../../test/support/arbitrary-text.ts";
import { fcOptions } from "../../test/support/counts.ts";
import { refusalCode } from "../../test/support/refusal.ts";
import { ByteReader, ByteWriter } from "./bytes.ts";

const value = fc.oneof(
  fc.record({ kind: fc.constant("byte" as const), value: fc.nat(255) }),
  fc.record({ kind: fc.constant("count" as const), value: fc.maxSafeNat() }),
  fc.record({ kind: fc.constant("count" as const), value: fc.nat(300) }),
  fc.record({
    kind: fc.constant("difference" as const),
    value: fc.integer({ min: -(2 ** 52), max: 2 ** 52 - 1 }),
  }),
  fc.record({
    kind: fc.constant("difference" as const),
    value: fc.integer({ min: -130, max: 130 }),
  }),
  fc.record({ kind: fc.constant("bytes" as const), value: fc.uint8Array({ maxLength: 400 }) }),
  fc.record({ kind: fc.constant("text" as const), value: anyText() }),
);

type Value = typeof value extends fc.Arbitrary<infer Each> ? Each : never;

function write(writer: ByteWriter, each: Value): void {
  if (each.kind === "bytes") writer.bytes(each.value);
  else if (each.kind === "text") writer.text(each.value);
  else writer[each.kind](each.value);
}

function written(values: readonly Value[]): Uint8Array {
  const writer = new ByteWriter();
  for (const each of values) write(writer, each);
  return writer.finish();
}

describe("bytes", () => {
  test("what was written is read", () => {
    fc.assert(
      fc.property(fc.array(value, { maxLength: 12 }), (values) => {
        const bytes = written(values);
        const reader = new ByteReader(bytes);
        for (const { kind, value: wanted } of values) expect(reader[kind]()).toEqual(wanted);
        expect(reader.done).toBe(true);
      }),
      fcOptions(1500),
    );
  });

  test("many counts are read as one by one, and none past the end", () => {
    const count = fc.oneof(fc.nat(300), fc.maxSafeNat());
    fc.assert(
      fc.property(fc.array(count, { maxLength: 20 }), (counts) => {
        const bytes = written(counts.map((each) => ({ kind: "count", value: each })));
        expect(new ByteReader(bytes).counts(counts.length)).toEqual(counts);
        const beyond = (): unknown => new ByteReader(bytes).counts(counts.length + 1);
        expect(refusalCode(beyond)).toBe("damaged");
      }),
      fcOptions(1500),
    );
  });

  test("RECORD-3: what is cut off anywhere is damaged", () => {
    fc.assert(
      fc.property(fc.array(value, { minLength: 1, maxLength: 5 }), fc.nat(), (values, cut) => {
        const bytes = written(values);
        const reader = new ByteReader(bytes.slice(0, cut % bytes.length));
        const readAll = (): void => values.forEach(({ kind }) => reader[kind]());
        expect(refusalCode(readAll)).toBe("damaged");
      }),
      fcOptions(1500),
    );
  });

  test("RECORD-3: any bytes are a value or damaged, and reading never passes their end", () => {
    const kinds = ["byte", "count", "difference", "bytes", "text"] as const;
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 40 }),
        fc.array(fc.constantFrom(...kinds), { maxLength: 8 }),
        (bytes, reads) => {
          const reader = new ByteReader(bytes);
          const code = refusalCode(() => {
            for (const kind of reads) {
              const result = reader[kind]();
              if (typeof result === "number") expect(Number.isSafeInteger(result)).toBe(true);
              else expect(result.length).toBeLessThanOrEqual(bytes.length);
            }
          });
          expect([undefined, "damaged"]).toContain(code);
        },
      ),
      fcOptions(1500),
    );
  });
});
