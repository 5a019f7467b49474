import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fcOptions } from "../../test/support/counts.ts";
import { SumLeaf, SumTree } from "./sum-tree.ts";

const MEASURES = 2;

const step = fc.oneof(
  fc.record({ kind: fc.constant("insert" as const), at: fc.nat(), sums: sumsOf() }),
  fc.record({ kind: fc.constant("remove" as const), at: fc.nat() }),
  fc.record({
    kind: fc.constant("add" as const),
    at: fc.nat(),
    measure: fc.nat(MEASURES - 1),
    value: fc.nat(5),
  }),
  fc.record({ kind: fc.constant("touch" as const), at: fc.nat() }),
);

function sumsOf(): fc.Arbitrary<number[]> {
  return fc.array(fc.nat(4), { minLength: MEASURES, maxLength: MEASURES });
}

function leavesOf(tree: SumTree<SumLeaf>): SumLeaf[] {
  const leaves: SumLeaf[] = [];
  for (let leaf: SumLeaf | null = tree.first; leaf !== null; leaf = leaf.next) leaves.push(leaf);
  return leaves;
}

function sumsBefore(leaves: readonly SumLeaf[], index: number): number[] {
  const sums = Array.from({ length: MEASURES }, () => 0);
  for (const leaf of leaves.slice(0, index)) {
    for (let m = 0; m < MEASURES; m++) sums[m]! += leaf.sums[m]!;
  }
  return sums;
}

/** Every branch above the leaves counts its children, is stamped no earlier, and knows them. */
function checkBranches(leaves: readonly SumLeaf[]): void {
  const depths = new Set<number>();
  for (const leaf of leaves) {
    let depth = 0;
    let child: SumLeaf | NonNullable<SumLeaf["parent"]> = leaf;
    for (let parent = leaf.parent; parent !== null; parent = parent.parent) {
      expect(parent.children).toContain(child);
      for (let m = 0; m < MEASURES; m++) {
        expect(parent.sums[m]).toBe(parent.children.reduce((sum, each) => sum + each.sums[m]!, 0));
      }
      expect(parent.stamp).toBeGreaterThanOrEqual(child.stamp);
      child = parent;
      depth++;
    }
    depths.add(depth);
  }
  expect(depths.size).toBe(1);
}

function checkFind(tree: SumTree<SumLeaf>, leaves: readonly SumLeaf[]): void {
  const totals = sumsBefore(leaves, leaves.length);
  for (const [index, leaf] of leaves.entries()) {
    const before = sumsBefore(leaves, index);
    for (let m = 0; m < MEASURES; m++) expect(tree.startOf(leaf, m)).toBe(before[m]);
  }
  for (let measure = 0; measure < MEASURES; measure++) {
    expect(tree.total(measure)).toBe(totals[measure]);
    for (let position = 0; position <= totals[measure]!; position++) {
      for (const leftward of [true, false]) {
        const found = tree.find(measure, position, leftward);
        const index = leaves.findIndex((_, i) => {
          const end = sumsBefore(leaves, i + 1)[measure]!;
          return leftward ? position <= end : position < end;
        });
        const wanted = index === -1 ? leaves.length - 1 : index;
        expect(leaves.indexOf(found)).toBe(wanted);
        expect(tree.before).toEqual(sumsBefore(leaves, wanted));
      }
    }
  }
}

function checkTouched(tree: SumTree<SumLeaf>, leaves: readonly SumLeaf[], stamp: number): void {
  const visited: SumLeaf[] = [];
  const walked = [0, 0];
  tree.walkTouched(
    stamp,
    (leaf) => {
      expect(walked).toEqual(sumsBefore(leaves, leaves.indexOf(leaf)));
      visited.push(leaf);
      for (let m = 0; m < MEASURES; m++) walked[m]! += leaf.sums[m]!;
    },
    (sums) => {
      for (let m = 0; m < MEASURES; m++) walked[m]! += sums[m]!;
    },
  );
  expect(visited).toEqual(leaves.filter((leaf) => leaf.stamp > stamp));
  expect(walked).toEqual(sumsBefore(leaves, leaves.length));
}

describe("SumTree", () => {
  test("keeps sums, stamps, links and depths right while leaves come and go", () => {
    fc.assert(
      fc.property(
        fc.array(sumsOf(), { minLength: 1, maxLength: 30 }),
        fc.integer({ min: 2, max: 6 }),
        fc.array(step, { maxLength: 60, size: "max" }),
        (initial, fanout, steps) => {
          const model = initial.map((sums) => new SumLeaf([...sums]));
          const tree = new SumTree([...model], MEASURES, fanout);
          for (const [stamp, each] of steps.entries()) {
            const index = each.at % model.length;
            const leaf = model[index]!;
            if (each.kind === "insert") {
              const added = new SumLeaf([...each.sums]);
              added.stamp = leaf.stamp;
              tree.insertAfter(leaf, added);
              model.splice(index + 1, 0, added);
            } else if (each.kind === "add") {
              tree.add(leaf, each.measure, each.value);
            } else if (each.kind === "touch") {
              tree.touch(leaf, stamp + 1);
            } else if (model.length > 1) {
              tree.remove(leaf);
              model.splice(index, 1);
            }
          }
          const leaves = leavesOf(tree);
          expect(leaves).toEqual(model);
          for (const [i, leaf] of leaves.entries()) {
            expect(leaf.previous).toBe(leaves[i - 1] ?? null);
          }
          checkBranches(leaves);
          checkFind(tree, leaves);
          for (const stamp of [0, Math.floor(steps.length / 2), steps.length]) {
            checkTouched(tree, leaves, stamp);
          }
        },
      ),
      fcOptions(400),
    );
  });

  test("never loses its last leaf", () => {
    const leaf = new SumLeaf([1, 1]);
    const tree = new SumTree([leaf], MEASURES);
    expect(() => tree.remove(leaf)).toThrow(RangeError);
    expect(() => new SumTree([], MEASURES)).toThrow(RangeError);
    expect(tree.first).toBe(leaf);
  });
});
