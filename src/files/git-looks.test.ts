import { execFileSync } from "node:child_process";
import { readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { beforeEach, expect, it, onTestFinished } from "vitest";
import { type TemporaryFolder, temporaryFolder } from "../../test/support/temporary-folder.ts";
import { statOf } from "./file-stat.ts";
import { GitLooks } from "./git-looks.ts";

let folder: TemporaryFolder;
let looks: GitLooks;
beforeEach(() => {
  folder = temporaryFolder();
  looks = new GitLooks({
    root: folder.path,
    onWatch: (path, error) => {
      if (error !== undefined) throw new Error(path, { cause: error });
    },
  });
  onTestFinished(() => {
    looks[Symbol.dispose]();
    folder[Symbol.dispose]();
  });
});

/** The filter makes sure that it does not write in the tick in which it begins. */
function git(...args: string[]): void {
  const options = ["-c", "filter.slow.smudge=sleep 0.1; cat", "-c", "user.name=a"];
  execFileSync("git", [...options, "-c", "user.email=a@b", ...args], { cwd: folder.path });
}

function begin(): void {
  git("init", "-q");
  folder.write(".gitattributes", "a.txt filter=slow\n");
  folder.write("a.txt", "one\n");
  git("add", "-A");
}

function seenUntil(ours?: string): bigint | undefined {
  const file = join(folder.path, "a.txt");
  const identity = statOf(statSync(file, { bigint: true }));
  const bytes = ours === undefined ? undefined : Buffer.from(ours);
  return looks.seenUntil("a.txt", { bytes: readFileSync(file), identity }, bytes);
}

/** What somebody changed, git takes out again. */
function checkOut(): void {
  folder.write("a.txt", "two\n");
  git("checkout", "-q", "--", "a.txt");
}

const bornIndex = (): bigint =>
  statSync(join(folder.path, ".git/index"), { bigint: true }).birthtimeNs;

it("tells that git saw what was there before it took its lock, and nothing of what others put there", () => {
  begin();
  checkOut();
  const born = bornIndex();
  expect(seenUntil()).toBe(born - 1n);
  expect(statSync(join(folder.path, "a.txt"), { bigint: true }).mtimeNs).toBeGreaterThan(born);
  folder.write("a.txt", "three\n");
  expect(seenUntil()).toBe(undefined);
  folder.write("a.txt", "one\n");
  const later = Date.now() / 1000 + 1;
  utimesSync(join(folder.path, "a.txt"), later, later);
  expect(seenUntil()).toBe(undefined);
});

it("remembers it when git has made its index anew, in the repository that is there now", async () => {
  for (let time = 0; time < 2; time++) {
    rmSync(join(folder.path, ".git"), { recursive: true, force: true });
    begin();
    looks.begin(time === 0 ? ["a.txt"] : [], () => {});
    checkOut();
    const born = bornIndex();
    // It is heard as soon as the thread is free: between the first of these and the second.
    await turn();
    await turn();
    folder.write("new.txt", "");
    git("add", "-A");
    expect(bornIndex()).toBeGreaterThan(born);
    expect(seenUntil()).toBe(born - 1n);
  }
});

it("knows that git may have looked before it took its lock, but not if it has what we saved", async () => {
  begin();
  folder.write("ours.txt", "ours\n");
  git("add", "ours.txt");
  looks.begin([], () => {});
  const index = readFileSync(join(folder.path, ".git/index"));
  const take = (): bigint => {
    const lock = join(folder.path, ".git/index.lock");
    rmSync(lock, { force: true });
    writeFileSync(lock, index);
    return statSync(lock, { bigint: true }).birthtimeNs;
  };
  const release = (): void =>
    renameSync(join(folder.path, ".git/index.lock"), join(folder.path, ".git/index"));
  const old = Number(bornIndex() / 1_000_000n);
  await expect.poll(() => Date.now()).toBeGreaterThan(old + 150);
  const first = take();
  release();
  await turn();
  await turn();
  let second = take();
  while (second === first) second = take();
  do folder.write("a.txt", "one\n");
  while (statSync(join(folder.path, "a.txt"), { bigint: true }).mtimeNs <= second);
  release();
  expect(seenUntil("neither\n")).toBe(first - 1n);
  expect(seenUntil("ours\n")).toBe(second - 1n);
});
