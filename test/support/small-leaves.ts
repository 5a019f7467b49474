import { afterAll, beforeAll } from "vitest";
import { RunIndex } from "../../src/blocks/run-index.ts";

export const SMALL_LEAF = 6;

/** Has leaves of the run index so small that they divide all the time, in this file's tests. */
export function useSmallLeaves(): void {
  const usual = RunIndex.leafRuns;
  beforeAll(() => {
    RunIndex.leafRuns = SMALL_LEAF;
  });
  afterAll(() => {
    RunIndex.leafRuns = usual;
  });
}
