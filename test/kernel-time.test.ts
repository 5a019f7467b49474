import { join } from "node:path";
import { expect, test } from "vitest";
import { KumikoError, Random } from "../src/base/index.ts";
import type { Store } from "../src/kernel/index.ts";
import { openSqliteStore } from "../src/store/index.ts";
import { MemoryDisk } from "../src/store/memory/memory-disk.ts";
import { MemoryStore } from "../src/store/memory/memory-store.ts";
import { blockTools, ToolRegistry } from "../src/tools/index.ts";
import { scaled, seed } from "./support/counts.ts";
import { type Answer, Workshop } from "./support/kernel-workshop.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

interface Moment {
  readonly position: number;
  readonly list: Answer;
  readonly blocks: ReadonlyMap<string, Answer>;
}

/** The whole kernel as its tools show it now, or at a position. */
async function look(shop: Workshop, ids: readonly string[], position?: number): Promise<Moment> {
  const at = position === undefined ? {} : { position };
  const list = await shop.call("eve", "block_list", { depth: 5, limit: 1000, ...at });
  const blocks = new Map<string, Answer>();
  for (const block_id of ids) {
    blocks.set(block_id, await shop.call("eve", "block_read", { block_id, ...at }));
  }
  return { position: position ?? shop.kernel.feed.head, list, blocks };
}

async function act(shop: Workshop, ids: string[], random: Random): Promise<void> {
  const actor = random.pick(["ann", "ben"]);
  const block_id = ids.length === 0 ? undefined : random.pick(ids);
  const chance = random.next();
  if (block_id === undefined || chance < 0.25) {
    const below = block_id !== undefined && random.next() < 0.4 ? { parent_id: block_id } : {};
    const content = random.next() < 0.6 ? { content: `new ${ids.length}\n` } : {};
    const metadata = { path: `src/${ids.length}.ts` };
    const made = await shop.call(actor, "block_create", {
      role: "model",
      kind: "text",
      metadata,
      ...content,
      ...below,
    });
    ids.push(made["block_id"] as string);
  } else if (chance < 0.55) {
    const text = `${random.below(1000)}\n`.repeat(1 + random.below(3));
    await shop.call(actor, "block_append", { block_id, text, flush: true });
  } else if (chance < 0.65) {
    await shop.call(actor, "block_undo", {});
  } else if (chance < 0.75) {
    await shop.call(actor, "block_redo", {});
  } else if (chance < 0.85) {
    await shop.call(actor, "block_status", { block_id, status: random.pick(["done", "error"]) });
  } else {
    await shop.kernel.changeState({ actor }, block_id, {
      change: (state) => ({
        ...state,
        flags: { ...state.flags, pinned: random.next() < 0.5 },
        metadata: { ...state.metadata, note: random.below(10) },
      }),
      answer: () => undefined,
    });
  }
}

/** Says how many moments were remembered and found again. */
async function remember(open: () => Promise<Store>, number: number): Promise<number> {
  const random = new Random(number);
  let shop = await Workshop.open(await open());
  const ids: string[] = [];
  const moments: Moment[] = [];
  const compare = async ({ position, list, blocks }: Moment): Promise<void> => {
    expect(await look(shop, [...blocks.keys()], position)).toEqual({ position, list, blocks });
  };
  for (let step = 0; step < 60; step++) {
    await act(shop, ids, random).catch((error: unknown) => {
      const codes = ["nothing_to_undo", "wrong_status"];
      if (!(error instanceof KumikoError) || !codes.includes(error.code)) throw error;
    });
    if (random.next() < 0.2) moments.push(await look(shop, ids));
    if (moments.length > 0 && random.next() < 0.1) await compare(random.pick(moments));
    if (random.next() < 0.05) {
      await shop[Symbol.asyncDispose]();
      shop = await Workshop.open(await open(), { liveDocuments: 2 });
    }
  }
  for (const moment of moments) await compare(moment);
  await shop[Symbol.asyncDispose]();
  const store = await open();
  for (const id of ids) await store.compact(id, 1_000_000);
  shop = await Workshop.open(store);
  for (const moment of moments) await compare(moment);
  const beyond = { block_id: ids[0]!, position: shop.kernel.feed.head + 1 };
  expect((await shop.refusal("eve", "block_read", beyond)).code).toBe("out_of_range");
  expect((await shop.refusal("eve", "block_read", { ...beyond, position: 0 })).code).toBe(
    "unknown_block",
  );
  await shop[Symbol.asyncDispose]();
  return moments.length;
}

test("the kernel as of a position is what it was then", async () => {
  for (let number = 0; number < scaled(100); number++) {
    const disk = new MemoryDisk();
    const open = async (): Promise<Store> => new MemoryStore({ disk });
    expect(await remember(open, seed() + number)).toBeGreaterThan(0);
  }
});

test("and so it is after restarts and compaction of files", { timeout: 15 * 60_000 }, async () => {
  for (let number = 0; number < scaled(10); number++) {
    using folder = temporaryFolder();
    const open = (): Promise<Store> => openSqliteStore(join(folder.path, "state.db"));
    expect(await remember(open, seed() + 1000 + number)).toBeGreaterThan(0);
  }
});

test("without a conversation the whole kernel is listed as of a position, page by page", async () => {
  await using shop = await Workshop.open(new MemoryStore());
  const registry = new ToolRegistry(blockTools);
  const list = async (input: object): Promise<{ blocks: { block_id: string }[]; after?: string }> =>
    (await registry.execute(shop.kernel, "block_list", { actor: "eve" }, input)) as {
      blocks: { block_id: string }[];
      after?: string;
    };
  for (const context of ["aside", "side"]) await shop.kernel.contexts.create(context, "ann");
  const made: { id: string; context: string }[] = [];
  for (let count = 0; count < 12; count++) {
    const context = ["side", "main", "aside"][count % 3]!;
    const created = await shop.call("ann", "block_create", {
      role: "user",
      kind: "text",
      content: `${count}\n`,
      context,
    });
    made.push({ id: String(created["block_id"]), context });
  }
  for (const position of [0, 1, 5, 12]) {
    const there = made.slice(0, position);
    const expected = ["aside", "main", "side"].flatMap((context) =>
      there.filter((each) => each.context === context).map(({ id }) => id),
    );
    const seen: string[] = [];
    let after: string | undefined;
    do {
      const page = await list({ position, limit: 2, ...(after !== undefined && { after }) });
      seen.push(...page.blocks.map(({ block_id }) => block_id));
      ({ after } = page);
    } while (after !== undefined);
    expect(seen).toEqual(expected);
  }
  await expect(list({})).rejects.toMatchObject({ code: "invalid_argument" });
  await expect(list({ position: 13 })).rejects.toMatchObject({ code: "out_of_range" });
});
