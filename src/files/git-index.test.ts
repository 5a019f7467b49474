import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { temporaryFolder } from "../../test/support/temporary-folder.ts";
import { isObject, isRecorded } from "./git-index.ts";
import { repositoryOf } from "./git-repository.ts";

function gitIn(cwd: string): (...args: string[]) => string {
  const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null" };
  const by = ["-c", "user.name=a", "-c", "user.email=a@b"];
  return (...args) => execFileSync("git", [...by, ...args], { cwd, encoding: "utf8", env });
}

/** Whether git's index has for a file what is in it. */
function isAsRecorded(file: string): boolean {
  const repository = repositoryOf(dirname(file));
  return repository !== undefined && isRecorded(repository, file, readFileSync(file));
}

it.each([2, 3, 4])("knows what git recorded, in version %i of its index", (version) => {
  using folder = temporaryFolder();
  const git = gitIn(folder.path);
  git("init", "-q");
  git("config", "index.version", String(version));
  const paths = Array.from({ length: 200 }, (_, at) => `${at % 7}/d${at % 3}/file é ${at}.txt`);
  for (const path of paths) folder.write(path, `text of ${path}\n`);
  git("add", "-A");
  git("commit", "-qm", "one");
  git("update-index", "--index-version", String(version));
  if (version === 3) {
    folder.write("later.txt", "later");
    // What is only meant to be added has a flag that version 2 has no room for.
    git("add", "-N", "later.txt");
  }
  expect(readFileSync(join(folder.path, ".git/index")).readUInt32BE(4)).toBe(version);
  const asRecorded = (path: string): boolean => isAsRecorded(join(folder.path, path));
  expect(paths.filter((path) => !asRecorded(path))).toEqual([]);
  folder.write(paths[5]!, "changed\n");
  expect(paths.filter((path) => !asRecorded(path))).toEqual([paths[5]]);
  folder.write("new.txt", "");
  expect(asRecorded("new.txt")).toBe(false);
});

it("knows what git has as an object, also from a working tree elsewhere", () => {
  using folder = temporaryFolder();
  using other = temporaryFolder();
  const git = gitIn(folder.path);
  git("init", "-q");
  folder.write("a.txt", "one\n");
  git("add", "-A");
  git("commit", "-qm", "one");
  const worktree = join(other.path, "worktree");
  git("worktree", "add", "-q", worktree, "HEAD");
  folder.write("a.txt", "two\n");
  git("stash", "-q");
  for (const place of [folder.path, worktree]) {
    const has = (text: string): boolean => isObject(repositoryOf(place)!, Buffer.from(text));
    expect(["one\n", "two\n", "three\n"].map(has)).toEqual([true, true, false]);
  }
});

it("says no where there is no index, or none that is one", () => {
  using folder = temporaryFolder();
  folder.write("a.txt", "one");
  const file = join(folder.path, "a.txt");
  expect(isAsRecorded(file)).toBe(false);
  mkdirSync(join(folder.path, ".git"));
  expect(isAsRecorded(file)).toBe(false);
  for (const index of [
    "",
    "DIRC",
    "DIRC\0\0\0\x02\xff\xff\xff\xff",
    `DIRC\0\0\0\x04\0\0\0\x02${"\xff".repeat(300)}`,
  ]) {
    writeFileSync(join(folder.path, ".git/index"), index, "latin1");
    expect(isAsRecorded(file)).toBe(false);
  }
});
