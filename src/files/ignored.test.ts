import { spawnSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { fcOptions } from "../../test/support/counts.ts";
import { temporaryFolder } from "../../test/support/temporary-folder.ts";
import { Ignored } from "./ignored.ts";

// No name of one character that is several bytes: `?` and `[!a]` mean a byte to git and a character here.
const NAMES = ["a", "b", "ab", "a.log", "b.txt", "[x]", "a b", "éé", "-", "#a", "!b"];
const name = fc.constantFrom(...NAMES);
const piece = fc.oneof(
  name,
  fc.constantFrom(
    "*",
    "a*",
    "*.log",
    "?",
    "[ab]",
    "[!a]",
    "**",
    "a?",
    "\\#a",
    "\\!b",
    "\\a",
    "*b*",
  ),
);
const pattern = fc
  .record({
    negative: fc.boolean(),
    start: fc.constantFrom("", "", "/", "**/"),
    pieces: fc.array(piece, { minLength: 1, maxLength: 3 }),
    end: fc.constantFrom("", "", "/", "/**", "/*", " "),
  })
  .map(({ negative, start, pieces, end }) => {
    return `${negative ? "!" : ""}${start}${pieces.join("/")}${end}`;
  });
const line = fc.oneof(
  { weight: 8, arbitrary: pattern },
  fc.constantFrom("", "# nothing", "/", "!"),
);
const ruleFile = fc.record({
  folder: fc.array(name, { maxLength: 2 }).map((parts) => parts.join("/")),
  lines: fc.array(line, { minLength: 1, maxLength: 5 }),
  end: fc.constantFrom("\n", "\r\n"),
});
const tree = fc.record({
  files: fc.uniqueArray(
    fc.array(name, { minLength: 1, maxLength: 4 }).map((parts) => parts.join("/")),
    { minLength: 3, maxLength: 12 },
  ),
  rules: fc.uniqueArray(ruleFile, { selector: ({ folder }) => folder, maxLength: 4 }),
});

/** What git ignores of these, files of a repository that does not know any of them yet. */
function ignoredByGit(root: string, paths: readonly string[]): Set<string> {
  const settings = ["-c", "core.excludesFile=", "-c", "core.ignoreCase=false"];
  const { stdout, status, stderr } = spawnSync(
    "git",
    [...settings, "check-ignore", "--no-index", "-z", "--stdin"],
    { cwd: root, input: paths.map((path) => `./${path}\0`).join(""), encoding: "utf8" },
  );
  if (status !== 0 && status !== 1) throw new Error(stderr);
  return new Set(stdout.split("\0").map((path) => path.replace(/^\.\//, "")));
}

function newRepository() {
  const folder = temporaryFolder();
  spawnSync("git", ["init", "-q"], { cwd: folder.path });
  writeFileSync(join(folder.path, ".git", "info", "exclude"), "");
  return folder;
}

/** Makes what can be made: a name cannot be a file and a folder. */
function make(root: string, path: string, content: string): boolean {
  try {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
    return true;
  } catch {
    return false;
  }
}

test("what is ignored is what git ignores, in any tree with any rules in any of its folders", () => {
  fc.assert(
    fc.property(tree, ({ files, rules }) => {
      using folder = newRepository();
      const made = files.filter((path) => make(folder.path, path, ""));
      for (const { folder: within, lines, end } of rules) {
        make(folder.path, join(within, ".gitignore"), lines.join(end));
      }
      const folders = new Set<string>();
      for (const path of made) {
        for (let up = dirname(path); up !== "."; up = dirname(up)) folders.add(up);
      }
      const paths = [...made, ...folders];
      const byGit = ignoredByGit(folder.path, paths);
      const ignored = new Ignored(folder.path);
      const ours = paths.filter((path) => ignored.isIgnored(path, folders.has(path)));
      expect(ours.toSorted()).toEqual(paths.filter((path) => byGit.has(path)).toSorted());
    }),
    fcOptions(500),
  );
}, 300_000);

test("`.kumikoignore` counts more than `.gitignore` beside it, and less than what is deeper", () => {
  using folder = temporaryFolder();
  folder.write(".gitignore", "*.log\nout/\n");
  folder.write(".kumikoignore", "!keep.log\nsecret\n");
  folder.write("deep/.gitignore", "!secret\n");
  const ignored = new Ignored(folder.path);
  const decided = ["a.log", "keep.log", "x/keep.log", "secret", "deep/secret", "deep/a.log"];
  expect(decided.filter((path) => ignored.isIgnored(path, false))).toEqual([
    "a.log",
    "secret",
    "deep/a.log",
  ]);
  expect(ignored.isIgnored("out", true)).toBe(true);
  expect(ignored.isIgnored("out", false)).toBe(false);
  expect(ignored.isIgnored("out/keep.log", false)).toBe(true);
});

test("`.git` is left out wherever it is, whatever the rules say", () => {
  using folder = temporaryFolder();
  folder.write(".gitignore", "!.git\n!.git/**\n");
  const ignored = new Ignored(folder.path);
  for (const path of [".git", "module/.git"]) {
    expect(ignored.isIgnored(path, true)).toBe(true);
    expect(ignored.isIgnored(`${path}/config`, false)).toBe(true);
  }
  expect(ignored.isIgnored(".github", true)).toBe(false);
});

test("rules are read again when they are to be forgotten, those of the folders below too", () => {
  using folder = temporaryFolder();
  folder.write("a/.gitignore", "x\n");
  folder.write("a/b/.gitignore", "y\n");
  const ignored = new Ignored(folder.path);
  expect(ignored.isIgnored("a/b/x", false)).toBe(true);
  folder.write("a/.gitignore", "z\n");
  expect(ignored.isIgnored("a/b/x", false)).toBe(true);
  ignored.forget("a");
  expect(["x", "y", "z"].map((path) => ignored.isIgnored(`a/b/${path}`, false))).toEqual([
    false,
    true,
    true,
  ]);
});

test("a rule file that is a link or a folder says nothing, as in git", () => {
  using folder = temporaryFolder();
  folder.write("rules", "a\n");
  symlinkSync("rules", join(folder.path, ".gitignore"));
  mkdirSync(join(folder.path, ".kumikoignore"));
  const unreadable: string[] = [];
  const ignored = new Ignored(folder.path, { onUnreadable: (path) => unreadable.push(path) });
  expect(ignored.isIgnored("a", false)).toBe(false);
  expect(unreadable).toEqual([]);
});
