import { expect, test } from "vitest";
import { Claims } from "./claims.ts";

function at(time = 0): { claims: Claims; readonly pass: (milliseconds: number) => void } {
  let now = time;
  const claims = new Claims({ now: () => now });
  return { claims, pass: (milliseconds) => void (now += milliseconds) };
}

const edits = [{ old: "two", new: "TWO" }];
const change = { before: "one\ntwo\n", after: "one\nTWO\n" };
const other = { before: "one\ntwo\n", after: "one\n2\n" };

test("who said what will come is believed for an hour, of that and of nothing else", () => {
  const { claims, pass } = at();
  claims.begin("a", { actor: "claude" }, { edits });
  pass(3_599_999);
  expect(claims.of("a", change)?.cause).toEqual({ actor: "claude" });
  expect(claims.of("a", other)).toBeUndefined();
  expect(claims.of("b", change)).toBeUndefined();
  expect([claims.isAnnounced("a"), claims.isAnnounced("b")]).toEqual([true, false]);
  pass(1);
  expect(claims.of("a", change)).toBeUndefined();
  expect(claims.isAnnounced("a")).toBe(false);
});

test("of several the last one whose it can be is believed, and only it ends what it announced", () => {
  const { claims } = at();
  claims.begin("a", { actor: "claude" }, { edits });
  claims.begin("a", { actor: "ann" }, { edits });
  claims.begin("a", { actor: "codex" }, { content: other.after });
  expect(claims.of("a", change)?.cause).toEqual({ actor: "ann" });
  expect(claims.of("a", other)?.cause).toEqual({ actor: "codex" });
  claims.end("a", { actor: "codex" });
  expect(claims.of("a", other)).toBeUndefined();
  expect(claims.of("a", change)?.cause).toEqual({ actor: "ann" });
  claims.end("a", { actor: "ann" });
  expect(claims.of("a", change)?.cause).toEqual({ actor: "claude" });
});

test("a claim is its call's: another call of the same actor neither replaces nor ends it", () => {
  const { claims } = at();
  const [first, second] = ["1", "2"].map((call) => ({ actor: "claude", turn: "t", call }));
  claims.begin("a", first!, { edits });
  claims.begin("a", second!, { edits: [{ old: "one", new: "ONE" }] });
  claims.end("a", second!);
  expect(claims.of("a", change)?.cause).toEqual(first);
  claims.end("b", first!);
  expect(claims.of("a", change)?.cause).toEqual(first);
  claims.end("a", first!);
  expect(claims.of("a", change)).toBeUndefined();
});

test("a turn that is over takes what it announced with it, in every file", () => {
  const { claims } = at();
  for (const path of ["a", "b"])
    for (const turn of ["t1", "t2"])
      claims.begin(path, { actor: "claude", turn, call: `${path}${turn}` }, { edits });
  claims.begin("a", { actor: "codex", turn: "t2", call: "x" }, { edits });
  claims.withdraw({ actor: "claude", turn: "t2" });
  expect(claims.of("a", change)?.cause).toMatchObject({ actor: "codex" });
  expect(claims.of("b", change)?.cause).toMatchObject({ actor: "claude", turn: "t1" });
});

test("a caller that has gone does not give up what arrives later", () => {
  const { claims } = at();
  claims.begin("a", { actor: "claude", signal: AbortSignal.abort() }, { edits });
  expect(claims.of("a", change)?.cause).toEqual({ actor: "claude" });
});

test("what others changed beside it is told apart, but for blanks and the end of the text", () => {
  const { claims } = at();
  claims.begin("a", { actor: "claude", call: "c" }, { edits });
  const before = "one\ntwo\nthree\n";
  const of = (after: string, by?: string) =>
    claims.of("a", { before, after }, by === undefined ? undefined : { actor: "claude", call: by });
  expect(of("ONE\nTWO\nthree\n")).toMatchObject({ part: "one\nTWO\nthree\n" });
  expect(of("one\nTWO\nthree\n")).toEqual({ cause: { actor: "claude", call: "c" } });
  expect(of("one  \nTWO\nthree")?.part).toBeUndefined();
  expect(of("ONE\nTWO\nthree\n", "c")).toMatchObject({ part: "one\nTWO\nthree\n" });
  expect(of("ONE\nTWO\nthree\n", "another")).toBeUndefined();
});
