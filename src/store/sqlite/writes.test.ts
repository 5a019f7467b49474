import { mkdir, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { batch, commit, encode } from "../../../test/store-contract/support.ts";
import { temporaryFolder } from "../../../test/support/temporary-folder.ts";
import { openSqliteStore } from "./sqlite-store.ts";

const BLOCKS = ["main~ann~1", "main~ann~2", "main~ann~3"];

test("whoever writes, here or on the thread, nothing of the other is lost or doubled", async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, "state.db");
  // Any write takes longer: two are made here, the next 16, 32 … on the thread.
  await using store = await openSqliteStore(file, { held: 1e-6 });
  const positions: number[] = [];
  const writing = BLOCKS.map(async (block) => {
    for (let version = 0; version < 120; version += 1) {
      const outcome = await store.commit(
        batch([
          commit(block, version, { edit: `${block}-${version}`, body: encode(`${version}`) }),
        ]),
      );
      if (outcome.kind !== "committed") throw new Error(outcome.kind);
      positions.push(...outcome.positions);
      if (version % 25 === 24)
        await store.putKeyframe(block, { version, text: "x".repeat(version) });
      if (version % 40 === 39) await store.compact(block, version - 10);
    }
  });
  await Promise.all(writing);
  expect(positions.toSorted((a, b) => a - b)).toEqual(positions.map((_, index) => index + 1));
  for (const block of BLOCKS) {
    const versions = (await store.commitsOf(block, 0)).map(({ version }) => version);
    expect(versions).toEqual(Array.from({ length: 120 }, (_, index) => index + 1));
  }
  expect(await store.verify()).toEqual([]);
});

test("a process that writes little starts no thread, and its WAL is gone when it has closed", async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, "state.db");
  let threads = 0;
  const count = (): void => void (threads += 1);
  process.on("worker", count);
  {
    await using store = await openSqliteStore(file, { held: Infinity });
    await store.commit(batch([commit("main~ann~1", 0, { edit: "e1", body: encode("one") })]));
    await store.putKeyframe("main~ann~1", { version: 1, text: "one" });
  }
  process.off("worker", count);
  expect(threads).toBe(0);
  expect(await readdir(folder.path)).not.toContain("state.db-wal");
  await using again = await openSqliteStore(file);
  expect((await again.keyframe("main~ann~1"))?.text).toBe("one");
});

test("whoever is alone writes here however long it takes; with company, the thread does", async () => {
  using folder = temporaryFolder();
  let threads = 0;
  const count = (): void => void (threads += 1);
  process.on("worker", count);
  using _ = { [Symbol.dispose]: () => void process.off("worker", count) };
  let hasCompany = false;
  // Any write takes longer.
  const how = { held: 1e-6, hasCompany: () => hasCompany };
  await using store = await openSqliteStore(join(folder.path, "state.db"), how);
  let version = 0;
  const write = async (times: number): Promise<void> => {
    for (let left = times; left > 0; left -= 1) {
      const one = commit("main~ann~1", version, { edit: `e${version}`, body: encode("x") });
      expect((await store.commit(batch([one]))).kind).toBe("committed");
      version += 1;
    }
  };
  await write(40);
  expect(threads).toBe(0);
  hasCompany = true;
  // One that holds others is enough, since those before it were as slow.
  await write(2);
  expect(threads).toBe(1);
  expect((await store.commitsOf("main~ann~1", 0)).length).toBe(42);
});

test("a text that is kept whole again and again has no index made", async () => {
  using folder = temporaryFolder();
  let threads = 0;
  const count = (): void => void (threads += 1);
  process.on("worker", count);
  using _ = { [Symbol.dispose]: () => void process.off("worker", count) };
  await using store = await openSqliteStore(join(folder.path, "state.db"), { held: Infinity });
  const keep = async (block: string, version: number): Promise<void> => {
    await store.commit(batch([commit(block, version - 1, { edit: `${block}-${version}` })]));
    await store.putKeyframe(block, { version, text: "x".repeat(200_000) });
  };
  for (let version = 1; version <= 12; version += 1) await keep("main~ann~1", version);
  expect(threads).toBe(0);
  for (let number = 2; number <= 6; number += 1) await keep(`main~ann~${number}`, 1);
  await vi.waitFor(() => expect(threads).toBe(1));
});

test("the WAL begins anew while somebody writes without a pause", async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, "state.db");
  await using store = await openSqliteStore(file, { held: Infinity });
  const body = encode("x".repeat(4_000));
  let largest = 0;
  let written = 0;
  for (let version = 0; version < 3_000; version += 1) {
    await store.commit(batch([commit("main~ann~1", version, { edit: `e${version}`, body })]));
    const { size } = await stat(`${file}-wal`);
    if (size > largest) written = version;
    largest = Math.max(largest, size);
  }
  // Six megabytes for 256 of them, and what is written while that is moved; it would be 50 otherwise, and never stop.
  expect(largest).toBeLessThan(35_000_000);
  expect(written).toBeLessThan(2_900);
  expect(await store.verify()).toEqual([]);
});

test("a store whose thread cannot open the file refuses to write, and closes", async () => {
  using folder = temporaryFolder();
  const inside = join(folder.path, "gone");
  await mkdir(inside);
  await using store = await openSqliteStore(join(inside, "state.db"), { held: 0 });
  await rm(inside, { recursive: true });
  const writing = store.commit(batch([commit("main~ann~1", 0, { edit: "e", body: encode("a") })]));
  await expect(writing).rejects.toMatchObject({ message: expect.stringContaining("opened") });
});
