import { expect, it } from "vitest";
import { Random } from "../../src/base/index.ts";
import type { EditRow, NewCommit, Store } from "../../src/kernel/ports.ts";
import { scaled, seed } from "../support/counts.ts";
import { StoreModel } from "./model.ts";
import { batch, commit, type NewWorld, row } from "./support.ts";

const A = "main~ann~1";
const B = "main~bob~1";

const text = (block: string, version: number, edit: string, actor = "ann"): NewCommit =>
  commit(block, version, { edit, actor, undo: { kind: "text" } });

const flip = (
  block: string,
  version: number,
  edit: string,
  active: boolean,
  actor = "ann",
): NewCommit =>
  commit(block, version, { edit: `flip-${edit}`, actor, undo: { kind: "flip", edit, active } });

export function editTests(newWorld: NewWorld, fullRuns: number): void {
  it("knows of each Edit who made it, where, and from when to when", async () => {
    await using world = await newWorld();
    const store = await world.open();
    await store.commit(batch([text(B, 0, "e1"), commit(B, 1), text(A, 0, "e1")]));
    await store.commit(batch([text(A, 1, "e2", "bob"), commit(A, 2, { edit: "e1" })]));
    await store.commit(batch([text(A, 3, "e1")]));
    const first = { edit: "e1", actor: "ann", blocks: [A, B], first: 1, last: 6, active: true };
    const second = { edit: "e2", actor: "bob", blocks: [A], first: 4, last: 4, active: true };
    for (const one of [store, await world.open()]) {
      expect(await one.edit("e1")).toEqual(first);
      expect(await one.edit("e2")).toEqual(second);
      expect(await one.edit("edit-1")).toBeUndefined();
      expect(await one.newestEdit("ann")).toEqual(first);
      expect(await one.newestEdit("bob")).toEqual(second);
      expect(await one.newestEdit("cid")).toBeUndefined();
      await one[Symbol.asyncDispose]();
    }
    await using again = await world.open();
    expect(await again.edit("e1")).toEqual(first);
    expect(await again.verify()).toEqual([]);
  });

  it("lets an actor redo what it undid last, until it writes again", async () => {
    await using world = await newWorld();
    await using store = await world.open();
    await using other = await world.open();
    const version = versions();
    const write = (...made: ((version: number) => NewCommit)[]) =>
      store.commit(batch(made.map((one) => one(version()))));
    const undone = async (actor: string) => (await other.newestUndone(actor))?.edit;
    const newest = async (actor: string) => (await other.newestEdit(actor))?.edit;
    await write((at) => text(A, at, "e1"));
    await write((at) => text(A, at, "e2"));
    await write((at) => text(A, at, "e3", "bob"));
    expect(await undone("ann")).toBeUndefined();
    await write((at) => flip(A, at, "e2", false));
    await write((at) => flip(A, at, "e1", false));
    expect(await newest("ann")).toBeUndefined();
    expect(await other.newestUndone("ann")).toMatchObject({
      edit: "e1",
      active: false,
      flipped: { actor: "ann", position: 5 },
    });
    // What bob undid is bob's to redo, whoever made it.
    await write((at) => flip(A, at, "e2", true, "bob"));
    await write((at) => flip(A, at, "e2", false, "bob"));
    expect([await undone("ann"), await undone("bob")]).toEqual(["e1", "e2"]);
    await write((at) => flip(A, at, "e1", true));
    expect([await undone("ann"), await newest("ann")]).toEqual([undefined, "e1"]);
    await write((at) => flip(A, at, "e1", false));
    // A new Edit clears its author's list only; structure clears nobody's.
    await write((at) => commit(A, at));
    expect([await undone("ann"), await undone("bob")]).toEqual(["e1", "e2"]);
    await write((at) => text(A, at, "e4"));
    expect([await undone("ann"), await undone("bob")]).toEqual([undefined, "e2"]);
    await write((at) => text(A, at, "e5", "bob"));
    expect(await undone("bob")).toBeUndefined();
    expect(await store.edit("e2")).toMatchObject({ active: false, flipped: { actor: "bob" } });
  });

  it("takes what a batch does to one Edit in the order of its commits", async () => {
    await using world = await newWorld();
    await using store = await world.open();
    await store.commit(batch([text(A, 0, "e"), flip(A, 1, "e", false), flip(A, 2, "e", true)]));
    expect(await store.edit("e")).toEqual({
      edit: "e",
      actor: "ann",
      blocks: [A],
      first: 1,
      last: 1,
      active: true,
      flipped: { actor: "ann", position: 3 },
    });
  });

  it("changes no Edit when a batch is refused, and refuses to flip what is not there", async () => {
    await using world = await newWorld();
    await using store = await world.open();
    const call = { actor: "ann", call: "c", fingerprint: "f", answer: "{}", time: 1 };
    const rows = [row(A, { order: "a" })];
    await store.commit(batch([text(A, 0, "e")], { calls: [call], rows }));
    const before = await store.edit("e");
    const refused = [
      batch([flip(B, 0, "e", false), text(A, 0, "e")]),
      batch([flip(A, 1, "e", false)], { calls: [call] }),
      batch([flip(A, 1, "e", false)], { fence: { lease: "none", token: 1 } }),
      batch([flip(B, 0, "e", false)], { rows: [row(B, { order: "a" })] }),
    ];
    const kinds = ["moved", "answered", "fenced", "occupied"];
    for (const [index, one] of refused.entries()) {
      expect((await store.commit(one)).kind).toBe(kinds[index]);
    }
    const unknown = batch([text(A, 1, "new"), flip(A, 2, "edit-1", false)]);
    await expect(store.commit(unknown)).rejects.toMatchObject({
      code: "unknown_edit",
      facts: { edit: "edit-1" },
    });
    expect(await store.edit("e")).toEqual(before);
    expect(await store.edit("new")).toBeUndefined();
    expect(await store.head()).toBe(1);
  });

  it("answers like the model after each of many random batches", { timeout: 60_000 }, async () => {
    const random = new Random(seed());
    await using world = await newWorld();
    await using first = await world.open();
    await using second = await world.open();
    const model = new StoreModel();
    const edits = ["a-1", "a-2", "a-3", "b-1", "b-2"];
    for (let round = 0; round < Math.max(40, scaled(fullRuns)); round += 1) {
      const next = new Map<string, number>();
      const one = batch(
        Array.from({ length: 1 + random.below(4) }, () => {
          const block = random.pick([A, B, "main~cid~1"]);
          const version = next.get(block) ?? model.of(block).length;
          next.set(block, version + 1);
          const edit = random.pick(edits);
          const [owner, other] = edit.startsWith("a") ? ["ann", "bob"] : ["bob", "ann"];
          if (random.below(3) === 0) return text(block, version, edit, owner);
          if (random.below(4) === 0) return commit(block, version, { actor: owner });
          const who = random.below(4) === 0 ? other : owner;
          return flip(block, version, edit, random.below(2) === 0, who);
        }),
      );
      const wanted = model.commit(one);
      const writer = random.pick([first, second]);
      if (wanted === "unknown_edit") {
        await expect(writer.commit(one)).rejects.toMatchObject({ code: "unknown_edit" });
      } else expect(await writer.commit(one)).toEqual(wanted);
      await expectSameEdits(random.pick([first, second]), model, edits);
    }
    expect(await first.verify()).toEqual([]);
  });
}

export async function expectSameEdits(
  store: Store,
  model: StoreModel,
  edits: readonly string[],
): Promise<void> {
  for (const edit of edits) expect(await store.edit(edit)).toEqual(model.edit(edit));
  for (const actor of ["ann", "bob", "cid"]) {
    let newest: EditRow | undefined;
    do {
      const behind = newest;
      newest = await store.newestEdit(actor, behind);
      expect(newest).toEqual(model.newestEdit(actor, behind));
    } while (newest !== undefined);
    expect(await store.newestUndone(actor)).toEqual(model.newestUndone(actor));
  }
}

function versions(): () => number {
  let next = 0;
  return () => next++;
}
