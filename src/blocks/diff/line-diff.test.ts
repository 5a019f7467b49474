import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fcOptions } from "../../../test/support/counts.ts";
import { Random } from "../../base/index.ts";
import { Effort } from "./effort.ts";
import { diffLines, type LineDiff } from "./line-diff.ts";

function rebuilt(
  oldLines: readonly string[],
  newLines: readonly string[],
  diff: LineDiff,
): string[] {
  const out: string[] = [];
  let at = 0;
  for (const range of diff.ranges) {
    out.push(...oldLines.slice(at, range.oldStart));
    expect(out.length).toBe(range.newStart);
    out.push(...newLines.slice(range.newStart, range.newEnd));
    at = range.oldEnd;
  }
  return [...out, ...oldLines.slice(at)];
}

function changedLines(diff: LineDiff): number {
  let count = 0;
  for (const range of diff.ranges) {
    count += range.oldEnd - range.oldStart + range.newEnd - range.newStart;
  }
  return count;
}

/** The length of the shortest edit, by the textbook. */
function shortestEdit(oldLines: readonly string[], newLines: readonly string[]): number {
  let row = Array.from({ length: newLines.length + 1 }, () => 0);
  for (const oldLine of oldLines) {
    const next = [0];
    for (const [at, newLine] of newLines.entries()) {
      next.push(oldLine === newLine ? row[at]! + 1 : Math.max(row[at + 1]!, next[at]!));
    }
    row = next;
  }
  return oldLines.length + newLines.length - 2 * row[newLines.length]!;
}

const fewDistinct = fc.array(fc.constantFrom("a", "b", "c", "d", ""), { maxLength: 40 });
const manyDistinct = fc.array(fc.integer({ max: 60, min: 0 }).map(String), { maxLength: 60 });

describe("diffLines", () => {
  test("DIFF-1 the ranges turn the old lines into the new ones", () => {
    for (const lines of [fewDistinct, manyDistinct]) {
      const property = fc.property(lines, lines, (oldLines, newLines) => {
        const diff = diffLines(oldLines, newLines);
        expect(rebuilt(oldLines, newLines, diff)).toEqual(newLines);
        for (const range of diff.ranges) {
          expect(range.oldEnd - range.oldStart + range.newEnd - range.newStart).toBeGreaterThan(0);
        }
      });
      fc.assert(property, fcOptions(2000));
    }
  });

  test("DIFF-1 equal texts have no ranges, and numbers are lines too", () => {
    expect(diffLines(["a", "b"], ["a", "b"])).toEqual({ ranges: [], coarse: false });
    expect(diffLines([1, 2, 3], [1, 3]).ranges).toEqual([
      { oldStart: 1, oldEnd: 2, newStart: 1, newEnd: 1 },
    ]);
  });

  test("DIFF-2 without lines that stand once on both sides the diff is the shortest", () => {
    const lines = fewDistinct.map((list) => list.flatMap((line) => [line, line]));
    const property = fc.property(lines, lines, (oldLines, newLines) => {
      const once = (line: string, list: string[]) => list.indexOf(line) === list.lastIndexOf(line);
      fc.pre(
        !oldLines.some(
          (line) => newLines.includes(line) && once(line, oldLines) && once(line, newLines),
        ),
      );
      const diff = diffLines(oldLines, newLines);
      expect(diff.coarse).toBe(false);
      // Trimming may make a line unique that was not, so the bound is not tight for every input.
      expect(changedLines(diff)).toBeLessThanOrEqual(shortestEdit(oldLines, newLines) + 4);
    });
    fc.assert(property, fcOptions(500));
  });

  test("DIFF-2 a moved function does not tear its neighbour apart", () => {
    const oldLines = ["f() {", "  one", "}", "", "g() {", "  two", "}", ""];
    const newLines = ["g() {", "  two", "}", "", "f() {", "  one", "}", ""];
    const diff = diffLines(oldLines, newLines);
    expect(rebuilt(oldLines, newLines, diff)).toEqual(newLines);
    expect(changedLines(diff)).toBe(8);
  });

  test("DIFF-3 without more effort the diff is coarse and still correct", () => {
    const property = fc.property(
      fewDistinct,
      fewDistinct,
      fc.nat(200),
      (oldLines, newLines, steps) => {
        const effort = new Effort(steps);
        const diff = diffLines(oldLines, newLines, effort);
        expect(rebuilt(oldLines, newLines, diff)).toEqual(newLines);
        if (effort.left > 0) expect(diff).toEqual(diffLines(oldLines, newLines));
      },
    );
    fc.assert(property, fcOptions(500));
    const diff = diffLines(["a", "x", "b", "y"], ["c", "x", "d", "z"], new Effort(0));
    expect(diff).toEqual({
      ranges: [{ oldStart: 0, oldEnd: 4, newStart: 0, newEnd: 4 }],
      coarse: true,
    });
  });

  test("DIFF-3 lines that stand once on each side are matched whatever the effort", () => {
    const lines = Array.from({ length: 100_000 }, (_, at) => `line ${at}`);
    const changed = lines.map((line, at) => (at % 100 === 0 ? `${line}!` : line));
    const diff = diffLines(lines, changed, new Effort(1));
    expect([diff.ranges.length, changedLines(diff)]).toEqual([1000, 2000]);
  });

  // A million lines beside two thousand took twenty seconds, with next to no comparisons.
  test("DIFF-3 what is much longer than the other is cut into windows, too", () => {
    const random = new Random(7);
    const lines = (count: number) => Array.from({ length: count }, () => `line ${random.below(2)}`);
    const [oldLines, newLines] = [lines(300), lines(60_000)];
    const diff = diffLines(oldLines, newLines);
    expect(rebuilt(oldLines, newLines, diff)).toEqual(newLines);
    expect(diff.coarse).toBe(true);
  });

  test("DIFF-3 says what was spent, also of what cannot be stopped", () => {
    const effort = new Effort(1);
    diffLines(["a", "b"], ["c", "b", "d"], effort);
    expect(effort.spent).toBeGreaterThan(1);
    expect(effort.left).toBe(0);
  });

  test("DIFF-3 inputs that are hard for Myers stay correct and are cut into windows", () => {
    const random = new Random(7);
    const lines = () => Array.from({ length: 6000 }, () => `line ${random.below(40)}`);
    const [oldLines, newLines] = [lines(), lines()];
    const diff = diffLines(oldLines, newLines);
    expect(rebuilt(oldLines, newLines, diff)).toEqual(newLines);
    expect(diff.coarse).toBe(true);
    expect(changedLines(diff)).toBeLessThan(11_000);
  });
});
