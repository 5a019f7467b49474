import { expect, test, vi } from "vitest";
import { Ledger } from "./ledger.ts";

test("records that cannot be written down are told of, and written later", async () => {
  const kept = new Map<string, string>();
  const waiting: (() => void)[] = [];
  const told: unknown[] = [];
  let failures = 1;
  const ledger = new Ledger(
    {
      get: async (key) => kept.get(key),
      list: async () => [...kept].map(([key, value]) => ({ key, value })),
      put: async (key, value) => {
        if (failures-- > 0) throw new Error("the journal is full");
        kept.set(key, value!);
      },
    },
    {
      timers: {
        after: (_, run) => {
          waiting.push(run);
          return { cancel: () => undefined };
        },
      },
      settle: () => Promise.resolve(),
      onWritten: (error) => told.push(error),
      textAt: () => Promise.reject(new Error("no version is asked for")),
    },
  );
  const passes = async () => {
    waiting.shift()!();
    await new Promise((resolve) => setImmediate(resolve));
  };
  ledger.note("@src~file~1", { path: "a.txt", synced: undefined, left: { version: 3 } });
  await passes();
  expect(told).toEqual([new Error("the journal is full")]);
  expect(kept.size).toBe(0);
  await passes();
  expect(told).toHaveLength(2);
  expect(told[1]).toBeUndefined();
  expect((await ledger.read()).get("@src~file~1")).toMatchObject({ path: "a.txt" });
  expect(waiting).toEqual([]);
});

test("a record is written down when a power cut could not bring back the file before it", async () => {
  const kept: string[] = [];
  const settling: (() => void)[] = [];
  const ledger = new Ledger(
    {
      get: async () => undefined,
      list: async () => [],
      put: async (key) => void kept.push(key),
    },
    {
      timers: { after: () => ({ cancel: () => undefined }) },
      settle: () => new Promise((resolve) => settling.push(resolve)),
      onWritten: () => undefined,
      textAt: () => Promise.reject(new Error("no version is asked for")),
    },
  );
  const record = { path: "a.txt", synced: undefined, left: { version: 3 } };
  ledger.note("@src~file~1", record);
  const written = ledger.write();
  await vi.waitFor(() => expect(settling).toHaveLength(1));
  // Saved meanwhile: for its folder nobody has waited.
  ledger.note("@src~file~2", record);
  expect(kept).toEqual([]);
  settling[0]!();
  await written;
  expect(kept).toEqual(["@src~file~1"]);
});
