import { expect, it } from "vitest";
import { batch, commit, encode, grow, type NewWorld, readAll, row } from "./support.ts";

const A = "main~ann~1";
const B = "main~bob~1";
const note = { space: "gaps", key: A, value: "purged" };

export function rewriteTests(newWorld: NewWorld): void {
  it("replaces bodies and messages wherever they are, and nothing else", async () => {
    await using world = await newWorld();
    const store = await world.open();
    await using other = await world.open();
    await store.commit(batch([commit(A, 0, { message: "first" })], { rows: [row(A)] }));
    await grow(store, A, 1, 39);
    await grow(store, B, 0, 3);
    await store.compact(A, 30);
    await store.putKeyframe(A, { version: 40, text: "secret" });
    await store.putKeyframe(B, { version: 3, text: "kept" });
    await store.putSnapshot(A, { version: 40, bytes: encode("secret") });
    const [before, whole] = [await store.commitsOf(A, 0), await readAll(store, 100)];
    const commits = [1, 2, 17, 30, 31, 40].map((version) => ({
      version,
      body: encode("gone".repeat(version)),
      message: version === 17 ? "it said something" : undefined,
    }));
    const changed = row(A, { attributes: '{"purged":true}' });
    await store.rewrite({ block: A, commits, row: changed, note });
    const byVersion = new Map(commits.map((one) => [one.version, one]));
    const wanted = before.map((one) => ({ ...one, ...byVersion.get(one.version) }));
    for (const one of [store, other]) {
      expect(await one.commitsOf(A, 0)).toEqual(wanted);
      expect(await one.commitsOf(A, 29)).toEqual(wanted.slice(29));
      expect(await readAll(one, 7)).toEqual([...wanted, ...whole.slice(40)]);
      expect(await one.row(A)).toEqual({ ...changed, version: 1, position: 1, created: 1 });
      expect(await one.keyframe(A)).toBeUndefined();
      expect(await one.snapshot(A)).toBeUndefined();
      expect(await one.keyframe(B)).toEqual({ version: 3, text: "kept" });
      expect(await one.get("gaps", A)).toBe("purged");
      expect(await one.verify()).toEqual([]);
    }
    // It goes on as if it had always been so.
    await store.compact(A, 1000);
    expect(await store.commit(batch([commit(A, 29)]))).toMatchObject({
      kind: "moved",
      missing: wanted.slice(29).map(({ version }) => ({ version })),
    });
    await grow(store, A, 40, 1);
    await store.putKeyframe(A, { version: 1, text: "anew" });
    expect(await store.keyframe(A)).toEqual({ version: 1, text: "anew" });
    await store.rewrite({ block: A, commits: [], note: { ...note, value: "again" } });
    expect((await store.commitsOf(A, 0)).slice(0, 40)).toEqual(wanted);
    expect(await store.get("gaps", A)).toBe("again");
    await store[Symbol.asyncDispose]();
    await using again = await world.open();
    expect((await again.commitsOf(A, 0)).slice(0, 40)).toEqual(wanted);
  });

  it("is refused whole when any of it cannot be", async () => {
    await using world = await newWorld();
    await using store = await world.open();
    await store.commit(batch([commit(A, 0)], { rows: [row(A)] }));
    await store.commit(batch([commit(B, 0)]));
    await store.putKeyframe(A, { version: 1, text: "there" });
    const one = { version: 1, body: encode("x"), message: undefined };
    const refused = [
      { block: A, commits: [one, { ...one, version: 2 }], note, code: "out_of_range" },
      { block: "main~no~1", commits: [one], note, code: "out_of_range" },
      { block: A, commits: [one, { ...one, version: 0 }], note, code: "invalid_argument" },
      { block: A, commits: [one, one], note, code: "invalid_argument" },
      { block: A, commits: [one], row: row(B), note, code: "invalid_argument" },
      { block: B, commits: [one], row: row(B), note, code: "invalid_argument" },
      { block: A, commits: [{ ...one, message: "\ud800" }], note, code: "ill_formed_text" },
    ];
    for (const { code, ...rewrite } of refused) {
      await expect(store.rewrite(rewrite)).rejects.toMatchObject({ code });
    }
    await store.commit(batch([commit(B, 1)], { rows: [row(B)] }));
    const taken = { block: A, commits: [one], row: row(A, { order: B }), note };
    await expect(store.rewrite(taken)).rejects.toMatchObject({ code: "invalid_argument" });
    expect((await store.commitsOf(A, 0))[0]!.body).toEqual(commit(A, 0).body);
    expect(await store.row(A)).toMatchObject(row(A));
    expect(await store.keyframe(A)).toEqual({ version: 1, text: "there" });
    expect(await store.get("gaps", A)).toBeUndefined();
  });

  it("forgets calls by age and by what they answered", async () => {
    await using world = await newWorld();
    await using store = await world.open();
    const calls = ["old", "new secret", "new"].map((answer, index) => ({
      actor: index === 1 ? "bob" : "ann",
      call: `c-${index}`,
      fingerprint: "f",
      answer,
      time: 1000 + index,
    }));
    await store.commit(batch([commit(A, 0)], { calls }));
    expect(await store.forgetCalls({ before: 1000 })).toBe(0);
    expect(await store.forgetCalls({ before: 1001 })).toBe(1);
    expect(await store.call("ann", "c-0")).toBeUndefined();
    expect(await store.forgetCalls({ containing: "SECRET" })).toBe(0);
    expect(await store.forgetCalls({ containing: "secret" })).toBe(1);
    expect(await store.call("bob", "c-1")).toBeUndefined();
    expect(await store.call("ann", "c-2")).toEqual(calls[2]);
    await expect(store.forgetCalls({ containing: "\ud800" })).rejects.toMatchObject({
      code: "ill_formed_text",
    });
    // What was forgotten may be said again.
    expect(await store.commit(batch([commit(A, 1)], { calls: [calls[0]!] }))).toMatchObject({
      kind: "committed",
    });
  });

  it("gives free space back and keeps every answer", async () => {
    await using world = await newWorld();
    await using store = await world.open();
    await grow(store, A, 0, 40);
    await store.putKeyframe(A, { version: 40, text: "text" });
    await store.compact(A, 39);
    const before = await readAll(store, 100);
    await Promise.all([store.vacuum(), grow(store, B, 0, 5), store.vacuum()]);
    expect((await readAll(store, 100)).slice(0, 40)).toEqual(before);
    expect(await store.keyframe(A)).toEqual({ version: 40, text: "text" });
    expect(await store.commitsOf(B, 0)).toHaveLength(5);
    expect(await store.verify()).toEqual([]);
  });
}
