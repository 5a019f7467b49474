import { describe, expect, it } from "vitest";
import { describeStore } from "../../../test/store-contract/describe-store.ts";
import { batch, commit } from "../../../test/store-contract/support.ts";
import type { Fault, WriteStep } from "./faults.ts";
import { MemoryDisk } from "./memory-disk.ts";
import { MemoryStore } from "./memory-store.ts";

describeStore(
  "memory store",
  async () => {
    const disk = new MemoryDisk();
    return { open: async () => new MemoryStore({ disk }), async [Symbol.asyncDispose]() {} };
  },
  1000,
);

describe("memory store: faults", () => {
  const A = "main~ann~1";
  const at = (number: number, fault: Fault) => (step: WriteStep) =>
    step.number === number ? fault : "pass";

  it("fails one write and goes on", async () => {
    for (const number of [1, 2]) {
      const store = new MemoryStore({ faults: at(number, "fail") });
      await expect(store.commit(batch([commit(A, 0)]))).rejects.toMatchObject({
        code: "journal_unwritable",
        facts: { outcome: "not_written" },
      });
      expect(await store.head()).toBe(0);
      expect(await store.commit(batch([commit(A, 0)]))).toMatchObject({ positions: [1] });
    }
  });

  it("loses what was not durable in a crash, and keeps the rest", async () => {
    for (const [fault, kept] of [
      ["crash", 1],
      ["crash_after", 2],
    ] as const) {
      const store = new MemoryStore({ faults: at(4, fault) });
      await store.commit(batch([commit(A, 0)]));
      await expect(store.commit(batch([commit(A, 1)]))).rejects.toMatchObject({ code: "closed" });
      await expect(store.head()).rejects.toMatchObject({ facts: { crashed: true } });
      expect(await new MemoryStore({ disk: store.disk }).head()).toBe(kept);
    }
  });

  it("shows a write to nobody before its fsync", async () => {
    const fsync = Promise.withResolvers<Fault>();
    const store = new MemoryStore({
      faults: (step) => (step.number === 2 ? fsync.promise : "pass"),
    });
    const other = new MemoryStore({ disk: store.disk });
    const writing = store.commit(batch([commit(A, 0)]));
    const next = store.commit(batch([commit(A, 1)]));
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
    expect([await store.head(), await other.head()]).toEqual([0, 0]);
    fsync.resolve("pass");
    expect(await writing).toMatchObject({ positions: [1] });
    expect(await next).toMatchObject({ positions: [2] });
    expect(await other.head()).toBe(2);
  });
});
