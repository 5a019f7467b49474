import { expect, test } from "vitest";
import { patchedFiles } from "./codex-patch.ts";

const patch = (...lines: string[]): string =>
  ["*** Begin Patch", ...lines, "*** End Patch", ""].join("\n");

test("what a patch says of each of its files is announced, in the order it says it", () => {
  const files = patchedFiles(
    patch(
      "*** Add File: new.txt",
      "+first",
      "+",
      "*** Delete File: old.txt",
      "*** Update File: src/a.ts",
      "@@ function a() {",
      " before",
      "-two",
      "+TWO",
      "@@",
      "-four",
      "*** End of File",
      "*** Update File: b.ts",
      "*** Move to: c.ts",
      "-one",
      "+ONE",
    ),
  );
  expect(files).toEqual([
    { path: "new.txt", announced: { content: "first\n\n" } },
    {
      path: "src/a.ts",
      announced: {
        edits: [
          { old: "before\ntwo\n", new: "before\nTWO\n" },
          { old: "four\n", new: "" },
        ],
      },
    },
    { path: "c.ts", announced: { edits: [{ old: "one\n", new: "ONE\n" }] } },
  ]);
});

test("lines that are added to nothing are known by themselves", () => {
  const [file] = patchedFiles(
    patch("*** Update File: a.ts", "@@", "+x", "+", "+x", "@@", " y", "+z"),
  );
  expect(file).toEqual({ path: "a.ts", announced: { holds: ["x", "z"] } });
});

test("line ends of another system are none of the text", () => {
  const text = patch("*** Update File: a.ts", "-one", "+two").replaceAll("\n", "\r\n");
  expect(patchedFiles(text)).toEqual([
    { path: "a.ts", announced: { edits: [{ old: "one\n", new: "two\n" }] } },
  ]);
});

test("what is no patch is about no file", () => {
  for (const text of ["", "hello", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-one\n+two\n"])
    expect(patchedFiles(text)).toEqual([]);
});
