import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fcOptions } from "../../../test/support/counts.ts";
import { Random } from "../../base/index.ts";
import { quoteName, unquoteName } from "./quoted-name.ts";
import { measuredUnifiedDiff, unifiedDiff } from "./unified-diff.ts";

const names = { oldName: "a/x", newName: "b/x" };

function body(oldText: string, newText: string, context = 3): string[] {
  return unifiedDiff(oldText, newText, { ...names, context })
    .split("\n")
    .slice(2, -1);
}

describe("unifiedDiff", () => {
  test("DIFF-4 equal texts give the empty string", () => {
    expect(unifiedDiff("a\n", "a\n", names)).toBe("");
    expect(unifiedDiff("", "", names)).toBe("");
  });

  test("DIFF-4 starts and counts are those of GNU diff", () => {
    expect(body("a\nb\nc\n", "a\nB\nc\n", 0)).toEqual(["@@ -2 +2 @@", "-b", "+B"]);
    expect(body("a\nc\n", "a\nb\nc\n", 0)).toEqual(["@@ -1,0 +2 @@", "+b"]);
    expect(body("a\nb\nc\n", "a\nc\n", 0)).toEqual(["@@ -2 +1,0 @@", "-b"]);
    expect(body("", "a\nb\n")).toEqual(["@@ -0,0 +1,2 @@", "+a", "+b"]);
    expect(body("a\n", "")).toEqual(["@@ -1 +0,0 @@", "-a"]);
  });

  test("DIFF-4 a missing final newline is marked on the side that lacks it", () => {
    const marker = "\\ No newline at end of file";
    expect(body("a", "a\n")).toEqual(["@@ -1 +1 @@", "-a", marker, "+a"]);
    expect(body("a\n", "a")).toEqual(["@@ -1 +1 @@", "-a", "+a", marker]);
    expect(body("a\nb", "c\nb")).toEqual(["@@ -1,2 +1,2 @@", "-a", "+c", " b", marker]);
  });

  test("DIFF-4 changes whose contexts touch share a hunk", () => {
    const text = (...changed: number[]) =>
      Array.from(
        { length: 20 },
        (_, line) => `${changed.includes(line) ? "new" : "old"} ${line}\n`,
      ).join("");
    const hunks = (...changed: number[]) =>
      body(text(), text(...changed)).filter((line) => line.startsWith("@@"));
    expect(hunks(3, 10)).toEqual(["@@ -1,14 +1,14 @@"]);
    expect(hunks(3, 11)).toEqual(["@@ -1,7 +1,7 @@", "@@ -9,7 +9,7 @@"]);
  });

  test("DIFF-5 names are quoted as git quotes them", () => {
    expect(quoteName("a/plain.txt")).toBe("a/plain.txt");
    expect(quoteName("a/two words")).toBe("a/two words\t");
    expect(quoteName('a/say "hi"\t\\')).toBe('"a/say \\"hi\\"\\t\\\\"');
    expect(quoteName("a/bell\u0007\u0001")).toBe('"a/bell\\a\\001"');
    expect(quoteName("a/żółw.txt")).toBe("a/żółw.txt");
    expect(unquoteName('"a/\\305\\274.txt" rest')).toEqual({ name: "a/ż.txt", rest: " rest" });
    expect(unifiedDiff("", "a\n", { oldName: null, newName: "b/x" })).toContain(
      "--- /dev/null\n+++ b/x\n",
    );
  });

  test("DIFF-5 a quoted name reads back", () => {
    const property = fc.property(fc.string({ unit: "binary" }), (name) => {
      const quoted = quoteName(`"${name}`);
      expect(unquoteName(quoted)).toEqual({ name: `"${name}`, rest: "" });
    });
    fc.assert(property, fcOptions(2000));
  });

  test("DIFF-3 says when it is coarse; DIFF-4 refuses a context that is no number of lines", () => {
    const random = new Random(7);
    const text = () => Array.from({ length: 6000 }, () => `line ${random.below(40)}\n`).join("");
    expect(measuredUnifiedDiff(text(), text(), names).coarse).toBe(true);
    expect(measuredUnifiedDiff("a\nx\nb\n", "c\nx\nd\n", names).coarse).toBe(false);
    for (const context of [-1, 1.5, Number.NaN]) {
      expect(() => unifiedDiff("a", "b", { ...names, context })).toThrow(
        expect.objectContaining({ code: "invalid_argument" }),
      );
    }
  });
});
