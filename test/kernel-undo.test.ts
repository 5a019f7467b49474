import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { KumikoError, Random } from "../src/base/index.ts";
import type { EditOperation } from "../src/protocol/index.ts";
import { openSqliteStore } from "../src/store/index.ts";
import { MemoryDisk } from "../src/store/memory/memory-disk.ts";
import { MemoryStore } from "../src/store/memory/memory-store.ts";
import { scaled, seed } from "./support/counts.ts";
import { Workshop } from "./support/kernel-workshop.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const actors = ["ann", "ben", "claude"];

/** What one Edit did: the lines it added and took away, and whether it counts. */
interface ModelEdit {
  readonly edit: string;
  readonly actor: string;
  readonly order: number;
  active: boolean;
  undone?: { readonly by: string; readonly order: number };
}

interface ModelLine {
  readonly text: string;
  readonly block: string;
  readonly by: string;
  readonly deletedBy: Set<string>;
}

/** Edits as flags and lines as sets: nothing here knows about positions. */
class Model {
  readonly edits = new Map<string, ModelEdit>();
  readonly lines: ModelLine[] = [];
  #order = 0;

  made(edit: string, actor: string): void {
    this.edits.set(edit, { edit, actor, order: ++this.#order, active: true });
  }

  flip(edit: string, by: string, active: boolean): void {
    const known = this.edits.get(edit)!;
    known.active = active;
    known.undone = { by, order: ++this.#order };
  }

  newest(actor: string): string | undefined {
    const own = [...this.edits.values()].filter((each) => each.actor === actor && each.active);
    return own.toSorted((a, b) => b.order - a.order)[0]?.edit;
  }

  newestUndone(actor: string): string | undefined {
    const all = [...this.edits.values()];
    const written = Math.max(
      0,
      ...all.filter((one) => one.actor === actor).map(({ order }) => order),
    );
    const undone = all.filter((one) => !one.active && one.undone?.by === actor);
    const last = undone.toSorted((a, b) => b.undone!.order - a.undone!.order)[0];
    return last !== undefined && last.undone!.order > written ? last.edit : undefined;
  }

  visible(block: string): string[] {
    const isActive = (edit: string): boolean => this.edits.get(edit)?.active ?? true;
    return this.lines
      .filter((line) => line.block === block && isActive(line.by))
      .filter((line) => ![...line.deletedBy].some(isActive))
      .map(({ text }) => text)
      .toSorted();
  }
}

async function check(shop: Workshop, model: Model, blocks: readonly string[]): Promise<void> {
  for (const block of blocks) {
    const lines = (await shop.text(block)).split("\n").slice(0, -1).toSorted();
    expect(lines).toEqual(model.visible(block));
  }
}

/** A line added to each of some blocks, and perhaps one taken away, all as one Edit. */
async function change(
  shop: Workshop,
  model: Model,
  actor: string,
  random: Random,
  chosen: string[],
) {
  const operations = new Map<string, EditOperation[]>();
  const added: ModelLine[] = [];
  const gone: ModelLine[] = [];
  const name = `${actor}-${model.lines.length}`;
  for (const block of chosen) {
    const lines = (await shop.text(block)).split("\n").slice(0, -1);
    const own: EditOperation[] = [];
    const at = random.below(lines.length + 1);
    own.push({ op: "insert", line: at, content: `${name} in ${block}` });
    added.push({ text: `${name} in ${block}`, block, by: "", deletedBy: new Set() });
    const drop = random.below(lines.length + 1);
    if (drop < lines.length && drop !== at && drop + 1 !== at && random.next() < 0.5) {
      own.push({ op: "delete", start_line: drop, end_line: drop + 1 });
      gone.push(model.lines.find((line) => line.block === block && line.text === lines[drop])!);
    }
    operations.set(block, own);
  }
  const { edit } = await shop.edit(actor, operations);
  model.made(edit, actor);
  model.lines.push(...added.map((line) => ({ ...line, by: edit })));
  for (const line of gone) line.deletedBy.add(edit);
}

async function flip(
  shop: Workshop,
  what: "block_undo" | "block_redo",
  actor: string,
  input: { edit?: string; actor?: string },
): Promise<string | undefined> {
  try {
    return (await shop.call(actor, what, input))["flipped"] as string;
  } catch (error) {
    if (error instanceof KumikoError && error.code === "nothing_to_undo") return undefined;
    throw error;
  }
}

/** Says how many Edits were made and, in the end, undone. */
async function live(open: () => Promise<Workshop>, random: Random): Promise<number> {
  let shop = await open();
  const model = new Model();
  const blocks: string[] = [];
  for (let count = 0; count < 4; count++) {
    const block = await shop.create("system", `start of ${count}\n`);
    blocks.push(block);
    model.lines.push({ text: `start of ${count}`, block, by: "start", deletedBy: new Set() });
  }
  for (let step = 0; step < 40; step++) {
    const actor = random.pick(actors);
    const chance = random.next();
    if (chance < 0.5) {
      const chosen = blocks.filter(() => random.next() < 0.5);
      if (chosen.length > 0) await change(shop, model, actor, random, chosen);
    } else if (chance < 0.75) {
      const whose = random.next() < 0.8 ? actor : random.pick(actors);
      const expected = model.newest(whose);
      expect(await flip(shop, "block_undo", actor, { actor: whose })).toBe(expected);
      if (expected !== undefined) model.flip(expected, actor, false);
    } else if (chance < 0.9) {
      const expected = model.newestUndone(actor);
      expect(await flip(shop, "block_redo", actor, {})).toBe(expected);
      if (expected !== undefined) model.flip(expected, actor, true);
    } else if (chance < 0.96 && model.edits.size > 0) {
      const named = random.pick([...model.edits.values()]);
      const what = random.next() < 0.5 ? "block_undo" : "block_redo";
      const active = what === "block_redo";
      const answer = await flip(shop, what, actor, { edit: named.edit });
      expect(answer).toBe(named.active === active ? undefined : named.edit);
      if (answer !== undefined) model.flip(named.edit, actor, active);
    } else {
      await shop[Symbol.asyncDispose]();
      shop = await open();
    }
    await check(shop, model, blocks);
  }
  // In any order, back to the start.
  const left = [...model.edits.values()].filter(({ active }) => active);
  while (left.length > 0) {
    const [{ edit }] = left.splice(random.below(left.length), 1) as [ModelEdit];
    expect(await flip(shop, "block_undo", "ann", { edit })).toBe(edit);
  }
  for (const [count, block] of blocks.entries()) {
    expect(await shop.text(block)).toBe(`start of ${count}\n`);
  }
  await shop[Symbol.asyncDispose]();
  return model.edits.size;
}

describe("undo and redo over several blocks follow a flag per Edit, also over restarts", () => {
  test("in memory", async () => {
    for (let number = 0; number < scaled(200); number++) {
      const disk = new MemoryDisk();
      const open = (): Promise<Workshop> =>
        Workshop.open(new MemoryStore({ disk }), { liveDocuments: 2 });
      expect(await live(open, new Random(seed() + number))).toBeGreaterThan(0);
    }
  });

  test("in files", { timeout: 120_000 }, async () => {
    for (let number = 0; number < scaled(10); number++) {
      using folder = temporaryFolder();
      const file = join(folder.path, "state.db");
      const open = async (): Promise<Workshop> =>
        Workshop.open(await openSqliteStore(file), { liveDocuments: 2 });
      expect(await live(open, new Random(seed() + 500 + number))).toBeGreaterThan(0);
    }
  });
});

test("two undos at once never take back the same Edit", async () => {
  await using shop = await Workshop.open(new MemoryStore());
  const blocks = [await shop.create("system", ""), await shop.create("system", "")];
  const made: string[] = [];
  for (let count = 0; count < 3; count++) {
    const line = (name: string): EditOperation[] => [{ op: "insert", line: 0, content: name }];
    const { edit } = await shop.edit("ann", new Map(blocks.map((block) => [block, line("x")])));
    made.push(edit);
  }
  const undone = await Promise.all([1, 2, 3, 4, 5].map(() => flip(shop, "block_undo", "ann", {})));
  expect(undone.filter((edit) => edit !== undefined).toSorted()).toEqual(made.toSorted());
  for (const block of blocks) expect(await shop.text(block)).toBe("");
});

test("an undo is retried safely, says what it did, and can be undone itself", async () => {
  await using shop = await Workshop.open(new MemoryStore());
  const block = await shop.create("ann", "one\ntwo\n");
  await shop.call("ann", "block_replace", { block_id: block, old: "two", new: "TWO" });
  const made = (
    await shop.call("ann", "block_replace", { block_id: block, old: "one", new: "ONE" })
  )["edit"];
  const undo = { call_id: "u1", message: "no" };
  const both = await Promise.all([1, 2].map(() => shop.call("ann", "block_undo", undo)));
  expect(both[0]).toEqual(both[1]);
  expect(await shop.call("ann", "block_undo", undo)).toEqual(both[0]);
  expect(both[0]).toMatchObject({
    flipped: made,
    actor: "ann",
    blocks: [{ version: 4, stayed: 0 }],
  });
  expect((both[0]!["blocks"] as { diff: string }[])[0]!.diff).toContain("-ONE\n+one");
  expect(await shop.text(block)).toBe("one\nTWO\n");
  const again = await shop.call("ben", "block_undo", { edit: both[0]!["edit"] });
  expect(again["flipped"]).toBe(made);
  expect(await shop.text(block)).toBe("ONE\nTWO\n");
  for (const edit of ["e9-9", `e9-9-undoes-${made as string}`]) {
    expect((await shop.refusal("ann", "block_undo", { edit })).code).toBe("unknown_edit");
  }
  expect(await shop.text(block)).toBe("ONE\nTWO\n");
});

test("what another undid is redone by nobody else unless it is named", async () => {
  await using shop = await Workshop.open(new MemoryStore());
  const block = await shop.create("system", "");
  await shop.edit("ann", new Map([[block, [{ op: "insert", line: 0, content: "a" }]]]));
  const undone = await shop.call("ben", "block_undo", { actor: "ann" });
  expect((await shop.refusal("ann", "block_redo", {})).code).toBe("nothing_to_undo");
  expect((await shop.refusal("claude", "block_redo", {})).code).toBe("nothing_to_undo");
  await shop.call("claude", "block_redo", { edit: undone["flipped"] });
  expect(await shop.text(block)).toBe("a\n");
});

test("a stream that is still open is undone whole; a change of status is never undone", async () => {
  await using shop = await Workshop.open(new MemoryStore());
  const block = await shop.create("claude");
  await shop.call("claude", "block_append", { block_id: block, text: "half of it" });
  const undone = await shop.call("claude", "block_undo", {});
  expect(undone["blocks"]).toMatchObject([{ block_id: block }]);
  expect(await shop.text(block)).toBe("");
  await shop.call("claude", "block_append", { block_id: block, text: "more", flush: true });
  expect(await shop.text(block)).toBe("more");
  await shop.call("claude", "block_status", { block_id: block, status: "done" });
  await shop.call("claude", "block_undo", {});
  expect(await shop.text(block)).toBe("");
  expect((await shop.kernel.state(block)).status).toBe("done");
  expect((await shop.refusal("claude", "block_undo", {})).code).toBe("nothing_to_undo");
});

test("nobody undoes what they may not change; an Edit and the wrong actor contradict each other", async () => {
  await using shop = await Workshop.open(new MemoryStore(), {
    authorise: async (actor, operation) =>
      actor === "mallory" && operation === "change"
        ? { decision: "deny", reason: "a stranger" }
        : { decision: "allow", reason: "" },
  });
  const block = await shop.create("ann", "a\n");
  expect((await shop.refusal("mallory", "block_undo", { actor: "ann" })).code).toBe("denied");
  expect(await shop.text(block)).toBe("a\n");
  const edit = (await shop.kernel.feed.since(0, 1))[0]!.edit;
  const wrong = await shop.refusal("ann", "block_undo", { edit, actor: "ben" });
  expect(wrong.code).toBe("invalid_argument");
  await shop.call("ann", "block_undo", { edit, actor: "ann" });
  expect(await shop.text(block)).toBe("");
});
