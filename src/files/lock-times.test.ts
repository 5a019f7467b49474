import { beforeEach, expect, it } from "vitest";
import { LockTimes } from "./lock-times.ts";

const MILLISECOND = 1_000_000n;
const SECOND = 1_000n * MILLISECOND;

/** Git's folder, with a clock that stands until it is told to go on. */
class GitFolder {
  now = 100n * SECOND;
  readonly times: LockTimes;
  readonly #files = new Map<string, { born: bigint; written: bigint }>();
  #changed = 0n;

  constructor() {
    this.times = new LockTimes((name) =>
      name === "" ? { born: 0n, written: this.#changed } : this.#files.get(name),
    );
  }

  lookedBefore(written: bigint): bigint | undefined {
    return this.times.over(written)?.looked;
  }

  pass(milliseconds: number): void {
    this.now += BigInt(milliseconds) * MILLISECOND;
  }

  make(name: string): void {
    this.#changed = this.now;
    this.#files.set(name, { born: this.now, written: this.now });
  }

  remove(name: string): void {
    this.#changed = this.now;
    this.#files.delete(name);
  }

  takeLock(): bigint {
    this.make("index.lock");
    return this.now;
  }

  /** Gives the lock back as the index. */
  finish(): void {
    const { born } = this.#files.get("index.lock")!;
    this.remove("index.lock");
    this.#files.set("index", { born, written: this.now });
  }

  /** Git holds its lock for ten milliseconds; gives when it took it, and when it wrote a file. */
  work({ heard = true } = {}): { readonly taken: bigint; readonly wrote: bigint } {
    const taken = this.takeLock();
    if (heard) this.times.heard("index.lock");
    this.pass(5);
    const wrote = this.now;
    this.pass(5);
    this.finish();
    return { taken, wrote };
  }
}

let git: GitFolder;
beforeEach(() => {
  git = new GitFolder();
});

it("knows when the lock was taken that is the index now", () => {
  const { taken, wrote } = git.work({ heard: false });
  git.times.look();
  expect(git.lookedBefore(wrote)).toBe(taken);
  expect(git.lookedBefore(taken - 1n)).toBe(undefined);
});

it("knows it also when the next command has made the index anew", () => {
  const { taken, wrote } = git.work();
  git.pass(200);
  git.work();
  git.times.look();
  expect(git.lookedBefore(wrote)).toBe(taken);
});

it("has no time for what was written when nobody had the lock", () => {
  git.work();
  git.times.heard("index");
  git.pass(50);
  const between = git.now;
  git.pass(200);
  git.work();
  git.times.look();
  expect(git.lookedBefore(between)).toBe(undefined);
});

it("sees a lock that is still held, and one that was given up", () => {
  const taken = git.takeLock();
  git.times.heard("index.lock");
  git.pass(500);
  expect(git.lookedBefore(git.now)).toBe(taken);
  git.remove("index.lock");
  git.times.heard("index.lock");
  expect(git.lookedBefore(git.now)).toBe(taken);
  git.pass(500);
  git.times.look();
  expect(git.lookedBefore(git.now)).toBe(undefined);
});

it("takes the lock just before for the look: a merge looks under its first, and writes under its third", () => {
  const first = git.work();
  git.times.heard("index");
  git.pass(30);
  git.takeLock();
  git.times.heard("index.lock");
  git.remove("index.lock");
  git.times.heard("index.lock");
  git.pass(30);
  const third = git.work();
  expect(git.times.over(third.wrote)).toEqual({ taken: third.taken, looked: first.taken });
  git.times.heard("index");
  git.pass(200);
  const later = git.work();
  expect(git.lookedBefore(later.wrote)).toBe(later.taken);
});

it("takes no command for one that looked a second ago, however often git is asked", () => {
  for (let count = 0; count < 100; count++) {
    const { taken, wrote } = git.work();
    git.times.heard("index");
    expect(taken - git.lookedBefore(wrote)!).toBeLessThan(SECOND);
    git.pass(20);
  }
});

it("knows that `git stash` looks long before it takes its lock", () => {
  git.make("index.stash.7.lock");
  git.times.heard("index.stash.7.lock");
  const looked = git.now;
  git.pass(700);
  git.remove("index.stash.7.lock");
  git.make("index.stash.7");
  git.times.heard("index.stash.7");
  git.pass(700);
  git.remove("index.stash.7");
  git.times.heard("index.stash.7");
  const { wrote } = git.work();
  expect(git.lookedBefore(wrote)).toBe(looked);
  git.times.heard("index");
  // The next command has a look of its own.
  git.pass(200);
  const next = git.work();
  expect(git.lookedBefore(next.wrote)).toBe(next.taken);
});

it("does not take what was only made, `git stash create`, for the look of a later command", () => {
  git.make("index.stash.7");
  git.times.heard("index.stash.7");
  git.remove("index.stash.7");
  git.pass(2_000);
  const { taken, wrote } = git.work();
  expect(git.lookedBefore(wrote)).toBe(taken);
});

it("tells of two locks of one tick that they are one", () => {
  const taken = git.takeLock();
  git.times.heard("index.lock");
  git.finish();
  git.takeLock();
  git.times.heard("index.lock");
  git.pass(50);
  expect(git.lookedBefore(git.now)).toBe(taken);
});

it("forgets", () => {
  const { wrote } = git.work();
  git.times.heard("index");
  git.pass(20_000);
  git.work();
  git.times.heard("index");
  expect(git.lookedBefore(wrote)).toBe(undefined);
});

it("knows nothing where files have no time of birth", () => {
  const times = new LockTimes(() => ({ born: 0n, written: 5n }));
  times.look();
  expect(times.over(5n)).toBe(undefined);
});
