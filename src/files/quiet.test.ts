import fc from "fast-check";
import { expect, test } from "vitest";
import { fcOptions } from "../../test/support/counts.ts";
import type { Look } from "./look.ts";
import { Quiet } from "./quiet.ts";

function file(size: number, inode = 1n): Look {
  return {
    kind: "file",
    size,
    inode,
    nanoseconds: 0n,
    touched: 0n,
    mode: 0,
    links: 1,
    device: 1n,
    born: 1n,
  };
}

/** Asks as a watch does, at the times it is told to, until nothing waits or a time has come. */
function tell(quiet: Quiet, from: number, until: number, held = false) {
  const told: { at: number; epoch: number; paths: string[] }[] = [];
  let now = from;
  for (;;) {
    const wait = quiet.next(now, held);
    if (wait === undefined || now + wait > until) return told;
    now += Math.max(1, wait);
    const paths = quiet.ready(now, held);
    if (paths.length === 0) continue;
    told.push({ at: now, epoch: quiet.epoch, paths });
    quiet.told(paths, now, held);
  }
}

test("a path is told 100 ms after the last that happened to it, each for itself", () => {
  const quiet = new Quiet(100);
  quiet.touch("a", file(5), 0, undefined);
  quiet.touch("b", file(5), 50, undefined);
  quiet.touch("a", file(5), 30, undefined);
  expect(tell(quiet, 50, 1000)).toEqual([
    { at: 130, epoch: 1, paths: ["a"] },
    { at: 150, epoch: 2, paths: ["b"] },
  ]);
});

test("an empty file waits a second longer, unless it was empty before", () => {
  const quiet = new Quiet(100);
  quiet.touch("new", file(0), 0, undefined);
  quiet.touch("same", file(0), 0, file(0));
  expect(tell(quiet, 0, 5000).map(({ at, paths }) => [at, ...paths])).toEqual([
    [100, "same"],
    [1100, "new"],
  ]);
});

test("a file that was seen to grow, or lost most of itself in place, must be quiet for longer", () => {
  const quiet = new Quiet(100);
  quiet.touch("grows", file(5), 0, undefined);
  quiet.touch("grows", file(6), 90, undefined);
  quiet.touch("short", file(40), 90, file(100));
  quiet.touch("shorter, another file", file(40, 2n), 90, file(100));
  expect(tell(quiet, 90, 5000).map(({ at, paths }) => [at, ...paths])).toEqual([
    [190, "shorter, another file"],
    [490, "grows", "short"],
  ]);
});

test("many paths at once are one epoch, told together; after 2 s what is quiet so far, by the same number", () => {
  const quiet = new Quiet(100);
  for (let i = 0; i < 20; i++) quiet.touch(`${i}`, file(5), i * 10, undefined);
  for (let at = 200; at < 2500; at += 50) {
    quiet.touch("restless", file(5), at, undefined);
    if (at < 2000) expect(quiet.ready(at, false)).toEqual([]);
  }
  const first = quiet.ready(2500, false);
  expect(first).toHaveLength(20);
  const { epoch } = quiet;
  quiet.told(first, 2500, false);
  expect(tell(quiet, 2500, 9000)).toEqual([{ at: 2550, epoch, paths: ["restless"] }]);
  expect(quiet.epoch).toBe(epoch + 1);
});

test("what is known to go on is waited for, 2 s at most", () => {
  const quiet = new Quiet(100);
  quiet.gather(0);
  quiet.touch("a", file(5), 10, undefined);
  expect(quiet.ready(1500, true)).toEqual([]);
  expect(quiet.ready(1500, false)).toEqual(["a"]);
  expect(quiet.ready(2000, true)).toEqual(["a"]);
});

test("what is known to go on is one epoch to its end, a minute at most", () => {
  const quiet = new Quiet(100);
  quiet.gather(0);
  const told: ReturnType<typeof tell> = [];
  for (let at = 0; at < 70_000; at += 125) {
    quiet.touch(`${at}`, file(5), at, undefined);
    told.push(...tell(quiet, at, at + 125, true));
  }
  const epochs = Map.groupBy(told, ({ epoch }) => epoch);
  expect([...epochs.keys()]).toEqual([1, 2]);
  expect(epochs.get(1)!.at(-1)!.at).toBeGreaterThanOrEqual(60_000);
  expect(epochs.get(1)!.at(-1)!.at).toBeLessThan(60_200);
  // Waited for once; then everything is told when it is quiet.
  const [first, ...rest] = epochs.get(1)!;
  expect(first!.at).toBe(2000);
  for (const { at, paths } of rest)
    for (const path of paths) expect(at - Number(path)).toBeLessThan(250);
  // It is over, and the next is another.
  quiet.endIfEmpty();
  quiet.touch("next", file(5), 80_000, undefined);
  expect(tell(quiet, 80_000, 81_000).map(({ epoch }) => epoch)).toEqual([3]);
});

const happening = fc.record({
  path: fc.constantFrom(..."abcdefghijklm"),
  after: fc.integer({ min: 0, max: 150 }),
  size: fc.integer({ min: 0, max: 3 }),
});

test("whatever happens, everything is told in the end, and nothing before it was quiet, but for 10 s of unrest", () => {
  fc.assert(
    fc.property(fc.array(happening, { minLength: 1, maxLength: 300 }), (happenings) => {
      const quiet = new Quiet(100);
      const last = new Map<string, { at: number; first: number }>();
      let now = 0;
      const check = (told: ReturnType<typeof tell>) => {
        for (const { at, paths } of told) {
          for (const path of paths) {
            const { at: touched, first } = last.get(path)!;
            expect(at - touched >= 100 || at - first >= 10_000).toBe(true);
            last.delete(path);
          }
        }
      };
      for (const { path, after, size } of happenings) {
        check(tell(quiet, now, now + after));
        now += after;
        last.set(path, { at: now, first: last.get(path)?.first ?? now });
        quiet.touch(path, file(size), now, undefined);
      }
      check(tell(quiet, now, now + 20_000));
      expect(last.size).toBe(0);
      expect(quiet.size).toBe(0);
    }),
    fcOptions(1000),
  );
});
