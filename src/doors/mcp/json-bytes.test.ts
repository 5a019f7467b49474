import fc from "fast-check";
import { expect, it } from "vitest";
import { fcOptions } from "../../../test/support/counts.ts";
import { FakeTime } from "../../../test/support/kernel-workshop.ts";
import { JsonWriter } from "./json-bytes.ts";

const piece = fc.oneof(
  fc.constantFrom('"', "\\", "\n", "\t", "\u0000", "\u0001", "\u007f", "é", "ÿ", "—", "\ud800"),
  fc.constantFrom("🌍", "\u2028", "\ufeff", "plain words ", "\u0001 the text \u0001"),
  fc.string(),
);

function answer(text: string, aside: unknown, texts = 1) {
  const content = Array.from({ length: texts }, () => ({ type: "text", text }));
  return { jsonrpc: "2.0", id: aside, result: { content, _meta: { aside } } };
}

it("writes what JSON.stringify writes, the first time and again", () => {
  const writer = new JsonWriter(new FakeTime().timers);
  fc.assert(
    fc.property(fc.array(piece, { minLength: 1 }), piece, fc.nat(2), (parts, aside, texts) => {
      const part = parts.join("") || "x";
      const long = part.repeat(Math.ceil(9_000 / part.length));
      for (const message of [answer(long, aside, texts), answer(part, aside), { aside }]) {
        const json = JSON.stringify(message);
        for (const _ of ["first", "again"]) {
          expect(writer.bytes(message)).toEqual(Buffer.from(json));
          expect(writer.line(message)).toEqual(Buffer.from(`${json}\n`));
        }
      }
    }),
    fcOptions(500),
  );
});

it("keeps few texts, and for a few seconds", () => {
  const time = new FakeTime();
  const writer = new JsonWriter(time.timers);
  for (let at = 0; at < 20; at++) writer.bytes(answer(`${at}${"x".repeat(10_000)}`, at));
  expect(writer.size).toBe(8);
  time.pass(5_000);
  expect(writer.size).toBe(0);
  expect(time.waiting).toBe(0);
});
