import { expect, test, vi } from "vitest";
import { boundHeapGrowth } from "./heap-growth.ts";

const MEGABYTE = 1024 * 1024;
const v8 = vi.hoisted(() => ({ young: 0, old: 0, flags: [] as string[] }));
vi.mock("node:v8", () => ({
  getHeapSpaceStatistics: () => [
    { space_name: "old_space", space_size: v8.old, space_used_size: v8.old },
    { space_name: "new_space", space_size: v8.young, space_used_size: v8.young },
  ],
  setFlagsFromString: (flag: string) => v8.flags.push(flag),
}));

/** What is told to V8 when its spaces have so many megabytes. */
function told(young: number, old: number): string[] {
  Object.assign(v8, { young: young * MEGABYTE, old: old * MEGABYTE });
  vi.advanceTimersByTime(100);
  return v8.flags.splice(0);
}

test("new objects' space may grow while it is small, also after it was given back; old ones always have room", () => {
  vi.useFakeTimers();
  using _ = { [Symbol.dispose]: () => void vi.useRealTimers() };
  Object.assign(v8, { young: 16 * MEGABYTE, old: 30 * MEGABYTE });
  let hasCompany = false;
  const bound = boundHeapGrowth(() => hasCompany);
  const atFirst = ["--semi-space-growth-factor=1", "--heap-growing-percent=160"];
  expect(v8.flags.splice(0)).toEqual(atFirst);
  expect(told(16, 30)).toEqual([]);
  expect(told(1, 30)).toEqual(["--semi-space-growth-factor=2"]);
  expect(told(32, 30)).toEqual(["--semi-space-growth-factor=1"]);
  expect(told(32, 100)).toEqual(["--heap-growing-percent=50"]);
  expect(told(32, 104)).toEqual([]);
  expect(told(32, 1000)).toEqual(["--heap-growing-percent=10"]);
  hasCompany = true;
  expect(told(32, 1000)).toEqual(["--heap-growing-percent=0"]);
  hasCompany = false;
  expect(told(32, 100)).toEqual(["--heap-growing-percent=50"]);
  bound[Symbol.dispose]();
  expect(told(1, 1)).toEqual(["--semi-space-growth-factor=2", "--heap-growing-percent=0"]);
});
