import { describe, expect, test } from "vitest";
import { scaled, seed } from "../../test/support/counts.ts";
import { spliced } from "../../test/support/spliced.ts";
import { threeTexts } from "../../test/support/three-texts.ts";
import { Random } from "../base/index.ts";
import { splitText } from "../blocks/index.ts";
import { type MergeConflict, type MergeRule, mergeTexts } from "./merge.ts";
import { type ConflictChoice, resolveConflict } from "./resolve-conflict.ts";

function rule(stands: MergeRule["stands"]): MergeRule {
  return { stands, keepsAppended: false };
}

function only(base: string, memory: string, disk: string, stands: MergeRule["stands"] = "disk") {
  const { text, conflicts } = mergeTexts({ base, memory, disk }, rule(stands));
  expect(conflicts).toHaveLength(1);
  return { text, conflict: conflicts[0]! };
}

function resolved(conflict: MergeConflict, text: string, choice: ConflictChoice): string {
  const splices = resolveConflict(conflict, text, choice);
  return splices === "moved" ? splices : spliced(text, splices);
}

describe("a conflict is resolved", () => {
  const { text, conflict } = only("a\nb\nc\n", "a\nm\nc\n", "a\nd\nc\n");

  test("by what was chosen", () => {
    expect(resolved(conflict, text, "disk")).toBe("a\nd\nc\n");
    expect(resolved(conflict, text, "memory")).toBe("a\nm\nc\n");
    expect(resolved(conflict, text, "both")).toBe("a\nd\nm\nc\n");
    expect(resolved(conflict, text, { text: "x\ny" })).toBe("a\nx\ny\nc\n");
    expect(resolved(conflict, text, { text: "\n" })).toBe("a\n\nc\n");
    expect(resolved(conflict, text, { text: "" })).toBe("a\nc\n");
    expect(resolveConflict(conflict, text, "disk")).toEqual([]);
  });

  test("when it was kept as JSON", () => {
    const waits = only("a\nb\n", "a\nm\n", "a\nd\n", "nobody");
    const kept = JSON.parse(JSON.stringify(waits.conflict)) as MergeConflict;
    expect(kept).toEqual(waits.conflict);
    expect(resolved(kept, waits.text, "disk")).toBe("a\nd\n");
    expect(resolved(kept, waits.text, "memory")).toBe("a\nm\n");
  });

  test("where it is now", () => {
    expect(resolved(conflict, "new\nlines\na\nd\nc\nmore\n", "memory")).toBe(
      "new\nlines\na\nm\nc\nmore\n",
    );
    expect(resolved(conflict, "other\nd\nthings\n", "memory")).toBe("other\nm\nthings\n");
    expect(resolved(conflict, "d\nz\na\nd\nc\n", "memory")).toBe("d\nz\na\nm\nc\n");
  });

  test("not where it might be another", () => {
    expect(resolved(conflict, "a\nD\nc\n", "memory")).toBe("moved");
    expect(resolved(conflict, "", "memory")).toBe("moved");
    expect(resolved(conflict, "z\nd\nz\nd\nz\n", "memory")).toBe("moved");
    const brace = only("f\nb\ng\n", "f\nm\ng\n", "f\n}\ng\n");
    expect(resolved(brace.conflict, "new\nf\n}\ng\n", "memory")).toBe("new\nf\nm\ng\n");
    expect(resolved(brace.conflict, "f\nnew\n}\nother\n", "memory")).toBe("moved");
  });

  test("where lines were removed, between those that were around them", () => {
    const removed = only("a\nb\nc\n", "a\nm\nc\n", "a\nc\n");
    expect(resolved(removed.conflict, removed.text, "memory")).toBe("a\nm\nc\n");
    expect(resolved(removed.conflict, "new\na\nc\n", "memory")).toBe("new\na\nm\nc\n");
    expect(resolved(removed.conflict, "a\nnew\nc\n", "memory")).toBe("moved");
  });

  test("at the end, which keeps its newline or its lack of one", () => {
    const last = only("a\nb", "a\nm", "a\nd");
    expect(resolved(last.conflict, last.text, "both")).toBe("a\nd\nm");
    expect(resolved(last.conflict, last.text, { text: "" })).toBe("a");
    const all = only("b\n", "m\n", "");
    expect([all.text, resolved(all.conflict, all.text, "memory")]).toEqual(["", "m\n"]);
  });
});

test("to choose the other side everywhere gives what it would have given to stand", () => {
  const random = new Random(seed());
  let moved = 0;
  let count = 0;
  for (let run = 0; run < scaled(10_000); run++) {
    const texts = threeTexts(random, { common: 0, changed: 40, shared: 20, ragged: false });
    const disk = mergeTexts(texts, rule("disk"));
    const memory = mergeTexts(texts, rule("memory"));
    let { text } = disk;
    let isWhole = true;
    for (const conflict of disk.conflicts) {
      count++;
      const splices = resolveConflict(conflict, text, "memory");
      if (splices === "moved") {
        moved++;
        isWhole = false;
      } else text = spliced(text, splices);
    }
    if (isWhole) expect(text, JSON.stringify(texts)).toBe(memory.text);
  }
  // What says nothing by itself is not found when a neighbour was resolved before it.
  expect(count).toBeGreaterThan(500);
  expect(moved / count).toBeLessThan(0.05);
});

test("a place is found again in a text that others changed elsewhere, or is said to have moved", () => {
  const random = new Random(seed());
  let found = 0;
  for (let run = 0; run < scaled(10_000); run++) {
    const texts = threeTexts(random, { common: 30, changed: 30, shared: 0, ragged: true });
    const { text, conflicts } = mergeTexts(texts, rule("disk"));
    const [conflict] = conflicts;
    if (conflict === undefined) continue;
    const lines = [...splitText(text).lines];
    const { start, end } = conflict.at;
    const far = random.below(start + 1);
    lines.splice(end + random.below(lines.length - end + 1), 0, "behind1", "behind2");
    lines.splice(far, 0, "before1");
    const splices = resolveConflict(conflict, lines.join("\n"), { text: "here" });
    if (splices === "moved") continue;
    found++;
    const expected = lines.toSpliced(start + 1, end - start, "here");
    expect(spliced(lines.join("\n"), splices), JSON.stringify(texts)).toBe(expected.join("\n"));
  }
  expect(found).toBeGreaterThan(scaled(10_000) / 3);
});
