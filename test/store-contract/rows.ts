import { expect, it } from "vitest";
import { scaled } from "../support/counts.ts";
import { batch, commit, type NewWorld, row } from "./support.ts";

const A = "main~ann~1";
const B = "main~ann~2";

export function rowTests(newWorld: NewWorld): void {
  it("keeps one row per block, with the version and position that made it so", async () => {
    await using world = await newWorld();
    await using store = await world.open();
    expect(await store.row(A)).toBeUndefined();
    await store.commit(batch([commit(A, 0), commit(A, 1)], { rows: [row(A)] }));
    expect(await store.row(A)).toEqual({ ...row(A), version: 2, position: 2, created: 2 });
    await store.commit(batch([commit(A, 2)]));
    expect(await store.row(A)).toMatchObject({ version: 2, position: 2 });
    const changed = row(A, { status: "done", attributes: '{"a":"\u{1f600}"}', parent: B });
    await store.commit(batch([commit(A, 3)], { rows: [changed] }));
    expect(await store.row(A)).toEqual({ ...changed, version: 4, position: 4, created: 2 });
    expect(await store.children({ context: "main", parent: null, limit: 10 })).toEqual([]);
    expect(await store.children({ context: "main", parent: B, limit: 10 })).toHaveLength(1);
    expect(await store.rowsWithStatus("pending")).toEqual([]);
    expect(await store.rowsWithStatus("done")).toHaveLength(1);
  });

  it("gives each place among siblings to one block", async () => {
    await using world = await newWorld();
    await using store = await world.open();
    const [a, b] = [row(A, { order: "a" }), row(B, { order: "b" })];
    await store.commit(batch([commit(A, 0), commit(B, 0)], { rows: [a, b] }));
    const outcome = await store.commit(batch([commit(B, 1)], { rows: [{ ...b, order: "a" }] }));
    expect(outcome).toEqual({
      kind: "occupied",
      row: { ...a, version: 1, position: 1, created: 1 },
    });
    expect(await store.head()).toBe(2);
    const swapped = [
      { ...a, order: "b" },
      { ...b, order: "a" },
    ];
    await store.commit(batch([commit(A, 1), commit(B, 1)], { rows: swapped }));
    const children = await store.children({ context: "main", parent: null, limit: 10 });
    expect(children.map((child) => child.block)).toEqual([B, A]);
    const elsewhere = row("other~ann~1", { context: "other", order: "a" });
    const third = await store.commit(batch([commit(elsewhere.block, 0)], { rows: [elsewhere] }));
    expect(third.kind).toBe("committed");
  });

  it("lists by context and status in block order", async () => {
    await using world = await newWorld();
    await using store = await world.open();
    const blocks = ["b~x~10", "a~x~1", "b~x~9", "a~x~2", "@src~file~7"];
    for (const [index, block] of blocks.entries()) {
      const status = index % 2 === 0 ? "running" : "done";
      const context = block.split("~")[0]!;
      const rows = [row(block, { context, status })];
      await store.commit(batch([commit(block, 0)], { rows }));
    }
    const names = async (query: Parameters<typeof store.rows>[0]) =>
      (await store.rows(query)).map((one) => one.block);
    expect(await names({ limit: 10 })).toEqual([
      "@src~file~7",
      "a~x~1",
      "a~x~2",
      "b~x~10",
      "b~x~9",
    ]);
    expect(await names({ limit: 2, after: "a~x~1" })).toEqual(["a~x~2", "b~x~10"]);
    expect(await names({ context: "b", limit: 10 })).toEqual(["b~x~10", "b~x~9"]);
    expect(await names({ context: "b", limit: 10, after: "b~x~10" })).toEqual(["b~x~9"]);
    expect(await names({ context: "none", limit: 10 })).toEqual([]);
    expect(await names({ limit: Infinity })).toHaveLength(5);
    expect(await store.children({ context: "b", parent: null, limit: Infinity })).toHaveLength(2);
    expect(await store.changesSince(0, Infinity)).toHaveLength(5);
    const running = await store.rowsWithStatus("running");
    expect(running.map((one) => one.block)).toEqual(["@src~file~7", "b~x~10", "b~x~9"]);
  });

  it("knows the last number each actor used in each context", async () => {
    await using world = await newWorld();
    await using store = await world.open();
    await store.commit(batch([commit("main~ann~9", 0), commit("main~ann~10", 0)]));
    await store.commit(batch([commit("main~ann~4", 0), commit("side~ann~2", 0)]));
    await store.commit(batch([commit("main~ann~9", 1)]));
    expect(await store.lastSequence("main", "ann")).toBe(10);
    expect(await store.lastSequence("side", "ann")).toBe(2);
    expect(await store.lastSequence("main", "bob")).toBe(0);
  });

  const many = scaled(100_000);
  it(`finds a page of ${many} siblings without reading the others`, async () => {
    await using world = await newWorld();
    await using store = await world.open();
    const order = (number: number) => String(number).padStart(6, "0");
    for (let first = 1; first <= many; first += 5000) {
      const numbers = Array.from({ length: 5000 }, (_, index) => first + index);
      const commits = numbers.map((number) => commit(`main~ann~${number}`, 0));
      const rows = numbers.map((number) => row(`main~ann~${number}`, { order: order(number) }));
      await store.commit(batch(commits, { rows }));
    }
    const page = async (after: number | undefined, newestFirst: boolean) => {
      const from = after === undefined ? {} : { after: order(after) };
      const query = { context: "main", parent: null, limit: 3, newestFirst, ...from };
      return (await store.children(query)).map((one) => Number(one.order));
    };
    expect(await page(undefined, false)).toEqual([1, 2, 3]);
    expect(await page(undefined, true)).toEqual([many, many - 1, many - 2]);
    const half = many / 2;
    expect(await page(half, false)).toEqual([half + 1, half + 2, half + 3]);
    expect(await page(half, true)).toEqual([half - 1, half - 2, half - 3]);
    expect(await page(many - 1, false)).toEqual([many]);
    // Were a page to cost what all siblings cost, 2,000 of them would take minutes.
    for (let number = 0; number < 2000; number += 1) {
      const at = (number * 49) % (many - 1000);
      expect(await page(at, false)).toEqual([at + 1, at + 2, at + 3]);
    }
    expect(await store.lastSequence("main", "ann")).toBe(many);
  });
}
