import { expect, test } from "vitest";
import { Claims } from "./claims.ts";

function at(time = 0): { claims: Claims; readonly pass: (milliseconds: number) => void } {
  let now = time;
  const claims = new Claims({ now: () => now });
  return { claims, pass: (milliseconds) => void (now += milliseconds) };
}

test("who announced a change is believed for 30 seconds", () => {
  const { claims, pass } = at(1_000);
  claims.begin("a", { actor: "claude", turn: "t1" });
  expect(claims.of("b")).toBeUndefined();
  pass(29_999);
  expect(claims.of("a")).toEqual({ actor: "claude", turn: "t1" });
  pass(1);
  expect(claims.of("a")).toBeUndefined();
});

test("of several the last one is believed, and only it ends what it announced", () => {
  const { claims } = at();
  claims.begin("a", { actor: "claude" });
  claims.begin("a", { actor: "ann" });
  expect(claims.of("a")).toEqual({ actor: "ann" });
  claims.end("a", { actor: "claude" });
  expect(claims.of("a")).toEqual({ actor: "ann" });
  claims.end("a", { actor: "ann" });
  expect(claims.of("a")).toBeUndefined();
});

test("a caller that has gone does not give up what arrives later", () => {
  const { claims } = at();
  claims.begin("a", { actor: "claude", signal: AbortSignal.abort() });
  expect(claims.of("a")).toEqual({ actor: "claude" });
});
