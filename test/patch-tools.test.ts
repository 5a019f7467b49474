import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  applyPatchToText,
  type FilePatch,
  parsePatch,
  unifiedDiff,
} from "../src/blocks/patch/index.ts";
import { fcOptions } from "./support/counts.ts";
import { nastyText } from "./support/nasty-text.ts";
import { runProgram } from "./support/process.ts";
import { temporaryFolder, type TemporaryFolder } from "./support/temporary-folder.ts";

/** Real tools are asked about all cases in one process; a case that fails is named by its texts. */

interface Case {
  readonly name: string;
  readonly old: string;
  readonly new: string;
}

function cases(full: number, texts: fc.Arbitrary<[string, string]>): Case[] {
  const { numRuns, seed } = fcOptions(full);
  return fc
    .sample(texts, { numRuns, seed })
    .map(([old, fresh], at) => ({ name: `f${at}`, old, new: fresh }));
}

const anyTwo = fc.oneof(
  fc.tuple(nastyText, nastyText),
  fc.tuple(nastyText, nastyText).map(related),
);

/** Two texts with much in common, as edits leave them. */
function related([one, two]: [string, string]): [string, string] {
  const middle = Math.floor(one.length / 2);
  const mixed = one.slice(0, middle) + two.slice(0, 12) + one.slice(middle);
  return [one, mixed.toWellFormed()];
}

function contextOf(at: number): number {
  return [3, 3, 1, 5, 0][at % 5]!;
}

const clean = {
  ...process.env,
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  LC_ALL: "C.UTF-8",
  TZ: "UTC",
};

