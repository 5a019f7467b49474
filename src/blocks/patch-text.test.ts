import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fcOptions } from "../../test/support/counts.ts";
import { edited, loaded, refusal } from "../../test/support/edited-documents.ts";
import { nastyText } from "../../test/support/nasty-text.ts";
import { unifiedDiff } from "./diff/unified-diff.ts";
import { parsePatch } from "./patch/parse.ts";
import type { FilePatch } from "./patch/types.ts";
import { translatePatch } from "./patch-text.ts";

const names = { oldName: "a/file", newName: "b/file" };

function patchOf(from: string, to: string, context = 3): FilePatch {
  return parsePatch(unifiedDiff(from, to, { ...names, context })).files[0]!;
}

describe("translatePatch", () => {
  test("PATCH: the diff of two texts makes the one into the other, whatever their last newline", () => {
    const property = fc.property(
      nastyText,
      nastyText,
      fc.integer({ min: 0, max: 3 }),
      (from, to, context) => {
        fc.pre(from !== to);
        // Known limit: a patch without context does not show whether a text of CRLF lines is meant as such.
        fc.pre(context > 0 || !/\r(\n|$)/.test(from));
        using document = loaded(from);
        edited(document, translatePatch(document, patchOf(from, to, context)).splices);
        expect(document.read()).toBe(to);
      },
    );
    fc.assert(property, fcOptions(10_000));
  });

  test("BASE-1: a patch of a past version merges with what was added around it", () => {
    const property = fc.property(nastyText, nastyText, (from, to) => {
      fc.pre(from !== to && from !== "");
      using document = loaded(from);
      edited(document, [{ at: 0, remove: 0, insert: "first\n" }]);
      const { splices } = translatePatch(document, patchOf(from, to), { base: 1 });
      edited(document, splices);
      expect(document.read()).toBe(`first\n${to}`);
    });
    fc.assert(property, fcOptions(2_000));
  });

  test("BASE-2: a patched line that changed since is a conflict, context that changed is not", () => {
    const patch = patchOf("a\nb\nc\n", "a\nB\nc\n");
    using near = loaded("a\nb\nc\n");
    edited(near, [{ at: 0, remove: 1, insert: "A" }]);
    edited(near, translatePatch(near, patch, { base: 1 }).splices);
    expect(near.read()).toBe("A\nB\nc\n");
    using same = loaded("a\nb\nc\n");
    edited(same, [{ at: 2, remove: 1, insert: "x" }], "ben");
    const error = refusal(same, () => translatePatch(same, patch, { base: 1 }));
    expect(error.code).toBe("conflict");
    expect(error.facts["changed_by"]).toMatchObject([{ actor: "ben" }]);
  });

  test("PATCH: translating is a dry run that reports offset and fuzz", () => {
    using document = loaded("new\na\nb\nc\n");
    const { reports } = translatePatch(document, patchOf("a\nb\nc\n", "a\nB\nc\n"));
    expect(reports).toMatchObject([{ hunk: 1, line: 1, offset: 1, fuzz: 0 }]);
    expect(document.read()).toBe("new\na\nb\nc\n");
  });
});

test("BASE-2: a last line without newline is changed before what was appended behind it", () => {
  using document = loaded("a\nb");
  edited(document, [{ at: 3, remove: 0, insert: "\nc" }], "ben");
  edited(document, translatePatch(document, patchOf("a\nb", "a\nbx"), { base: 1 }).splices);
  expect(document.read()).toBe("a\nbx\nc");
});
