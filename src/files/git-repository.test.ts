import { mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryFolder } from "../../test/support/temporary-folder.ts";
import { isGitAtWork } from "./git-repository.ts";

it("is at work while it holds its lock, and not when that was left behind", () => {
  using folder = temporaryFolder();
  const lock = join(folder.path, ".git/index.lock");
  const now = Date.now();
  expect(isGitAtWork(join(folder.path, "below"), now)).toBe(false);
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
