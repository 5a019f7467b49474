import { expect, it } from "vitest";
import { batch, commit, type NewWorld } from "./support.ts";

const A = "main~ann~1";

export function leaseTests(newWorld: NewWorld): void {
  it("gives a lease to one holder until it expires or is released", async () => {
    await using world = await newWorld();
    await using store = await world.open();
    await using other = await world.open();
    const { granted, lease } = await store.acquire("run", "p1", 1000, 500);
    expect({ granted, lease }).toEqual({
      granted: true,
      lease: { name: "run", holder: "p1", token: 1, expires: 1500 },
    });
    expect(await other.acquire("run", "p2", 1499, 500)).toEqual({ granted: false, lease });
    expect(await other.acquire("run", "p1", 1499, 500)).toEqual({ granted: false, lease });
    expect(await store.renew(lease, 1400, 500)).toEqual({ ...lease, expires: 1900 });
    expect((await other.acquire("run", "p2", 1500, 500)).granted).toBe(false);
    const taken = await other.acquire("run", "p2", 1900, 500);
    expect(taken).toMatchObject({ granted: true, lease: { holder: "p2", token: 2 } });
    expect(await store.renew(lease, 1901, 500)).toBeUndefined();
    // A late release by the one before must not free what another holds.
    await store.release(lease);
    expect((await store.acquire("run", "p3", 1902, 500)).granted).toBe(false);
    await other.release(taken.lease);
    expect(await other.renew(taken.lease, 1902, 500)).toBeUndefined();
    expect(await store.acquire("run", "p3", 1902, 500)).toMatchObject({
      granted: true,
      lease: { token: 3 },
    });
  });

  it("gives a standing lease to one of two that ask at once", async () => {
    await using world = await newWorld();
    await using store = await world.open();
    await using other = await world.open();
    for (let round = 0; round < 10; round += 1) {
      const asked = await Promise.all([
        store.acquire(`run ${round}`, "p1", 0, 10),
        other.acquire(`run ${round}`, "p2", 0, 10),
      ]);
      expect(asked.filter(({ granted }) => granted)).toHaveLength(1);
      expect(asked[0].lease).toEqual(asked[1].lease);
    }
  });

  it("never gives a token twice, whatever is released, expired or opened again", async () => {
    await using world = await newWorld();
    for (let token = 1; token <= 6; token += 1) {
      await using store = await world.open();
      const { lease } = await store.acquire("run", "p", token * 1000, 10);
      expect(lease.token).toBe(token);
      if (token % 2 === 0) await store.release(lease);
    }
  });

  it("writes a fenced batch only while its lease is held", async () => {
    await using world = await newWorld();
    await using store = await world.open();
    const { lease } = await store.acquire("run", "p1", 0, 10);
    const fence = { lease: "run", token: lease.token };
    expect(await store.commit(batch([commit(A, 0)], { fence }))).toMatchObject({ positions: [1] });
    expect(await store.commit(batch([commit(A, 1)], { fence: { ...fence, token: 2 } }))).toEqual({
      kind: "fenced",
    });
    expect(
      await store.commit(batch([commit(A, 1)], { fence: { ...fence, lease: "none" } })),
    ).toEqual({ kind: "fenced" });
    await store.acquire("run", "p2", 10, 10);
    expect(await store.commit(batch([commit(A, 1)], { fence }))).toEqual({ kind: "fenced" });
    const second = { lease: "run", token: 2 };
    expect(await store.commit(batch([commit(A, 1)], { fence: second }))).toMatchObject({
      kind: "committed",
    });
    await store.release({ name: "run", holder: "p2", token: 2, expires: 20 });
    expect(await store.commit(batch([commit(A, 2)], { fence: second }))).toEqual({
      kind: "fenced",
    });
    expect(await store.head()).toBe(2);
  });
}
