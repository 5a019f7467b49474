import { expect, test, vi } from "vitest";
import { boundHeapGrowth } from "./heap-growth.ts";

const MEGABYTE = 1024 * 1024;
const v8 = vi.hoisted(() => ({ size: 0, flags: [] as string[] }));
vi.mock("node:v8", () => ({
  getHeapSpaceStatistics: () => [
    { space_name: "old_space", space_size: 1 },
    { space_name: "new_space", space_size: v8.size },
  ],
  setFlagsFromString: (flag: string) => v8.flags.push(flag),
}));

test("old objects have room, and the space for new ones may grow while it is small, also after it was given back", () => {
  vi.useFakeTimers();
  using _ = { [Symbol.dispose]: () => void vi.useRealTimers() };
  const growth = (size: number): string[] => {
    v8.size = size * MEGABYTE;
    vi.advanceTimersByTime(100);
    return v8.flags.splice(0);
  };
  v8.size = 16 * MEGABYTE;
  const bound = boundHeapGrowth();
  expect(v8.flags.splice(0)).toEqual([
    "--heap-growing-percent=100",
    "--semi-space-growth-factor=1",
  ]);
  expect(growth(16)).toEqual([]);
  expect(growth(1)).toEqual(["--semi-space-growth-factor=2"]);
  expect(growth(32)).toEqual(["--semi-space-growth-factor=1"]);
  bound[Symbol.dispose]();
  expect(growth(1)).toEqual(["--semi-space-growth-factor=2", "--heap-growing-percent=0"]);
});
