import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fcOptions } from "../../../test/support/counts.ts";
import { nastyText } from "../../../test/support/nasty-text.ts";
import { KumikoError } from "../../base/index.ts";
import { unifiedDiff } from "../diff/unified-diff.ts";
import { applyHunks, type LineChange } from "./apply.ts";
import { applyFilePatch, applyPatchToText } from "./apply-file.ts";
import { parsePatch } from "./parse.ts";
import { reverseFilePatch } from "./reverse.ts";
import type { Hunk } from "./types.ts";

function apply(text: string, patch: string, fuzz?: number) {
  return applyPatchToText(text, parsePatch(patch).files[0]!, fuzz === undefined ? {} : { fuzz });
}

function refusal(text: string, patch: string, fuzz?: number): KumikoError {
  try {
    apply(text, patch, fuzz);
  } catch (error) {
    if (error instanceof KumikoError) return error;
    throw error;
  }
  throw new Error("It was accepted.");
}

function changesOrNone(text: string, hunks: readonly Hunk[]): readonly LineChange[] {
  try {
    return applyHunks(text, hunks).changes;
  } catch (error) {
    if (error instanceof KumikoError) return [];
    throw error;
  }
}

function numbered(count: number): string {
  return Array.from({ length: count }, (_, line) => `line ${line + 1}\n`).join("");
}

const names = { oldName: "a/x", newName: "b/x" };

