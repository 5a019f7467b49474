import { describe, expect, it } from "vitest";
import { type PooledThread, ThreadPool } from "./thread-pool.ts";

class FakeThread implements PooledThread {
  ended = false;

  async end(): Promise<void> {
    this.ended = true;
  }
}

function pool(): { pool: ThreadPool<FakeThread>; threads: FakeThread[] } {
  const threads: FakeThread[] = [];
  const start = (): FakeThread => {
    const thread = new FakeThread();
    threads.push(thread);
    return thread;
  };
  return { pool: new ThreadPool({ threads: 4, perCaller: 2, start }), threads };
}

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
};

describe("a pool of threads", () => {
  it("lets nobody wait for a caller who has more than their share", async () => {
    const { pool: threads } = pool();
    const gates = new Map<string, () => void>();
    const begun: string[] = [];
    const work = (caller: string, name: string): Promise<void> =>
      threads.run(caller, async () => {
        begun.push(name);
        await new Promise<void>((resolve) => void gates.set(name, resolve));
      });
    const all = ["a1", "a2", "a3", "a4", "b1", "c1", "c2", "d1"].map((name) =>
      work(name[0]!, name),
    );
    await turns();
    expect(begun).toEqual(["a1", "a2", "b1", "c1"]);
    gates.get("b1")!();
    await turns();
    expect(begun.slice(4)).toEqual(["d1"]);
    gates.get("a1")!();
    await turns();
    expect(begun.slice(5)).toEqual(["a3"]);
    gates.get("c1")!();
    await turns();
    expect(begun.slice(6)).toEqual(["c2"]);
    for (let turn = 0; turn < 8; turn += 1) {
      for (const gate of gates.values()) gate();
      await turns();
    }
    await Promise.all(all);
    expect(begun).toHaveLength(8);
  });

  it("lets a third caller wait for one task, however much two others ask for", async () => {
    const { pool: threads } = pool();
    const running: { caller: string; end: () => void }[] = [];
    const begun: string[] = [];
    const work = (caller: string): Promise<void> =>
      threads.run(caller, async () => {
        begun.push(caller);
        await new Promise<void>((end) => void running.push({ caller, end }));
      });
    const hostile = Array.from({ length: 20 }, () => [work("a"), work("b")]).flat();
    await turns();
    const victims = [work("victim"), work("victim"), work("other")];
    for (let ended = 1; ended <= 3; ended++) {
      running.shift()!.end();
      await turns();
    }
    expect(begun.slice(4, 6)).toEqual(["victim", "other"]);
    // Equals take turns: neither of the two gets more than one task ahead of the other.
    while (running.length > 0) {
      running.shift()!.end();
      await turns();
      const left = (caller: string): number => begun.filter((each) => each === caller).length;
      expect(Math.abs(left("a") - left("b"))).toBeLessThanOrEqual(1);
    }
    await Promise.all([...hostile, ...victims]);
    expect(begun).toHaveLength(43);
  });

  it("gives work whose thread was ended another one, in the same place", async () => {
    const { pool: threads, threads: started } = pool();
    const begun: string[] = [];
    const gate = Promise.withResolvers<void>();
    const replacing = threads.run("a", async (thread, another) => {
      expect(another).toThrow("only when it was ended");
      await thread.end();
      const next = another();
      await gate.promise;
      return next;
    });
    const rest = ["a", "a", "b"].map((caller) =>
      threads.run(caller, async () => void begun.push(caller)),
    );
    await turns();
    // Its place is taken all the time: one more of this caller works beside it, and then the next.
    expect(begun).toEqual(["a", "b", "a"]);
    const retired = threads.retire();
    gate.resolve();
    await Promise.all([...rest, retired]);
    const [, next] = started;
    expect([await replacing, next!.ended]).toEqual([next, true]);
    expect(started.every(({ ended }) => ended)).toBe(true);
  });

  it("keeps one thread, drops those that were ended, and gives up all when it retires", async () => {
    const { pool: threads, threads: started } = pool();
    await Promise.all(["a", "b", "c"].map((caller) => threads.run(caller, turns)));
    expect(started.filter(({ ended }) => !ended)).toHaveLength(1);
    await threads.run("a", (thread) => thread.end());
    expect(started.every(({ ended }) => ended)).toBe(true);
    await expect(threads.run("a", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    const gate = Promise.withResolvers<void>();
    const late = threads.run("a", () => gate.promise);
    await turns();
    const retired = threads.retire();
    gate.resolve();
    await Promise.all([late, retired]);
    expect(started.every(({ ended }) => ended)).toBe(true);
    await threads.run("a", turns);
    expect(started.filter(({ ended }) => !ended)).toHaveLength(1);
    await threads[Symbol.asyncDispose]();
    expect(started.every(({ ended }) => ended)).toBe(true);
  });
});