function readIfThere(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

function writeSide(folder: TemporaryFolder, side: string, list: readonly Case[]): string {
  mkdirSync(join(folder.path, side), { recursive: true });
  for (const each of list)
    writeFileSync(join(folder.path, side, each.name), side === "new" ? each.new : each.old);
  return join(folder.path, side);
}

function wrongOnes(list: readonly Case[], side: string): string[] {
  return list
    .filter((each) => readIfThere(join(side, each.name)) !== each.new)
    .map((each) => JSON.stringify({ ...each, got: readIfThere(join(side, each.name)) }));
}

describe("real tools take our diffs", () => {
  const tools: [string, string, string[]][] = [
    ["GNU patch", "patch", ["-p1", "-s", "--no-backup-if-mismatch", "-i", "../all.patch"]],
    ["git apply", "git", ["apply", "-p1", "--unidiff-zero", "--whitespace=nowarn", "../all.patch"]],
  ];
  test.each(tools)(
    "DIFF-4 %s makes the new text of the old one, byte for byte",
    async (_name, command, args) => {
      using folder = temporaryFolder();
      const list = cases(1000, anyTwo).filter((each) => each.old !== each.new);
      const side = writeSide(folder, "work", list);
      const patches = list.map((each, at) =>
        unifiedDiff(each.old, each.new, {
          oldName: `a/${each.name}`,
          newName: `b/${each.name}`,
          context: contextOf(at),
        }),
      );
      folder.write("all.patch", patches.join(""));
      const ended = await runProgram(command, args, { cwd: side, env: clean });
      expect(wrongOnes(list, side)).toEqual([]);
      expect(ended).toMatchObject({ code: 0, stderr: "", stdout: "" });
    },
  );

  test.each(tools)(
    "DIFF-4 DIFF-5 %s creates, deletes and understands odd names",
    async (_name, command, args) => {
      using folder = temporaryFolder();
      const odd = [
        "two words",
        "tab\there",
        'quote"d',
        "back\\slash",
        "żółw 😀",
        "end ",
        "new\nline",
        "cr\rhere",
        "-dash",
        " start",
        "bell\u0007",
      ];
      const list = odd.map((name) => ({ name, old: "a\nb\n", new: "a\nc\n" }));
      const side = writeSide(folder, "work", list);
      writeFileSync(join(side, "gone"), "x\ny");
      const patches = list.map((each) =>
        unifiedDiff(each.old, each.new, { oldName: `a/${each.name}`, newName: `b/${each.name}` }),
      );
      patches.push(unifiedDiff("x\ny", "", { oldName: "a/gone", newName: null }));
      patches.push(unifiedDiff("", "made\n", { oldName: null, newName: "b/sub/made" }));
      folder.write("all.patch", patches.join(""));
      const ended = await runProgram(command, args, { cwd: side, env: clean });
      expect([ended.code, ended.stderr, ended.stdout]).toEqual([0, "", ""]);
      expect(wrongOnes(list, side)).toEqual([]);
      expect(readIfThere(join(side, "sub/made"))).toBe("made\n");
      expect(() => readFileSync(join(side, "gone"))).toThrow("ENOENT");
      const read = parsePatch(patches.join("")).files;
      expect(read.map((file) => file.newPath)).toEqual([...odd, null, "sub/made"]);
    },
  );
});

/** Every file's patch by the file's own name. */
async function madeBy(
  command: string,
  args: readonly string[],
  folder: TemporaryFolder,
): Promise<Map<string, FilePatch>> {
  const ended = await runProgram(command, args, { cwd: folder.path, env: clean });
  expect(ended.stderr).toBe("");
  const { files } = parsePatch(ended.stdout);
  return new Map(
    files.map((file) => [(file.newPath ?? file.oldPath ?? "").split("/").at(-1)!, file]),
  );
}

describe("we take real tools' diffs", () => {
  const makers: [string, string, (context: number) => string[]][] = [
    [
      "git diff",
      "git",
      (context) => ["diff", "--no-index", "--no-color", `-U${context}`, "old", "new"],
    ],
    ["diff -ru", "diff", (context) => ["-r", "-a", `-U${context}`, "old", "new"]],
  ];

  test.each(makers)(
    "PATCH-1 %s of anything applies to the old text",
    async (_name, command, args) => {
      const all = cases(1000, anyTwo).filter((each) => each.old !== each.new);
      for (const context of [3, 1, 0]) {
        using folder = temporaryFolder();
        // Without context nothing shows that a line without \r is meant among lines that have it: PATCH-17.
        const list = all.filter((each) => context > 0 || !`${each.old}${each.new}`.includes("\r"));
        writeSide(folder, "old", list);
        writeSide(folder, "new", list);
        const patches = await madeBy(command, args(context), folder);
        for (const each of list) {
          const { text, reports } = applyPatchToText(each.old, patches.get(each.name)!);
          expect([each.old, text]).toEqual([each.old, each.new]);
          for (const report of reports) expect(report).toMatchObject({ offset: 0, fuzz: 0 });
        }
      }
    },
  );

  const distinctLines = fc
    .integer({ min: 12, max: 60 })
    .map((count) =>
      Array.from({ length: count }, (_, at) => `line ${at} ${at % 3 === 0 ? "{" : "żó"}`),
    );
  const edited = fc
    .tuple(
      distinctLines,
      fc.array(fc.tuple(fc.nat(), fc.constantFrom("insert", "delete", "change")), {
        minLength: 1,
        maxLength: 5,
      }),
      fc.boolean(),
    )
    .map(([lines, edits, final]): [string, string] => {
      const changed = [...lines];
      for (const [seed, kind] of edits) {
        const at = seed % changed.length;
        if (kind === "insert") changed.splice(at, 0, `inserted ${seed}`);
        else if (kind === "delete") changed.splice(at, 1);
        else changed[at] = `changed ${seed}`;
      }
      const end = final ? "\n" : "";
      return [lines.join("\n") + end, changed.join("\n") + end];
    });

  test.each(makers)(
    "PATCH-13 PATCH-21 %s applies after unrelated lines moved everything",
    async (_name, command, args) => {
      using folder = temporaryFolder();
      const list = cases(1000, edited).filter((each) => each.old !== each.new);
      writeSide(folder, "old", list);
      writeSide(folder, "new", list);
      const patches = await madeBy(command, args(3), folder);
      for (const [at, each] of list.entries()) {
        const above = Array.from(
          { length: 1 + (at % 40) },
          (_, line) => `unrelated ${line}\n`,
        ).join("");
        const { text, reports } = applyPatchToText(above + each.old, patches.get(each.name)!);
        expect(text).toBe(above + each.new);
        for (const report of reports)
          expect(report).toMatchObject({ offset: 1 + (at % 40), fuzz: 0 });
      }
    },
  );

  test("PATCH-1 diff -ruN and git diff say which files are new and which are gone", async () => {
    using folder = temporaryFolder();
    folder.write("old/gone", "x\n");
    folder.write("new/made file", "y");
    const git = await madeBy("git", ["diff", "--no-index", "--no-color", "old", "new"], folder);
    const gnu = await madeBy("diff", ["-ruN", "old", "new"], folder);
    for (const patches of [git, gnu]) {
      expect(patches.get("gone")?.kind).toBe("delete");
      expect(applyPatchToText("x\n", patches.get("gone")!).text).toBe("");
      expect(patches.get("made file")?.kind).toBe("create");
      expect(applyPatchToText("", patches.get("made file")!).text).toBe("y");
    }
  });

  test("PATCH-1 git diff of a repository: renames, modes, quoted names, binaries", async () => {
    using folder = temporaryFolder();
    const git = async (...args: string[]) => {
      const ended = await runProgram(
        "git",
        ["-c", "user.name=t", "-c", "user.email=t@t", ...args],
        { cwd: folder.path, env: clean },
      );
      expect(ended.code).toBe(0);
      return ended.stdout;
    };
    const long = Array.from({ length: 20 }, (_, line) => `line ${line}\n`).join("");
    folder.write("first name.txt", long);
    folder.write("żółw.txt", "a\n");
    folder.write("run.sh", "echo\n");
    await git("init", "-q");
    await git("add", ".");
    await git("commit", "-qm", "one");
    await git("mv", "first name.txt", "second name.txt");
    folder.write("second name.txt", long.replace("line 7\n", "seven\n"));
    folder.write("żółw.txt", "b\n");
    await git("add", ".");
    await git("update-index", "--chmod=+x", "run.sh");
    const { files } = parsePatch(await git("diff", "--cached", "-M"));
    expect(files.map(({ kind, oldPath, newPath }) => [kind, oldPath, newPath])).toEqual([
      ["modify", "run.sh", "run.sh"],
      ["rename", "first name.txt", "second name.txt"],
      ["modify", "żółw.txt", "żółw.txt"],
    ]);
    await git("commit", "-qm", "two");
    const mail = parsePatch(await git("format-patch", "-1", "--stdout")).files;
    expect(mail.map((file) => file.hunks.length)).toEqual([0, 1, 1]);
    folder.write("binary", "a\u0000b");
    await git("add", ".");
    const binary = await git("diff", "--cached");
    expect(() => parsePatch(binary)).toThrow(expect.objectContaining({ code: "patch_malformed" }));
  });
});