describe("applyHunks", () => {
  test("PATCH-10 our diffs apply to what they were made from, also backwards (PATCH-22)", () => {
    const property = fc.property(
      nastyText,
      nastyText,
      fc.integer({ min: 0, max: 4 }),
      (oldText, newText, context) => {
        // Without context nothing shows that a line without \r is meant among lines that have it: PATCH-17.
        fc.pre(context > 0 || (!/\r/.test(oldText) && !/\r/.test(newText)));
        const patch = unifiedDiff(oldText, newText, { ...names, context });
        fc.pre(patch !== "");
        const file = parsePatch(patch).files[0]!;
        const forward = applyPatchToText(oldText, file);
        expect(forward.text).toBe(newText);
        expect(forward.reports.map(({ offset, fuzz }) => offset + fuzz)).toEqual(
          file.hunks.map(() => 0),
        );
        expect(applyPatchToText(newText, reverseFilePatch(file)).text).toBe(oldText);
      },
    );
    fc.assert(property, fcOptions(5000));
  });

  test("PATCH-10 changes hold only what changes, in lines of the original text", () => {
    const { hunks } = parsePatch(
      "@@ -2,4 +2,5 @@\n line 2\n-line 3\n-line 4\n+line 3\n+new\n+line 4!\n line 5\n",
    ).files[0]!;
    const outcome = applyHunks(numbered(6), hunks);
    expect(outcome.changes).toEqual([{ startLine: 3, endLine: 4, lines: ["new", "line 4!"] }]);
    expect(outcome.finalNewline).toBe(true);
  });

  test("PATCH-10 one hunk that fits nowhere refuses all", () => {
    const patch = "@@ -1 +1 @@\n-line 1\n+one\n@@ -3 +3 @@\n-line three\n+three\n";
    expect(refusal(numbered(4), patch)).toMatchObject({
      code: "patch_rejected",
      facts: { hunk: 2 },
    });
  });

  test("PATCH-11 the strictest comparison that fits anywhere decides", () => {
    const text = "\tif (a) {\nx\n}\nother\nif (a) {\nx\n}\n";
    expect(apply(text, "@@ -1,3 +1,3 @@\n if (a) {\n-x\n+y\n }\n").reports[0]).toEqual({
      hunk: 1,
      requestedLine: 0,
      line: 4,
      offset: 4,
      fuzz: 0,
    });
  });

  test("PATCH-11 trailing, then leading whitespace of context may differ", () => {
    const trailing = apply("a  \n  b\nx\nc\n", "@@ -1,4 +1,4 @@\n a\n   b\n-x\n+y\n c\t\n");
    expect(trailing.text).toBe("a  \n  b\ny\nc\n");
    expect(trailing.reports[0]).toMatchObject({ fuzz: 0, whitespace: true });
    expect(apply("\ta\nx\n", "@@ -1,2 +1,2 @@\n   a\n-x\n+y\n").text).toBe("\ta\ny\n");
    expect(refusal("\ta\nx\n", "@@ -1,2 +1,2 @@\n   a\n-x\n+y\n", 0).code).toBe("patch_rejected");
  });

  test("PATCH-11 context lines at the ends may be dropped up to fuzz, and this is reported", () => {
    const patch =
      "@@ -1,7 +1,7 @@\n line 1\n line 2\n line 3\n-line 4\n+four\n line 5\n line 6\n line 7\n";
    const edited = numbered(7).replace("line 6\n", "six\n").replace("line 7\n", "seven\n");
    expect(apply(edited, patch).reports[0]).toMatchObject({ line: 0, offset: 0, fuzz: 2 });
    expect(apply(edited, patch).text).toBe(edited.replace("line 4", "four"));
    expect(refusal(edited, patch, 1).code).toBe("patch_rejected");
    expect(refusal(edited.replace("line 5", "five"), patch).code).toBe("patch_rejected");
  });

  test("PATCH-11 dropped context may lie outside the text", () => {
    const result = apply(
      "line 3\nline 4\nline 5\n",
      "@@ -2,3 +2,3 @@\n line 2\n line 3\n-line 4\n+four\n",
    );
    expect(result.text).toBe("line 3\nfour\nline 5\n");
    expect(result.reports[0]).toMatchObject({ line: 0, fuzz: 1 });
  });

  test("PATCH-12 a removed line is never taken for another", () => {
    const blanks = "a\n  b  \nc\n";
    for (const removed of ["B", " b", "  b   ", "  b  x", ""]) {
      expect(refusal(blanks, `@@ -1,3 +1,3 @@\n a\n-${removed}\n+new\n c\n`).code).toBe(
        "patch_rejected",
      );
    }
    const wanted = fc.tuple(nastyText, nastyText, nastyText, fc.integer({ min: 0, max: 3 }));
    const property = fc.property(wanted, ([text, from, to, context]) => {
      const patch = unifiedDiff(from, to, { ...names, context });
      fc.pre(patch !== "");
      const { hunks } = parsePatch(patch).files[0]!;
      const lines = text.split("\n");
      const removable = hunks
        .flatMap((hunk) => hunk.lines)
        .filter(({ kind }) => kind === "removed");
      for (const change of changesOrNone(text, hunks)) {
        for (const line of lines.slice(change.startLine, change.endLine)) {
          const stripped = removable.some(
            ({ text: removed }) => removed.trimEnd() === line.trimEnd(),
          );
          expect([line, stripped]).toEqual([line, true]);
        }
      }
    });
    fc.assert(property, fcOptions(10_000));
  });

  test("PATCH-12 trailing whitespace that the patch lost is accepted only with exact context", () => {
    const patch = "@@ -1,3 +1,3 @@\n a\n-  b\n+new\n c\n";
    expect(apply("a\n  b  \nc\n", patch)).toMatchObject({
      text: "a\nnew\nc\n",
      reports: [{ whitespace: true }],
    });
    expect(refusal("a \n  b  \nc\n", patch).code).toBe("patch_rejected");
    expect(refusal("  b  \n", "@@ -1 +1 @@\n-  b\n+new\n").code).toBe("patch_rejected");
    expect(refusal("a\n  b  \nc\n", patch, 0).code).toBe("patch_rejected");
  });

  test("PATCH-13 the stated place wins over others that fit as well", () => {
    const text = "x\ny\n".repeat(5);
    const result = apply(text, "@@ -5,2 +5,2 @@\n-x\n+z\n y\n");
    expect(result.text).toBe("x\ny\nx\ny\nz\ny\nx\ny\nx\ny\n");
    expect(result.reports[0]).toMatchObject({ line: 4, offset: 0 });
  });

  test("PATCH-13 elsewhere the nearest wins, and a tie is refused", () => {
    const text = "x\n1\n2\n3\n4\nx\n6\n";
    expect(apply(text, "@@ -5 +5 @@\n-x\n+z\n").reports[0]).toMatchObject({ line: 5, offset: 1 });
    const tie = refusal("x\n1\nx\n", "@@ -2 +2 @@\n-x\n+z\n");
    expect(tie).toMatchObject({
      code: "ambiguous",
      facts: { candidates: [0, 2], counted_from: 0, hunk: 1 },
    });
  });

  test("PATCH-13 the drift of one hunk is expected of the next", () => {
    const text = `new\n${"x\ny\n".repeat(2)}anchor\n${"x\ny\n".repeat(4)}`;
    const patch = "@@ -5 +5 @@\n-anchor\n+ANCHOR\n@@ -8,2 +8,2 @@\n-x\n+z\n y\n";
    const { reports } = apply(text, patch);
    expect(reports.map(({ line, offset }) => [line, offset])).toEqual([
      [5, 1],
      [8, 1],
    ]);
  });

  test("PATCH-13 with fuzz nearness decides nothing", () => {
    const text = "1\n{\nx\n3\n4\n5\n{\nx\n8\n";
    const hunk = (line: number) => `@@ -${line},4 +${line},4 @@\n before\n {\n-x\n+z\n after\n`;
    expect(refusal(text, hunk(2))).toMatchObject({
      code: "ambiguous",
      facts: { candidates: [0, 5] },
    });
    expect(apply(text, hunk(6)).reports[0]).toMatchObject({ line: 5, offset: 0, fuzz: 1 });
  });

  test("PATCH-13 with all context ignored only the stated place is believed", () => {
    const hunk = (line: number) => `@@ -${line},3 +${line},3 @@\n before\n-x\n+z\n after\n`;
    expect(apply("1\n2\nx\n4\n", hunk(2)).reports[0]).toMatchObject({ line: 1, fuzz: 1 });
    expect(refusal("1\n2\nx\n4\n", hunk(1)).code).toBe("patch_rejected");
  });

  test("PATCH-14 without a number one place must fit; a hint can choose it", () => {
    const text = "function one() {\n  return 1;\n}\nfunction two() {\n  return 1;\n}\n";
    const hunk = "-  return 1;\n+  return 2;\n";
    expect(refusal(text, `@@\n${hunk}`)).toMatchObject({
      code: "ambiguous",
      facts: { candidates: [1, 4] },
    });
    expect(apply(text, `@@ function two() {\n${hunk}`).reports[0]).toMatchObject({
      line: 4,
      requestedLine: null,
    });
    expect(apply(text, `@@ function one()\n${hunk}`).reports[0]).toMatchObject({ line: 1 });
    expect(refusal(text, `@@ function three()\n${hunk}`).code).toBe("ambiguous");
    expect(refusal(text, `@@ function\n${hunk}`).code).toBe("ambiguous");
  });

  test("PATCH-14 a long list of places is cut and says so", () => {
    const { facts } = refusal("x\n".repeat(50), "@@\n-x\n+y\n");
    expect(facts).toMatchObject({ more_candidates: true });
    expect(facts["candidates"]).toHaveLength(20);
  });

  test("PATCH-15 contexts may overlap, changes may not", () => {
    const shared =
      "@@ -1,3 +1,3 @@\n line 1\n-line 2\n+two\n line 3\n@@ -3,3 +3,3 @@\n line 3\n-line 4\n+four\n line 5\n";
    expect(apply(numbered(5), shared).text).toBe("line 1\ntwo\nline 3\nfour\nline 5\n");
    const overlapping =
      "@@ -2,2 +2,1 @@\n-line 2\n-line 3\n+x\n@@ -3,2 +2,1 @@\n-line 3\n-line 4\n+y\n";
    expect(refusal(numbered(5), overlapping)).toMatchObject({
      code: "patch_rejected",
      facts: { hunk: 2, overlaps_line: 2, counted_from: 0 },
    });
    const backwards = "@@ -4 +4 @@\n-line 4\n+four\n@@ -2 +2 @@\n-line 2\n+two\n";
    expect(refusal(numbered(5), backwards)).toMatchObject({ facts: { hunk: 2, overlaps_line: 1 } });
  });

  test("PATCH-16 additions without context go where their number says, or into an empty text", () => {
    expect(apply("a\nb\n", "@@ -1,0 +2 @@\n+new\n").text).toBe("a\nnew\nb\n");
    expect(apply("a\nb\n", "@@ -0,0 +1 @@\n+new\n").text).toBe("new\na\nb\n");
    expect(apply("a\nb\n", "@@ -2,0 +3 @@\n+new\n").text).toBe("a\nb\nnew\n");
    expect(apply("", "@@ @@\n+new\n").text).toBe("new\n");
    expect(refusal("a\nb\n", "@@ @@\n+new\n").code).toBe("patch_rejected");
    expect(refusal("a\nb\n", "@@ -3,0 +4 @@\n+new\n").code).toBe("patch_rejected");
  });

  test("PATCH-17 a CRLF text takes an LF patch and keeps its endings", () => {
    const crlf = (text: string) => text.replaceAll("\n", "\r\n");
    const patch = "@@ -2,3 +2,4 @@\n line 2\n-line 3\n+three\n+more\n line 4\n";
    const result = apply(crlf(numbered(5)), patch);
    expect(result.text).toBe(crlf("line 1\nline 2\nthree\nmore\nline 4\nline 5\n"));
    expect(result.reports[0]).toMatchObject({ lineEnding: true, fuzz: 0 });
    const crlfBody = "@@ -2,3 +2,4 @@\n line 2\r\n-line 3\r\n+three\r\n+more\r\n line 4\r\n";
    expect(apply(numbered(5), crlfBody).text).toBe("line 1\nline 2\nthree\nmore\nline 4\nline 5\n");
    expect(apply("a\r\nb\r\n", "@@ -1,0 +2 @@\n+new\n").text).toBe("a\r\nnew\r\nb\r\n");
  });

  test("PATCH-17 a patch that changes endings means it", () => {
    expect(apply("a\nb\n", "@@ -1,2 +1,2 @@\n-a\n+a\r\n b\n").text).toBe("a\r\nb\n");
    expect(apply("a\r\nb\r\n", "@@ -1,2 +1,2 @@\n-a\r\n+a\n b\r\n").text).toBe("a\nb\r\n");
  });

  test("PATCH-17 in a mixed text added lines end like the lines around", () => {
    const text = "1\n2\n3\na\r\nb\r\nc\r\n";
    expect(apply(text, "@@ -4,3 +4,3 @@\n a\n-b\n+B\n c\n").text).toBe("1\n2\n3\na\r\nB\r\nc\r\n");
    expect(apply(text, "@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n").text).toBe(
      "1\ntwo\n3\na\r\nb\r\nc\r\n",
    );
  });

  test("PATCH-17 the last line of a CRLF text without final newline", () => {
    const marker = "\\ No newline at end of file\n";
    expect(apply("a\r\nb", `@@ -1,2 +1,2 @@\n a\n-b\n${marker}+c\n${marker}`).text).toBe("a\r\nc");
    expect(apply("a\r\nb", `@@ -1,2 +1,2 @@\n a\n-b\n${marker}+b\n`).text).toBe("a\r\nb\r\n");
    expect(apply("a\r\nb", "@@ -1,2 +1,3 @@\n a\n b\n+c\n").text).toBe("a\r\nb\r\nc");
    expect(apply("a\r\nb\r\n", `@@ -1,2 +1,2 @@\n a\n-b\n+b\n${marker}`).text).toBe("a\r\nb");
  });

  test("PATCH-18 markers add and remove the final newline; without them it stays", () => {
    const marker = "\\ No newline at end of file\n";
    expect(apply("a\nb", `@@ -1,2 +1,2 @@\n a\n-b\n${marker}+c\n`).text).toBe("a\nc\n");
    expect(apply("a\nb\n", `@@ -1,2 +1,2 @@\n a\n-b\n+c\n${marker}`).text).toBe("a\nc");
    expect(apply("a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n").text).toBe("a\nc");
    expect(apply("a\nb", "@@ -1,2 +1,3 @@\n a\n b\n+c\n").text).toBe("a\nb\nc");
    expect(apply("a\nb", "@@ -1,2 +1,2 @@\n-a\n+c\n b\n").text).toBe("c\nb");
    expect(apply("", `@@ -0,0 +1 @@\n+a\n${marker}`).text).toBe("a");
    expect(apply("a\nb", `@@ -1,2 +1 @@\n a\n-b\n${marker}`).text).toBe("a\n");
    expect(apply("a", `@@ -1 +0,0 @@\n-a\n${marker}`).text).toBe("");
  });

  test("PATCH-18 a hunk with a marker fits only at the end", () => {
    const marker = "\\ No newline at end of file\n";
    const text = "x\ny\nx\ny";
    expect(apply(text, `@@ -1,2 +1,2 @@\n x\n-y\n${marker}+z\n${marker}`).text).toBe("x\ny\nx\nz");
    expect(refusal("x\ny\nend\n", `@@ -1,2 +1,2 @@\n x\n-y\n${marker}+z\n`).code).toBe(
      "patch_rejected",
    );
  });

  test("PATCH-19 creation takes any numbers, and nothing but added lines", () => {
    const created = (hunks: string): string =>
      applyPatchToText("", parsePatch(`--- /dev/null\n+++ b/x\n${hunks}`).files[0]!).text;
    for (const header of ["@@ -0,0 +1 @@", "@@ -1,0 +1 @@", "@@ -1 +1 @@", "@@ -7,0 +8 @@", "@@"])
      expect(created(`${header}\n+a\n`)).toBe("a\n");
    expect(created("@@ -0,0 +1 @@\n+a\n@@ -1,0 +2 @@\n+b\n")).toBe("a\nb\n");
    for (const lines of ["+a\n\n+b\n", "+a\n b\n", " a\n b\n", "-a\n+b\n"])
      expect(() => created(`@@ -0,0 +1 @@\n+a\n@@ -1,0 +2,9 @@\n${lines}`)).toThrow(
        expect.objectContaining({
          code: "patch_rejected",
          message: expect.stringContaining("line of hunk 2 begins with +"),
        }),
      );
  });

  test("PATCH-19 creation needs an empty text, deletion the whole one", () => {
    const create = parsePatch("--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n").files[0]!;
    expect(applyPatchToText("", create).text).toBe("a\n");
    expect(() => applyFilePatch("b\n", create)).toThrow(
      expect.objectContaining({ code: "patch_rejected" }),
    );
    const remove = parsePatch("--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n").files[0]!;
    expect(applyPatchToText("a\n", remove).text).toBe("");
    expect(() => applyFilePatch("a\nb\n", remove)).toThrow(
      expect.objectContaining({
        code: "patch_rejected",
        facts: expect.objectContaining({ lines_left: 1 }),
      }),
    );
    expect(() => applyFilePatch("c\n", remove)).toThrow(
      expect.objectContaining({ code: "patch_rejected" }),
    );
  });

  test("PATCH-20 a rejected hunk shows the closest place and what differs", () => {
    const text = "const a = 1;\nconst total = price * count;\nconst c = 3;\n";
    const patch =
      "@@ -7,3 +7,3 @@\n const a = 1;\n-const total = price * amount;\n+const total = 0;\n const c = 3;\n";
    const error = refusal(text, patch);
    expect(error.code).toBe("patch_rejected");
    expect(error.message).toContain("line 1 (counting from 1)");
    expect(error.message).toContain('removes "const total = price * amount;"');
    expect(error.facts).toMatchObject({
      hunk: 1,
      requested_line: 6,
      counted_from: 0,
      wanted: ["const a = 1;", "const total = price * amount;", "const c = 3;"],
      closest: { line: 0, text: text.trimEnd() },
    });
    expect(
      refusal("completely\ndifferent\n", "@@ -1 +1 @@\n-§§§§\n+x\n").facts["closest"],
    ).toBeNull();
    expect(
      refusal("return totalPrice;\n", "@@\n-return totalPrise;\n+x\n").facts["closest"],
    ).toMatchObject({ line: 0 });
  });

  test("PATCH-20 a patch that is already applied is recognised", () => {
    const error = refusal("a\nnew\nc\n", "@@ -1,3 +1,3 @@\n a\n-old\n+new\n c\n");
    expect(error).toMatchObject({ code: "patch_rejected", facts: { already_applied: true } });
  });

  test("PATCH-21 fuzz must be a number of lines", () => {
    for (const fuzz of [-1, 0.5, 101]) {
      expect(() => applyHunks("a", [], { fuzz })).toThrow(
        expect.objectContaining({ code: "invalid_argument" }),
      );
    }
  });
});
