import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../test/support/temporary-folder.ts";
import type { Comparison } from "./compare.ts";
import { firstLook } from "./first-look.ts";
import { Ignored } from "./ignored.ts";
import { Known } from "./known.ts";

function comparisonOf(root: string, known: Known): Comparison {
  const nothing = (): undefined => undefined;
  return {
    root,
    known,
    ignored: new Ignored(root),
    clock: { now: () => 0 },
    differs: nothing,
    found: nothing,
    missing: nothing,
    leftOut: nothing,
    unseen: nothing,
  };
}

/** What is told while 6,000 files are looked at, each thousand of which takes so long. */
async function told(milliseconds: number): Promise<(readonly [number, number | undefined])[]> {
  using folder = temporaryFolder();
  folder.write(".gitignore", "out/\n");
  const make =
    "mkdir a b out; for d in a b; do (cd $d; seq 3000 | xargs touch); done; cd out; seq 500 | xargs touch";
  execFileSync("sh", ["-ec", `${make}; rm ../a/1`], { cwd: folder.path });
  const known = new Known();
  const progress: (readonly [number, number | undefined])[] = [];
  let time = 0;
  await firstLook(comparisonOf(folder.path, known), {
    signal: new AbortController().signal,
    clock: { now: () => (time += milliseconds) },
    onProgress: (files, total) => progress.push([files, total]),
  });
  expect([...known.files()]).toHaveLength(6_000);
  return progress;
}

test("how many there are is counted when it takes a while, without what is ignored", async () => {
  const progress = await told(600);
  expect(progress.map(([files]) => files)).toEqual([1000, 2000, 3000, 4000, 5000, 6000]);
  const totals = progress.flatMap(([, total]) => total ?? []);
  expect(progress[0]![1]).toBeUndefined();
  expect(totals.length).toBeGreaterThan(0);
  expect(new Set(totals)).toEqual(new Set([6_000]));
});

test("nothing is counted when it is quick", async () => {
  expect((await told(1)).every(([, total]) => total === undefined)).toBe(true);
});

test("what cannot be done is told, and the counting ends with it", async () => {
  using folder = temporaryFolder();
  const stop = new AbortController();
  stop.abort();
  const looking = firstLook(comparisonOf(folder.path, new Known()), { signal: stop.signal });
  await expect(looking).rejects.toMatchObject({ code: "aborted" });
});
