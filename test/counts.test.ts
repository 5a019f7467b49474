import { afterEach, describe, expect, test, vi } from "vitest";
import { fcOptions, scaled, seed } from "./support/counts.ts";

afterEach(() => {
  vi.unstubAllEnvs();
});

describe("counts", () => {
  test("are a tenth, rounded up, and whole in a full run", () => {
    vi.stubEnv("KUMIKO_FULL", "");
    expect([0, 1, 10, 101].map(scaled)).toEqual([1, 1, 1, 11]);
    vi.stubEnv("KUMIKO_FULL", "1");
    expect([1, 10, 101].map(scaled)).toEqual([1, 10, 101]);
  });

  test("keep their seed unless another is named", () => {
    vi.stubEnv("KUMIKO_SEED", "");
    expect(seed()).toBe(20_261_115);
    vi.stubEnv("KUMIKO_SEED", "-7");
    expect(seed()).toBe(-7);
  });

  test("are multiplied by KUMIKO_RUNS for properties", () => {
    vi.stubEnv("KUMIKO_FULL", "1");
    vi.stubEnv("KUMIKO_SEED", "3");
    vi.stubEnv("KUMIKO_RUNS", "2.5");
    expect(fcOptions(100)).toEqual({ numRuns: 250, seed: 3 });
  });

  test("refuse what is no number", () => {
    vi.stubEnv("KUMIKO_SEED", "1.5");
    expect(seed).toThrow('KUMIKO_SEED must be an integer, but is "1.5".');
    vi.stubEnv("KUMIKO_SEED", "");
    vi.stubEnv("KUMIKO_RUNS", "many");
    expect(() => fcOptions(1)).toThrow("KUMIKO_RUNS");
  });
});
