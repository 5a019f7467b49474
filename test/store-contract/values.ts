import { expect, it } from "vitest";
import { batch, commit, encode, type NewWorld } from "./support.ts";

const A = "main~ann~1";

export function valueTests(newWorld: NewWorld): void {
  it("replaces keyframes and snapshots only by newer ones", async () => {
    await using world = await newWorld();
    await using store = await world.open();
    expect(await store.keyframe(A)).toBeUndefined();
    expect(await store.snapshot(A)).toBeUndefined();
    const long = "\ufeffnaïve \u{1f600}\r\n\0".repeat(1000);
    await store.putKeyframe(A, { version: 3, text: long });
    await store.putKeyframe(A, { version: 2, text: "older" });
    await store.putKeyframe(A, { version: 3, text: "the same" });
    expect(await store.keyframe(A)).toEqual({ version: 3, text: long });
    await store.putKeyframe(A, { version: 4, text: "" });
    expect(await store.keyframe(A)).toEqual({ version: 4, text: "" });
    await store.putSnapshot(A, { version: 2, bytes: encode(long) });
    await store.putSnapshot(A, { version: 1, bytes: encode("older") });
    const snapshot = await store.snapshot(A);
    expect(snapshot!.version).toBe(2);
    expect(Buffer.from(snapshot!.bytes).equals(encode(long))).toBe(true);
    await expect(store.putKeyframe(A, { version: 5, text: "\ud800" })).rejects.toMatchObject({
      code: "ill_formed_text",
    });
  });

  it("drops the snapshots of blocks that nobody touched since a position, and no others", async () => {
    await using world = await newWorld();
    await using store = await world.open();
    const [first, second, third] = [A, "main~ann~2", "main~ann~3"];
    for (const block of [first, second, third]) {
      await store.commit(batch([commit(block, 0)]));
      await store.putSnapshot(block, { version: 1, bytes: encode(block) });
    }
    await store.commit(batch([commit(first, 1)]));
    expect(await store.dropSnapshots(2)).toBe(1);
    expect(await store.dropSnapshots(2)).toBe(0);
    const left = await Promise.all([first, second, third].map((block) => store.snapshot(block)));
    expect(left.map((snapshot) => snapshot?.version)).toEqual([1, undefined, 1]);
    expect(await store.commitsOf(second, 0)).toHaveLength(1);
    expect(await store.dropSnapshots(await store.head())).toBe(2);
  });

  it("keeps named values in spaces, and loses them only when told", async () => {
    await using world = await newWorld();
    const store = await world.open();
    await Promise.all([
      store.put("settings", "b", "2"),
      store.put("settings", "a", "1"),
      store.put("other", "a", "3"),
      store.put("settings", "", ""),
    ]);
    expect(await store.get("settings", "a")).toBe("1");
    expect(await store.get("settings", "")).toBe("");
    expect(await store.get("settings", "c")).toBeUndefined();
    const keys = async (page: object): Promise<string[]> =>
      (await store.list("settings", page)).map(({ key }) => key);
    expect(await keys({})).toEqual(["", "a", "b"]);
    expect(await keys({ limit: 2 })).toEqual(["", "a"]);
    expect(await keys({ after: "", limit: 1 })).toEqual(["a"]);
    expect(await keys({ after: "a" })).toEqual(["b"]);
    await store.put("settings", "b", "4");
    await store.put("settings", "", undefined);
    await store.put("settings", "never there", undefined);
    await store[Symbol.asyncDispose]();
    await using again = await world.open();
    expect(await again.list("settings")).toEqual([
      { key: "a", value: "1" },
      { key: "b", value: "4" },
    ]);
    expect(await again.list("nothing")).toEqual([]);
  });
}
