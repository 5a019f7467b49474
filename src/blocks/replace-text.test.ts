import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyText } from "../../test/support/arbitrary-text.ts";
import { fcOptions } from "../../test/support/counts.ts";
import { edited, loaded, refusal } from "../../test/support/edited-documents.ts";
import { translateReplace } from "./replace-text.ts";

describe("translateReplace", () => {
  test("EDIT-8: a unique text is replaced, and only what differs is touched", () => {
    using document = loaded("foo(a);\nbar(b);\n");
    const splices = translateReplace(document, { find: { old: "foo(a)", new: "foo(c)" } });
    expect(splices).toEqual([{ at: 4, remove: 1, insert: "c" }]);
  });

  test("EDIT-8: first, n-th and all", () => {
    const replaced = (occurrence: "first" | "all" | number): string => {
      using document = loaded("x y x y x");
      edited(document, translateReplace(document, { find: { old: "x", new: "zz" }, occurrence }));
      return document.read();
    };
    expect(replaced("first")).toBe("zz y x y x");
    expect(replaced(2)).toBe("x y zz y x");
    expect(replaced("all")).toBe("zz y zz y zz");
  });

  test("EDIT-8: an ambiguous text lists its lines", () => {
    using document = loaded("a\nb\na\n");
    const error = refusal(document, () =>
      translateReplace(document, { find: { old: "a", new: "c" } }),
    );
    expect(error.code).toBe("ambiguous");
    expect(error.facts).toMatchObject({ matches: 2, lines: [0, 2], counted_from: 0 });
  });

  test("EDIT-8: an absent text shows the closest", () => {
    using document = loaded("one\nconst value = compute(1);\nthree\n");
    const find = { old: "const value = compute(2);", new: "" };
    const error = refusal(document, () => translateReplace(document, { find }));
    expect(error.code).toBe("not_found");
    expect(error.facts["closest"]).toMatchObject({ line: 1, text: "const value = compute(1);" });
  });

  test("EDIT-8: an occurrence that is not there, and an empty text, are refused", () => {
    using document = loaded("a a");
    const find = { old: "a", new: "b" };
    const third = refusal(document, () => translateReplace(document, { find, occurrence: 3 }));
    expect(third.code).toBe("out_of_range");
    expect(third.facts).toMatchObject({ minimum: 1, maximum: 2 });
    const empty = refusal(document, () =>
      translateReplace(document, { find: { old: "", new: "b" } }),
    );
    expect(empty.code).toBe("invalid_argument");
  });

  test("EDIT-8: ranges found by the caller are replaced, each with its own text", () => {
    using document = loaded("k1=v1,k2=v2");
    const matches = [
      { start: 0, end: 5, insert: "v1=k1" },
      { start: 6, end: 11, insert: "v2=k2" },
    ];
    edited(document, translateReplace(document, { find: { matches }, occurrence: "all" }));
    expect(document.read()).toBe("v1=k1,v2=k2");
  });

  test("EDIT-10: CRLF in old gives what LF gives, where the text has no return", () => {
    const crlf = (text: string): string => text.replaceAll("\n", "\r\n");
    const plain = anyText().map((text) => text.replaceAll("\r", ""));
    fc.assert(
      fc.property(plain, plain, fc.nat(), fc.nat(9), (text, by, from, length) => {
        const chars = [...text];
        const start = from % (chars.length + 1);
        const old = chars.slice(start, start + length).join("");
        fc.pre(old.includes("\n"));
        using document = loaded(text);
        const replaced = (find: { old: string; new: string }) =>
          translateReplace(document, { find, occurrence: "all" });
        expect(replaced({ old: crlf(old), new: crlf(by) })).toEqual(replaced({ old, new: by }));
      }),
      fcOptions(1000),
    );
  });

  test("EDIT-10: a return at the end of old is the line end behind it", () => {
    using document = loaded("ones\none\ntwo\none");
    for (const by of ["1", "1\r"]) {
      const splices = translateReplace(document, { find: { old: "one\r", new: by } });
      expect(splices).toEqual([{ at: 5, remove: 3, insert: "1" }]);
    }
    const alone = refusal(document, () =>
      translateReplace(document, { find: { old: "\r", new: "" } }),
    );
    expect(alone.code).toBe("not_found");
  });

  test("EDIT-10: where the text has a return, one in old is text", () => {
    using document = loaded("one\ntwo\r\n");
    const error = refusal(document, () =>
      translateReplace(document, { find: { old: "one\r\n", new: "1\r\n" } }),
    );
    expect(error.code).toBe("not_found");
    edited(document, translateReplace(document, { find: { old: "two\r\n", new: "2\r\n" } }));
    expect(document.read()).toBe("one\n2\r\n");
  });

  test("BASE-1: matches of a past version are carried to the current text", () => {
    using document = loaded("x = 1\ny = 1\n");
    edited(document, [{ at: 0, remove: 0, insert: "# 1\n" }]);
    const find = { old: "1", new: "2" };
    edited(document, translateReplace(document, { find, occurrence: "all", base: 1 }));
    expect(document.read()).toBe("# 1\nx = 2\ny = 2\n");
  });

  test("BASE-4: a match that changed since is a conflict", () => {
    using document = loaded("value = 10\n");
    edited(document, [{ at: 9, remove: 0, insert: "5" }], "ben");
    const find = { old: "10", new: "20" };
    const error = refusal(document, () => translateReplace(document, { find, base: 1 }));
    expect(error.code).toBe("conflict");
    expect(error.facts).toMatchObject({
      expected: "10",
      actual: "150",
      version: 2,
      base_version: 1,
    });
    expect(error.facts["changed_by"]).toMatchObject([{ actor: "ben" }]);
  });
});
