import { expect, it } from "vitest";
import { batch, commit, grow, type NewWorld, readAll, row } from "./support.ts";

const A = "main~ann~1";
const B = "main~bob~1";

export function batchTests(newWorld: NewWorld): void {
  it("gives positions without gaps, in the order of a batch", async () => {
    await using world = await newWorld();
    await using store = await world.open();
    expect(await store.head()).toBe(0);
    expect(await store.commit(batch([commit(A, 0), commit(B, 0), commit(A, 1)]))).toEqual({
      kind: "committed",
      positions: [1, 2, 3],
    });
    expect(await store.commit(batch([commit(A, 2)]))).toEqual({
      kind: "committed",
      positions: [4],
    });
    expect(await store.head()).toBe(4);
    const versions = (await readAll(store, 10)).map(({ block, version }) => `${block} ${version}`);
    expect(versions).toEqual([`${A} 1`, `${B} 1`, `${A} 2`, `${A} 3`]);
  });

  it("keeps everything that a commit says", async () => {
    await using world = await newWorld();
    await using store = await world.open();
    const full = {
      edit: "e~1",
      actor: "ann",
      time: -5,
      call: "call",
      message: "naïve \u{1f600} \0",
      model: "m",
      turn: "t",
      tool: "block_edit",
      body: Uint8Array.of(0, 255, 7),
    };
    const view = new Uint8Array(100).fill(9).subarray(20, 30);
    await store.commit(batch([commit(A, 0, full), commit(A, 1, { body: view })]));
    const [first, second] = await store.commitsOf(A, 0);
    expect({ ...first, body: [...first!.body] }).toEqual({
      ...full,
      block: A,
      version: 1,
      position: 1,
      body: [0, 255, 7],
    });
    expect([...second!.body]).toEqual(Array.from({ length: 10 }, () => 9));
    expect(second!.call).toBeUndefined();
  });

  it("writes nothing of a batch of which one block has moved, and gives exactly what is missing", async () => {
    await using world = await newWorld();
    await using store = await world.open();
    await grow(store, A, 0, 3);
    await grow(store, B, 0, 1);
    const moved = await store.commit(
      batch([commit(B, 1), commit(A, 1)], { rows: [row(B)], calls: [call("c")] }),
    );
    expect(moved.kind).toBe("moved");
    const missing = moved.kind === "moved" ? moved.missing : [];
    expect(missing).toEqual(await store.commitsOf(A, 1));
    expect(missing).toHaveLength(2);
    expect(await store.head()).toBe(4);
    expect(await store.row(B)).toBeUndefined();
    expect(await store.call("ann", "c")).toBeUndefined();
  });

  it("gives what is missing of several blocks in the order of their positions", async () => {
    await using world = await newWorld();
    await using store = await world.open();
    for (let version = 0; version < 3; version += 1) {
      await grow(store, B, version, 1);
      await grow(store, A, version, 1);
    }
    const moved = await store.commit(batch([commit(A, 1), commit(B, 0)]));
    expect(moved.kind === "moved" && moved.missing.map((one) => one.position)).toEqual([
      1, 3, 4, 5, 6,
    ]);
  });

  it("lets one of two writers win each version, and tells the other what it missed", async () => {
    await using world = await newWorld();
    await using first = await world.open();
    await using second = await world.open();
    const wins = [0, 0];
    const race = async (writer: number) => {
      const store = [first, second][writer]!;
      for (let version = 0; version < 40;) {
        const outcome = await store.commit(batch([commit(A, version, { actor: `w-${writer}` })]));
        if (outcome.kind === "committed") {
          wins[writer]! += 1;
          version += 1;
        } else if (outcome.kind === "moved") {
          expect(outcome.missing[0]!.version).toBe(version + 1);
          version = outcome.missing.at(-1)!.version;
        } else expect.fail(outcome.kind);
      }
    };
    await Promise.all([race(0), race(1)]);
    const all = await readAll(second, 7);
    expect(all.map((one) => one.position)).toEqual(all.map((_, index) => index + 1));
    expect(all.map((one) => one.version)).toEqual(all.map((_, index) => index + 1));
    expect(all).toHaveLength(wins[0]! + wins[1]!);
  });

  it("answers many writers of different blocks at once, each by itself", async () => {
    await using world = await newWorld();
    await using store = await world.open();
    await grow(store, "main~x~1", 0, 1);
    const outcomes = await Promise.all([
      store.commit(batch([commit(A, 0)])),
      store.commit(batch([commit("main~x~1", 0)])),
      store.commit(batch([commit(B, 5)])).catch((error: unknown) => error),
      store.commit(batch([commit(B, 0)])),
    ]);
    expect(outcomes).toMatchObject([
      { kind: "committed", positions: [2] },
      { kind: "moved" },
      { code: "out_of_range" },
      { kind: "committed", positions: [3] },
    ]);
  });

  it("answers a call id of an actor once", async () => {
    await using world = await newWorld();
    await using store = await world.open();
    await store.commit(batch([commit(A, 0)], { calls: [call("c")] }));
    const again = { kind: "answered", call: call("c") };
    // The retry of what has landed has moved as well: that it was answered is what it must hear.
    expect(await store.commit(batch([commit(A, 0)], { calls: [call("c")] }))).toEqual(again);
    const other = { ...call("c"), fingerprint: "other", answer: "other" };
    expect(await store.commit(batch([commit(A, 1)], { calls: [other] }))).toEqual(again);
    const elsewhere = { ...call("c"), actor: "bob" };
    expect(await store.commit(batch([commit(A, 1)], { calls: [elsewhere] }))).toMatchObject({
      kind: "committed",
    });
    expect(await store.call("ann", "c")).toEqual(call("c"));
    expect(await store.call("bob", "c")).toEqual(elsewhere);
    expect(await store.call("cid", "c")).toBeUndefined();
    expect(await store.commit(batch([], { calls: [call("without commits")] }))).toEqual({
      kind: "committed",
      positions: [],
    });
  });

  it("refuses malformed batches and keeps nothing of them", async () => {
    await using world = await newWorld();
    await using store = await world.open();
    const malformed = [
      batch([commit(A, 0), commit(A, 2)]),
      batch([commit(A, 0)], { rows: [row(B)] }),
      batch([commit(A, 0)], { rows: [row(A), row(A)] }),
      batch([commit(A, 0), commit(B, 0)], { rows: [row(A), row(B, { order: A })] }),
      batch([commit(A, 0)], { calls: [call("c"), call("c")] }),
      batch([commit("no block", 0)]),
      batch([commit(A, -1)]),
      batch([commit(A, 0, { time: 1.5 })]),
    ];
    for (const one of malformed) {
      await expect(store.commit(one)).rejects.toMatchObject({ code: "invalid_argument" });
    }
    await expect(store.commit(batch([commit(A, 0, { message: "\ud800" })]))).rejects.toMatchObject({
      code: "ill_formed_text",
    });
    expect(await store.head()).toBe(0);
  });

  it("takes no calls after it was closed", async () => {
    await using world = await newWorld();
    const store = await world.open();
    await store[Symbol.asyncDispose]();
    await expect(store.head()).rejects.toMatchObject({ code: "closed" });
    await expect(store.commit(batch([commit(A, 0)]))).rejects.toMatchObject({ code: "closed" });
  });
}

function call(id: string) {
  return { actor: "ann", call: id, fingerprint: "f", answer: '{"version":1}', time: 1000 };
}
