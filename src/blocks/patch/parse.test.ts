import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fcOptions } from "../../../test/support/counts.ts";
import { KumikoError } from "../../base/index.ts";
import { applyPatchToText } from "./apply-file.ts";
import { parsePatch } from "./parse.ts";
import { reverseFilePatch } from "./reverse.ts";
import type { FilePatch } from "./types.ts";

function only(text: string, strip?: number): FilePatch {
  const { files } = parsePatch(text, strip === undefined ? {} : { strip });
  expect(files).toHaveLength(1);
  return files[0]!;
}

function bodies(file: FilePatch): string[][] {
  const prefix = { context: " ", removed: "-", added: "+" };
  return file.hunks.map((hunk) => hunk.lines.map((line) => prefix[line.kind] + line.text));
}

function refusal(text: string): KumikoError {
  try {
    parsePatch(text);
  } catch (error) {
    if (error instanceof KumikoError) return error;
    throw error;
  }
  throw new Error("It was accepted.");
}

const change = "@@ -1 +1 @@\n-a\n+b\n";

describe("parsePatch", () => {
  test("PATCH-1 a git diff of a rename with changes, modes and index lines", () => {
    const file = only(
      `diff --git a/old name.txt b/new.txt\nold mode 100644\nnew mode 100755\nsimilarity index 80%\nrename from old name.txt\nrename to new.txt\nindex 123..456\n--- a/old name.txt\t\n+++ b/new.txt\n${change}`,
    );
    expect(file).toMatchObject({
      kind: "rename",
      oldPath: "old name.txt",
      newPath: "new.txt",
      newMode: "100755",
    });
    expect(file.notes).toEqual(["File mode 100644 becomes 100755."]);
  });

  test("PATCH-1 git sections without hunks: rename, mode, empty file made and removed", () => {
    const { files } = parsePatch(
      "diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n" +
        "diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n" +
        "diff --git a/my file b/my file\nnew file mode 100644\nindex 0000000..e69de29\n" +
        'diff --git "a/\\305\\274" "b/\\305\\274"\ndeleted file mode 100644\nindex e69de29..0000000\n',
    );
    expect(files.map(({ kind, oldPath, newPath }) => [kind, oldPath, newPath])).toEqual([
      ["rename", "x", "y"],
      ["modify", "run.sh", "run.sh"],
      ["create", null, "my file"],
      ["delete", "ż", null],
    ]);
  });

  test("PATCH-1 what follows a file that is only renamed, made, deleted or given a mode is another file", () => {
    const rename = "diff --git a/x b/y\nrename from x\nrename to y\n";
    for (const [first, what] of [
      [rename, "rename"],
      ["diff --git a/x b/x\nnew file mode 100644\n", "create"],
      ["diff --git x x\nnew file mode 100644\nindex 0000000..e69de29\n", "create"],
      ["diff --git a/x b/x\ndeleted file mode 100644\n", "delete"],
      ["diff --git a/x b/x\nold mode 100644\nnew mode 100755\n", "modify"],
    ] as const)
      for (const [after, kind, path] of [
        ["--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+a\n", "create", "new"],
        ["--- a/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", "delete", "old"],
        [`--- a/other\n+++ b/other\n${change}`, "modify", "other"],
      ] as const) {
        const { files } = parsePatch(first + after);
        const told = files.map((file) => [file.kind, file.oldPath ?? file.newPath]);
        expect(told).toEqual([
          [what, "x"],
          [kind, path],
        ]);
      }
    const made = "diff --git a/x b/x\nnew file mode 100644\n";
    for (const names of [
      "--- /dev/null\n+++ b/x\n",
      "--- a/x\n+++ b/x\n",
      "--- /dev/null\n+++ x\n",
    ])
      expect(only(`${made}${names}@@ -0,0 +1 @@\n+a\n`)).toMatchObject({
        kind: "create",
        newPath: "x",
      });
    for (const names of ["--- a/x\n+++ b/y\n", "--- x\n+++ y\n", "--- old/x\n+++ new/x\n"])
      expect(only(`${rename}${names}${change}`)).toMatchObject({ kind: "rename", newPath: "y" });
  });

  test("PATCH-1 dates, /dev/null and GNU diff's epoch say what exists", () => {
    const kinds = (old: string, fresh: string, hunk: string) =>
      only(`--- ${old}\n+++ ${fresh}\n${hunk}`).kind;
    const added = "@@ -0,0 +1 @@\n+a\n";
    const removed = "@@ -1 +0,0 @@\n-a\n";
    const now = "\t2026-11-15 20:00:00.123456789 +0000";
    const never = "\t1970-01-01 01:00:00.000000000 +0100";
    expect(kinds(`old/x${now}`, `new/x${now}`, change)).toBe("modify");
    expect(kinds(`old/x${never}`, `new/x${now}`, added)).toBe("create");
    expect(kinds(`old/x${now}`, `new/x${never}`, removed)).toBe("delete");
    expect(kinds(`old/x${now}`, `new/x${now}`, added)).toBe("modify");
    expect(kinds("/dev/null", "b/x", added)).toBe("create");
    expect(kinds("a/x", "/dev/null", removed)).toBe("delete");
  });

  test("PATCH-1 a mail signature is no removed line", () => {
    expect(bodies(only(`--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n-a\n+b\n-- \n2.39.5\n\n`))).toEqual([
      ["-a", "+b"],
    ]);
    expect(bodies(only(`--- a/x\n+++ b/x\n${change}-- \n2.39.5\n\n`))).toEqual([["-a", "+b"]]);
  });

  test("PATCH-1 files that diff -r only mentions are noted", () => {
    expect(
      parsePatch(`Only in new: extra\n--- a/x\n+++ b/x\n${change}Only in old: y\n`).notes,
    ).toEqual([
      "Not part of the patch: Only in new: extra",
      "Not part of the patch: Only in old: y",
    ]);
  });

  test("PATCH-2 prefixes go only where both sides wear them; strip takes exactly so many folders", () => {
    const paths = (old: string, fresh: string, strip?: number) => {
      const { oldPath, newPath } = only(`--- ${old}\n+++ ${fresh}\n${change}`, strip);
      return [oldPath, newPath];
    };
    expect(paths("a/src/x", "b/src/x")).toEqual(["src/x", "src/x"]);
    expect(paths("i/src/x", "w/src/x")).toEqual(["src/x", "src/x"]);
    expect(paths("a/x", "a/x")).toEqual(["a/x", "a/x"]);
    expect(paths("src/x", "b/x")).toEqual(["src/x", "b/x"]);
    expect(paths("a/src/x", "b/src/x", 0)).toEqual(["a/src/x", "b/src/x"]);
    expect(paths("a/src/x", "b/src/x", 2)).toEqual(["x", "x"]);
    expect(paths('"a/q\\"\\305\\274"', '"b/q\\"\\305\\274"')).toEqual(['q"ż', 'q"ż']);
    expect(() => parsePatch(change, { strip: -1 })).toThrow(
      expect.objectContaining({ code: "invalid_argument" }),
    );
  });

  test("PATCH-2 headers that name one file a little differently are of one file", () => {
    const made = ["new file mode 100644", "--- /dev/null\n+++ ", "@@ -0,0 +1 @@\n+a\n"] as const;
    for (const [git, name, path] of [
      ["a/./x b/./x", "b/x", "x"],
      ["a/x b/x", "./x", "./x"],
      ["a/x b/x", "/home/me/x", "/home/me/x"],
      ["./src/x ./src/x", "b/src/./x", "src/./x"],
      ["a/src/x b/src/x", "b/x", "x"],
      ["a/x b/x", "b/src/x", "src/x"],
      ['"a/src/\\305\\274" "b/src/\\305\\274"', '"b/\\305\\274"', "ż"],
      ["a/src/a b b/src/a b", "b/a b\t", "a b"],
    ] as const)
      expect(only(`diff --git ${git}\n${made[0]}\n${made[1]}${name}\n${made[2]}`)).toMatchObject({
        kind: "create",
        newPath: path,
      });
    const git = "diff --git a/src/x b/src/x\n";
    const deleted = `${git}deleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n`;
    expect(only(deleted)).toMatchObject({ kind: "delete", oldPath: "x" });
    const mode = `${git}old mode 100644\nnew mode 100755\n--- a/x\n+++ b/x\n${change}`;
    expect(only(mode)).toMatchObject({ kind: "modify", newPath: "x", newMode: "100755" });
    const rename = "diff --git a/./x b/y\nrename from ./x\nrename to y\n";
    expect(only(`${rename}--- a/x\n+++ b/./y\n${change}`)).toMatchObject({ kind: "rename" });
    // A name is not the end of another in the middle of a word.
    const { files } = parsePatch(`diff --git a/ax b/ax\n${made[0]}\n${made[1]}b/x\n${made[2]}`);
    expect(files.map(({ newPath }) => newPath)).toEqual(["ax", "x"]);
  });

  test("PATCH-1 /dev/null is no name, whichever line has it", () => {
    const made = only("diff --git /dev/null b/x\nnew file mode 100644\n");
    expect(made).toMatchObject({ kind: "create", newPath: "x" });
    const deleted = only("diff --git a/x /dev/null\ndeleted file mode 100644\n");
    expect(deleted).toMatchObject({ kind: "delete", oldPath: "x" });
    const quoted = only('--- "/dev/null"\n+++ "b/x"\n@@ -0,0 +1 @@\n+a\n');
    expect(quoted).toMatchObject({ kind: "create", newPath: "x" });
  });

  test("PATCH-3 git's header lines without `diff --git` begin another file", () => {
    const rename = "rename from x\nrename to y\n";
    const made = "new file mode 100755\nindex 0..1\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+a\n";
    const other = `--- a/z\n+++ b/z\n${change}`;
    const told = (text: string) =>
      parsePatch(text).files.map(({ kind, oldPath, newPath, newMode }) =>
        [kind, oldPath ?? newPath, newMode].join(" "),
      );
    expect(told(`${other}${rename}${made}`)).toEqual([
      "modify z ",
      "rename x ",
      "create new 100755",
    ]);
    expect(told(`diff --git a/x b/y\n${rename}${made}`)).toEqual([
      "rename x ",
      "create new 100755",
    ]);
    expect(told(`diff --git a/e b/e\nnew file mode 100644\n${made}`)).toEqual([
      "create e 100644",
      "create new 100755",
    ]);
    expect(only(`${rename}--- a/x\n+++ b/y\n${change}`)).toMatchObject({
      kind: "rename",
      newPath: "y",
    });
    // Where they stand too late they are still of the file that was just named.
    const late = "--- /dev/null\n+++ b/x\nnew file mode 100755\n@@ -0,0 +1 @@\n+a\n";
    expect(only(late)).toMatchObject({ kind: "create", newPath: "x", newMode: "100755" });
    const prose = `new mode for all\nrename from x to y\n${other}new file mode\nrename to y\n`;
    expect(only(prose)).toMatchObject({ kind: "modify", newPath: "z", newMode: null });
  });

  test("PATCH-3 what is not clearly of the file before is refused, not taken for its own or left out", () => {
    const first = `--- a/x\n+++ b/x\n${change}`;
    for (const [second, line] of [
      [`+++ b/y\n${change}`, 6],
      [`\n+++ b/y\n${change}`, 7],
      [`Then:\n+++ y\n${change}`, 7],
      [`Then:\n--- a/y\n${change}`, 7],
      [`--- a/y\n\n+++ b/y\n${change}`, 8],
      [`Index: y\n=====\n${change}`, 6],
      [`diff -u y y\n${change}`, 6],
      [`*** Update File: y\n${change}`, 6],
      ["*** Delete File: y\n", 6],
      ["```diff\n-a\n+b\n```\n", 6],
    ] as const) {
      const error = refusal(first + second);
      expect([error.code, error.facts["patch_line"]]).toEqual(["patch_malformed", line]);
    }
    const renamed = "diff --git a/v b/w\nrename from v\nrename to w\n";
    expect(refusal(`${renamed}+++ b/x\n${change}`).facts).toMatchObject({ patch_line: 4 });
    expect(only(`${renamed}+++ b/w\n${change}`)).toMatchObject({ kind: "rename", newPath: "w" });
    const fence = "```diff\n-a\n+b\n```\n";
    expect(refusal(fence + first).facts).toMatchObject({ patch_line: 1 });
    expect(refusal(fence + fence).facts).toMatchObject({ patch_line: 5 });
    // With the counts right, or no hunk behind it, it is a line like any other.
    const counted = "@@ -1 +1,2 @@\n-a\n+b\n+++ y\n";
    expect(bodies(only(`--- a/x\n+++ b/x\n${counted}@@ -9 +9 @@\n-c\n+d\n`))[0]).toContain("+++ y");
    expect(bodies(only("@@\n-a\n+++ y\n"))).toEqual([["-a", "+++ y"]]);
    // A file that git's line names needs no others.
    expect(only(`diff --git a/y b/y\n+++ b/y\n${change}`)).toMatchObject({ newPath: "y" });
    expect(only(`diff --git a/y b/y\nIndex: y\n--- a/y\n+++ b/y\n${change}`).newPath).toBe("y");
    expect(parsePatch(`${first}Index: y\n--- y\n+++ y\n${change}`).files).toHaveLength(2);
  });

  test("PATCH-4 right counts tell removed lines from file headers", () => {
    const text =
      "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n--- sql comment\n+++ counter\n c\n@@ -9 +9 @@\n-y\n+z\n";
    expect(bodies(only(text))).toEqual([
      [" a", "--- sql comment", "+++ counter", " c"],
      ["-y", "+z"],
    ]);
  });

  test("PATCH-4 wrong counts: the next file's header ends the hunk", () => {
    for (const counts of ["-1,9 +1,9", "-1,2 +1,2", "-1 +1", "-1,3 +1,3"]) {
      const { files } = parsePatch(
        `--- a/x\n+++ b/x\n@@ ${counts} @@\n a\n-b\n+c\n--- a/y\n+++ b/y\n@@ -5 +5 @@\n-d\n+e\n`,
      );
      expect(files.map((file) => [file.newPath, ...bodies(file)])).toEqual([
        ["x", [" a", "-b", "+c"]],
        ["y", ["-d", "+e"]],
      ]);
    }
  });

  test("PATCH-4 counts that are too small do not cut a hunk short", () => {
    expect(bodies(only("@@ -1,2 +1,2 @@\n a\n-b\n+c\n\n d\n-e\n"))).toEqual([
      [" a", "-b", "+c", " ", " d", "-e"],
    ]);
  });

  test("PATCH-4 a list below a hunk whose counts are right is prose", () => {
    expect(
      bodies(only(`--- a/x\n+++ b/x\n${change}\n- This renames a.\n- And nothing else.\n`)),
    ).toEqual([["-a", "+b"]]);
  });

  test("PATCH-5 empty lines inside a hunk are context, below it only as the counts ask", () => {
    expect(bodies(only("@@ @@\n a\n\n-b\n+c\n\n\n"))).toEqual([[" a", " ", "-b", "+c"]]);
    expect(bodies(only("@@ -1,4 +1,4 @@\n a\n\n-b\n+c\n\n\n"))).toEqual([
      [" a", " ", "-b", "+c", " "],
    ]);
  });

  test("PATCH-6 a line that lost its prefix is named, not taken for the end", () => {
    const error = refusal("--- a/x\n+++ b/x\n@@ -1,4 +1,4 @@\n a\nlost\n-b\n+c\n");
    expect(error.code).toBe("patch_malformed");
    expect(error.facts).toMatchObject({ patch_line: 5, counted_from: 1, line: "lost" });
    expect(refusal("@@ @@\n a\nlost\n\n-b\n+c\n").facts).toMatchObject({ patch_line: 3 });
  });

  test("PATCH-7 hunk headers without usable numbers", () => {
    const header = (line: string) => {
      const { oldStart, hint } = only(`${line}\n-a\n+b\n`).hunks[0]!;
      return [oldStart, hint];
    };
    expect(header("@@")).toEqual([null, ""]);
    expect(header("@@ @@")).toEqual([null, ""]);
    expect(header("@@ ... @@")).toEqual([null, "..."]);
    expect(header("@@ function foo() {")).toEqual([null, "function foo() {"]);
    expect(header("@@ -12,3 +12,4 @@ class A")).toEqual([12, "class A"]);
    expect(header("@@ -12 @@")).toEqual([12, ""]);
    expect(header("@@ -0,0 +0,0 @@")).toEqual([null, ""]);
    expect(header("@@ -XX,XX +XX,XX @@ def f")).toEqual([null, "def f"]);
  });

  test("PATCH-8 a patch converted to CRLF loses it everywhere, one of a CRLF file keeps it", () => {
    const lf = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n";
    expect(bodies(only(lf.replaceAll("\n", "\r\n")))).toEqual([[" a", "-b", "+c"]]);
    expect(bodies(only(lf.replace(" a\n-b\n+c\n", " a\r\n-b\r\n+c\r\n")))).toEqual([
      [" a\r", "-b\r", "+c\r"],
    ]);
    const bare = "diff --git a/x b/y\r\nrename from x\r\nrename to y\r\n";
    expect(only(bare)).toMatchObject({ kind: "rename", oldPath: "x", newPath: "y" });
  });

  test("PATCH-9 what is no text diff is refused by name", () => {
    const refused: [string, RegExp][] = [
      ["", /no unified diff/i],
      ["Just prose.\n", /no unified diff/i],
      [
        "diff --git a/x.png b/x.png\nindex 1..2 100644\nBinary files a/x.png and b/x.png differ\n",
        /binary/,
      ],
      ["diff --git a/x b/x\nGIT binary patch\nliteral 1\n", /binary/],
      ["diff --cc x\n", /combined/],
      ["@@@ -1 -1 +1 @@@\n", /combined/],
      [
        "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+t\n",
        /link/,
      ],
      ["diff --git a/x b/y\nsimilarity index 100%\ncopy from x\ncopy to y\n", /copied/],
      [`--- a/x\n+++ b/x\n${change}copy from x\ncopy to y\n`, /copied/],
      [`diff --git a/x b/y\nrename from x\n--- a/x\n+++ b/y\n${change}`, /rename to/],
      ["diff --git a/x b/x\nnew file mode 644\n", /100644/],
      [`--- a/x\n+++ b/x\n${change}deleted file mode 100644\n`, /`diff --git` line before/],
      [`diff --git a/x b/x\ndeleted file mode 100644\n--- /dev/null\n+++ b/x\n${change}`, /both/],
      [`diff --git a/x b/x\nnew file mode 100644\n--- a/x\n+++ /dev/null\n${change}`, /both/],
      ["*** Begin Patch\n*** Update File: x\n", /apply_patch/],
      ["--- a/x\n+++ b/x\n", /no hunk/],
      ["--- a/x\n+++ b/x\n@@ -1 +1 @@\n", /no lines/],
      ["--- /dev/null\n+++ /dev/null\n@@ -0,0 +1 @@\n+a\n", /both sides/],
      ['--- "a/\\q"\n+++ "b/x"\n@@ -0,0 +1 @@\n+a\n', /quoted file name/],
      ["@@ @@\n-a\n\\ No newline at end of file\n-b\n", /goes on after/],
    ];
    for (const [text, sentence] of refused) {
      const error = refusal(text);
      expect([error.code, error.message]).toEqual([
        "patch_malformed",
        expect.stringMatching(sentence),
      ]);
    }
  });

  test("PATCH-9 hostile lines cost no more than their length", () => {
    const long = " ".repeat(1_000_000);
    const hostile = `--- a/x${long}x\n+++ b/x${long}2026-01-0x\n@@ ${long}x${long}\n-a${long}\n+b\n`;
    expect(only(hostile).hunks).toHaveLength(1);
    const blanks = `@@\n-a\n${"\n".repeat(200_000)}+b\n`.repeat(2);
    expect(only(blanks).hunks).toHaveLength(2);
    const lines = `@@ -0,0 +1,300000 @@\n${"+x\n".repeat(300_000)}`;
    const file = only(lines);
    expect(applyPatchToText("", file).text).toHaveLength(600_000);
    expect(applyPatchToText("x\n".repeat(300_000), reverseFilePatch(file)).text).toBe("");
  });

  test("PATCH-9 no input throws anything but a KumikoError", () => {
    const piece = fc.oneof(
      fc.constantFrom(
        "--- a/x",
        "+++ b/x",
        "--- /dev/null",
        '+++ "b/\\303"',
        "@@ -1,2 +1,2 @@",
        "@@",
        "@@ -99999999999999999999 +1 @@",
        "diff --git a/x b/x",
        "diff --git",
        "rename from a",
        "new file mode 100644",
        "\\ No newline at end of file",
        "```diff",
        "-- ",
        "2.39.5",
        "",
        " a",
        "-a",
        "+a\r",
        "Binary files a and b differ",
      ),
      fc.string({ unit: "binary", maxLength: 20 }),
    );
    const text = fc.array(piece, { maxLength: 30 }).map((lines) => lines.join("\n"));
    const property = fc.property(fc.oneof(text, fc.string({ unit: "binary" })), (patch) => {
      try {
        parsePatch(patch);
      } catch (error) {
        if (!(error instanceof KumikoError)) throw error;
      }
    });
    fc.assert(property, fcOptions(20_000));
  });
});
