import { expect, it } from "vitest";
import type { Store, StoredCommit } from "../../src/kernel/ports.ts";
import { batch, commit, encode, grow, type NewWorld, readAll } from "./support.ts";

const A = "main~ann~1";
const B = "main~bob~1";

export function journalTests(newWorld: NewWorld): void {
  it("pages through everything without gap or repeat, whatever is compacted meanwhile", async () => {
    await using world = await newWorld();
    await using store = await world.open();
    await interleave(store);
    const before = await readAll(store, 1000);
    expect(before.map((one) => one.position)).toEqual(before.map((_, index) => index + 1));
    for (const limit of [1, 7, 100]) expect(await readAll(store, limit)).toEqual(before);
    const seen = await store.changesSince(0, 50);
    await store.compact(A, 60);
    seen.push(...(await store.changesSince(50, 50)));
    await store.compact(B, 1000);
    await store.compact(A, 1000);
    seen.push(...(await readAll(store, 50, 100)));
    expect(seen).toEqual(before);
    for (const limit of [1, 7, 100]) expect(await readAll(store, limit)).toEqual(before);
    expect(await store.head()).toBe(before.length);
  });

  it("gives a block's commits behind any version, before and after compaction", async () => {
    await using world = await newWorld();
    await using store = await world.open();
    await interleave(store);
    const all = await store.commitsOf(A, 0);
    expect(all.map((one) => one.version)).toEqual(all.map((_, index) => index + 1));
    for (const upTo of [10, 11, 60, 1000]) {
      await store.compact(A, upTo);
      for (const after of [0, 9, 10, 11, 59, 60, all.length - 1, all.length, all.length + 5]) {
        expect(await store.commitsOf(A, after)).toEqual(all.slice(after));
        for (const end of [0, 9, 12, 33, 60, 61, all.length - 1, all.length, all.length + 5])
          expect(await store.commitsOf(A, after, end)).toEqual(all.slice(after, end));
      }
    }
    expect(await store.commitsOf("main~nobody~1", 0)).toEqual([]);
    await store.compact("main~nobody~1", 10);
  });

  it("knows a block's version at every position, before and after compaction", async () => {
    await using world = await newWorld();
    await using store = await world.open();
    await interleave(store);
    const whole = await readAll(store, 1000);
    const expectVersions = async (): Promise<void> => {
      for (const block of [A, B, "main~nobody~1"]) {
        let version = 0;
        expect(await store.versionAt(block, 0)).toBe(0);
        for (const one of whole) {
          if (one.block === block) version = one.version;
          expect([one.position, await store.versionAt(block, one.position)]).toEqual([
            one.position,
            version,
          ]);
        }
      }
    };
    await expectVersions();
    for (const upTo of [10, 11, 60]) {
      await store.compact(A, upTo);
      await expectVersions();
    }
    await store.compact(A, 1000);
    await store.compact(B, 20);
    await expectVersions();
  });

  it("pages by the size of bodies, at least one at a time, compacted or not", async () => {
    await using world = await newWorld();
    await using store = await world.open();
    const sizes = [10, 90_000, 5, 5, 200_000, 0, 60_000, 60_000, 1, 70_000, 3, 3];
    for (const [at, size] of sizes.entries()) {
      const [block, version] = at % 3 === 0 ? [B, at / 3] : [A, at - Math.ceil((at + 1) / 3)];
      await store.commit(batch([commit(block, version, { body: new Uint8Array(size) })]));
    }
    const whole = await readAll(store, 1000);
    for (const compact of ["none", "some", "all"]) {
      if (compact === "some") await store.compact(A, 4);
      if (compact === "all") for (const block of [A, B]) await store.compact(block, 1000);
      for (const bytes of [0, 1, 1000, 130_000, 1_000_000]) {
        const seen: StoredCommit[] = [];
        while (seen.length < whole.length) {
          const page = await store.changesSince(seen.length, 5, bytes);
          const next = whole.slice(seen.length, seen.length + 5);
          expect(page).toEqual(next.slice(0, page.length));
          const sum = (of: readonly StoredCommit[]): number =>
            of.reduce((all, { body }) => all + body.length, 0);
          expect(page.length === 1 || sum(page) <= bytes).toBe(true);
          if (page.length < next.length)
            expect(sum(next.slice(0, page.length + 1))).toBeGreaterThan(bytes);
          seen.push(...page);
        }
      }
    }
  });

  it("goes on after compaction as if there had been none", async () => {
    await using world = await newWorld();
    await using store = await world.open();
    await grow(store, A, 0, 30);
    await store.compact(A, 30);
    expect(await store.commit(batch([commit(A, 29)]))).toMatchObject({
      kind: "moved",
      missing: [{ version: 30, position: 30 }],
    });
    await grow(store, A, 30, 30);
    await store.compact(A, 60);
    expect(await store.commit(batch([commit(A, 3)]))).toMatchObject({ kind: "moved" });
    expect(await store.commit(batch([commit(B, 0)]))).toMatchObject({ positions: [61] });
    expect((await store.commitsOf(A, 0)).map((one) => one.position)).toEqual(
      Array.from({ length: 60 }, (_, index) => index + 1),
    );
  });

  it("compacts bodies of every size, from none to more than a segment", async () => {
    await using world = await newWorld();
    await using store = await world.open();
    const sizes = [0, 1, 70_000, 30_000, 30_000, 30_000, 200_000, 5, 5, 0, 65_536, 3];
    for (const [version, size] of sizes.entries()) {
      const body = new Uint8Array(size).fill(version);
      await store.commit(batch([commit(A, version, { body, message: `size ${size}` })]));
    }
    const before = await store.commitsOf(A, 0);
    await store.compact(A, 1000);
    expect(await store.commitsOf(A, 0)).toEqual(before);
    expect(await readAll(store, 3)).toEqual(before);
  });

  it("keeps everything when it is closed and opened again", async () => {
    await using world = await newWorld();
    const first = await world.open();
    await interleave(first);
    const before = await readAll(first, 1000);
    await first.compact(A, 50);
    await first[Symbol.asyncDispose]();
    await using second = await world.open();
    expect(await readAll(second, 64)).toEqual(before);
    expect(await second.lastSequence("main", "ann")).toBe(1);
    expect(await second.verify()).toEqual([]);
  });

  it("shows one writer's commits to another as soon as they are acknowledged", async () => {
    await using world = await newWorld();
    await using first = await world.open();
    await using second = await world.open();
    for (let version = 0; version < 20; version += 1) {
      const [writer, reader] = version % 2 === 0 ? [first, second] : [second, first];
      await grow(writer, A, version, 1);
      if (version === 12) await writer.compact(A, 12);
      expect(await reader.head()).toBe(version + 1);
      expect(await reader.commitsOf(A, version)).toHaveLength(1);
    }
  });

  it("tells how large it is, by kind", async () => {
    await using world = await newWorld();
    await using store = await world.open();
    await store.commit(batch([commit(A, 0, { body: encode("x".repeat(50_000)) })]));
    const size = await store.size();
    expect(Object.keys(size).toSorted()).toEqual(
      [
        "calls",
        "journal",
        "keyframes",
        "other",
        "rows",
        "search",
        "segments",
        "snapshots",
      ].toSorted(),
    );
    expect(size["journal"]).toBeGreaterThanOrEqual(50_000);
  });
}

/** 120 commits of A among 40 of B, some several in one batch. */
async function interleave(store: Store): Promise<void> {
  for (let round = 0; round < 40; round += 1) {
    const a = round * 3;
    await store.commit(
      batch([commit(A, a, { edit: `e-${round}` }), commit(B, round), commit(A, a + 1)]),
    );
    await store.commit(batch([commit(A, a + 2, { message: `round ${round}`, model: "m" })]));
  }
}
