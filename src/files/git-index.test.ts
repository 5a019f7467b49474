import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryFolder } from "../../test/support/temporary-folder.ts";
import { statOf } from "./file-stat.ts";
import { type GitFile, isGitAtWork, lockedByGit } from "./git-index.ts";

const foundAt = (path: string): GitFile => ({
  bytes: readFileSync(path),
  identity: statOf(statSync(path, { bigint: true })),
});

it.each([2, 3, 4])("knows what git recorded, in version %i of its index", (version) => {
  using folder = temporaryFolder();
  const git = (...args: string[]): string =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], {
      cwd: folder.path,
      encoding: "utf8",
      env: { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null" },
    });
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
  const asRecorded = (path: string, root = folder.path, within = path): boolean =>
    lockedByGit(root, within, foundAt(join(folder.path, path))) !== undefined;
  expect(paths.filter((path) => !asRecorded(path))).toEqual([]);
  expect(asRecorded("1/d1/file é 1.txt", join(folder.path, "1"), "d1/file é 1.txt")).toBe(true);
  folder.write(paths[5]!, "changed\n");
  expect(paths.filter((path) => !asRecorded(path))).toEqual([paths[5]]);
  folder.write("new.txt", "");
  expect(asRecorded("new.txt")).toBe(false);
  using other = temporaryFolder();
  const worktree = join(other.path, "worktree");
  git("worktree", "add", "-q", worktree, "HEAD");
  const found = foundAt(join(worktree, paths[5]!));
  expect(lockedByGit(worktree, paths[5]!, found)).toBeGreaterThan(0n);
});

it("says no where there is no index, or none that is one", () => {
  using folder = temporaryFolder();
  folder.write("a.txt", "one");
  const found = foundAt(join(folder.path, "a.txt"));
  expect(lockedByGit(folder.path, "a.txt", found)).toBe(undefined);
  mkdirSync(join(folder.path, ".git"));
  expect(lockedByGit(folder.path, "a.txt", found)).toBe(undefined);
  for (const index of [
    "",
    "DIRC",
    "DIRC\0\0\0\x02\xff\xff\xff\xff",
    `DIRC\0\0\0\x04\0\0\0\x02${"\xff".repeat(300)}`,
  ]) {
    writeFileSync(join(folder.path, ".git/index"), index, "latin1");
    expect(lockedByGit(folder.path, "a.txt", found)).toBe(undefined);
  }
});

it("tells when git took its lock, not when it was done; and nothing of what others put there", () => {
  using folder = temporaryFolder();
  const git = (...args: string[]): string =>
    execFileSync("git", ["-c", "filter.slow.smudge=sleep 0.2; cat", ...args], {
      cwd: folder.path,
      encoding: "utf8",
    });
  for (const path of ["a.txt", "b.txt"]) folder.write(path, "one\n");
  folder.write(".gitattributes", "b.txt filter=slow\n");
  git("init", "-q");
  git("add", "-A");
  for (const path of ["a.txt", "b.txt"]) folder.write(path, "two\n");
  git("checkout", "-q", "--", "a.txt", "b.txt");
  const index = statSync(join(folder.path, ".git/index"), { bigint: true });
  const path = join(folder.path, "b.txt");
  const found = foundAt(path);
  expect(lockedByGit(folder.path, "b.txt", found)).toBe(
    index.birthtimeNs > 0n ? index.birthtimeNs : found.identity.changed,
  );
  const later = index.mtimeMs + 1_000n;
  utimesSync(path, Number(later) / 1000, Number(later) / 1000);
  const put = foundAt(path);
  expect(lockedByGit(folder.path, "b.txt", put)).toBe(put.identity.changed);
});

it("is at work while it holds its lock, and not when that was left behind", () => {
  using folder = temporaryFolder();
  const lock = join(folder.path, ".git/index.lock");
  const now = Date.now();
  expect(isGitAtWork(folder.path, now)).toBe(false);
  mkdirSync(join(folder.path, ".git"));
  expect(isGitAtWork(folder.path, now)).toBe(false);
  writeFileSync(lock, "");
  expect(isGitAtWork(folder.path, now)).toBe(true);
  utimesSync(lock, now / 1000 - 3, now / 1000 - 3);
  expect(isGitAtWork(folder.path, now)).toBe(false);
  // By a clock that is ahead.
  utimesSync(lock, now / 1000 + 60, now / 1000 + 60);
  expect(isGitAtWork(folder.path, now)).toBe(false);
});
