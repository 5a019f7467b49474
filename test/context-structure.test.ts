import { describe, expect, test } from "vitest";
import { KumikoError, Random } from "../src/base/index.ts";
import type { Store } from "../src/kernel/index.ts";
import { blockKind, type BlockKind, blockStatus, type BlockStatus } from "../src/protocol/index.ts";
import { MemoryStore } from "../src/store/memory/memory-store.ts";
import { scaled, seed } from "./support/counts.ts";
import { Workshop } from "./support/kernel-workshop.ts";

const ACTORS = ["ann", "claude"];

/** What a conversation is, told as simply as can be. */
interface ModelBlock {
  readonly id: string;
  readonly parent: ModelBlock | undefined;
  readonly kind: BlockKind;
  readonly children: ModelBlock[];
  status: BlockStatus;
  flags: { [name: string]: boolean };
  metadata: { path?: string };
}

class Model {
  readonly roots: ModelBlock[] = [];
  readonly all: ModelBlock[] = [];

  add(block: ModelBlock): void {
    this.all.push(block);
    (block.parent?.children ?? this.roots).push(block);
  }

  /** In conversation order. */
  list(parent: ModelBlock | undefined, depth: number, newestFirst: boolean): ModelBlock[] {
    const children = parent?.children ?? this.roots;
    const ordered = newestFirst ? children.toReversed() : children;
    return ordered.flatMap((child) => [
      child,
      ...(depth > 1 ? this.list(child, depth - 1, newestFirst) : []),
    ]);
  }
}

const life: { readonly [Status in BlockStatus]: readonly BlockStatus[] } = {
  pending: ["pending", "running", "done", "error"],
  running: ["running", "done", "error"],
  done: ["done"],
  error: ["error"],
};

async function attempt<Result>(run: () => Promise<Result>): Promise<Result | string> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof KumikoError) return error.code;
    throw error;
  }
}

async function create(shop: Workshop, random: Random, model: Model): Promise<void> {
  const parent = model.all.length > 0 && random.next() < 0.6 ? random.pick(model.all) : undefined;
  const kind = random.pick(blockKind.options);
  const content = random.next() < 0.5 ? "text\n" : undefined;
  const metadata = random.next() < 0.3 ? { path: `src/${random.below(3)}/a.ts` } : {};
  const made = await attempt(() =>
    shop.call(random.pick(ACTORS), "block_create", {
      role: "model",
      kind,
      content,
      metadata,
      parent_id: parent?.id,
    }),
  );
  if (kind === "tool_result" && parent?.kind !== "tool_call") {
    expect(made).toBe("wrong_parent");
    return;
  }
  const id = (made as { block_id: string }).block_id;
  const status = content === undefined ? "pending" : "done";
  model.add({ id, parent, kind, children: [], status, flags: {}, metadata });
}

async function changeState(shop: Workshop, random: Random, model: Model): Promise<void> {
  const block = random.pick(model.all);
  const status = random.next() < 0.7 ? random.pick(blockStatus.options) : undefined;
  const flags = random.next() < 0.3 ? { pinned: random.next() < 0.5 } : undefined;
  const metadata =
    random.next() < 0.3 ? { path: random.next() < 0.5 ? null : "src/moved.ts" } : undefined;
  const answer = await attempt(() =>
    shop.call("ann", "block_status", { block_id: block.id, status, flags, metadata }),
  );
  if (status === undefined && flags === undefined && metadata === undefined) {
    expect(answer).toBe("invalid_argument");
  } else if (status !== undefined && !life[block.status].includes(status)) {
    expect(answer).toBe("wrong_status");
  } else {
    block.status = status ?? block.status;
    block.flags = { ...block.flags, ...flags };
    if (metadata !== undefined)
      block.metadata = metadata.path === null ? {} : { path: metadata.path };
    const { status: now, flags: set, metadata: kept } = block;
    expect(answer).toMatchObject({ status: now, flags: set });
    expect((answer as { metadata: object }).metadata).toEqual(kept);
  }
}

interface Listed {
  readonly blocks: readonly { block_id: string; status: string; parent_id: string | null }[];
  readonly truncated: boolean;
  readonly after?: string;
}

/** One list in pages, with any filter, is what the model says. */
async function compareList(shop: Workshop, random: Random, model: Model): Promise<void> {
  const parent = model.all.length > 0 && random.next() < 0.3 ? random.pick(model.all) : undefined;
  const filter = {
    parent_id: parent?.id,
    depth: 1 + random.below(4),
    newest_first: random.next() < 0.5,
    kind: random.next() < 0.2 ? random.pick(blockKind.options) : undefined,
    status: random.next() < 0.2 ? random.pick(blockStatus.options) : undefined,
    path_prefix: random.next() < 0.2 ? "src/1" : undefined,
  };
  const expected = model
    .list(parent, filter.depth, filter.newest_first)
    .filter(({ kind }) => filter.kind === undefined || kind === filter.kind)
    .filter(({ status }) => filter.status === undefined || status === filter.status)
    .filter(
      ({ metadata }) =>
        filter.path_prefix === undefined || metadata.path?.startsWith(filter.path_prefix) === true,
    );
  const limit = 1 + random.below(10);
  const got: Listed["blocks"][number][] = [];
  for (let after: string | undefined; ;) {
    const page = (await shop.call("ann", "block_list", {
      ...filter,
      limit,
      after,
    })) as unknown as Listed;
    got.push(...page.blocks);
    expect(page.truncated).toBe(got.length < expected.length);
    after = page.after;
    if (!page.truncated) break;
    expect(page.blocks).toHaveLength(limit);
  }
  expect(got.map(({ block_id, status, parent_id }) => ({ block_id, status, parent_id }))).toEqual(
    expected.map(({ id, status, parent: above }) => ({
      block_id: id,
      status,
      parent_id: above?.id ?? null,
    })),
  );
}

async function compareAncestors(shop: Workshop, random: Random, model: Model): Promise<void> {
  const block = random.pick(model.all);
  const expected: string[] = [];
  for (let above = block.parent; above !== undefined; above = above.parent) expected.push(above.id);
  const above = await shop.kernel.ancestors(block.id);
  expect(above.map((state) => state.block)).toEqual(expected);
}

/** Counts what is asked of a store and how many rows it gives. */
function counting(store: Store): { store: Store; take: () => { calls: number; rows: number } } {
  let calls = 0;
  let rows = 0;
  const counted = new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...given: unknown[]): unknown => {
        const answer: unknown = Reflect.apply(value, target, given);
        calls++;
        if (!(answer instanceof Promise)) return answer;
        return answer.then((result: unknown) => {
          if (Array.isArray(result)) rows += result.length;
          return result;
        });
      };
    },
  });
  return {
    store: counted,
    take() {
      const taken = { calls, rows };
      calls = 0;
      rows = 0;
      return taken;
    },
  };
}

describe("blocks in a context", () => {
  test("kinds, parents, life cycle, flags, metadata, lists and ancestors are as a simple model says", async () => {
    let blocks = 0;
    for (let count = 0; count < scaled(200); count++) {
      const random = new Random(seed() + count);
      await using shop = await Workshop.open(new MemoryStore(), { liveDocuments: 4 });
      const model = new Model();
      for (let step = 0; step < 60; step++) {
        const chance = random.next();
        if (model.all.length === 0 || chance < 0.45) await create(shop, random, model);
        else if (chance < 0.7) await changeState(shop, random, model);
        else if (chance < 0.9) await compareList(shop, random, model);
        else await compareAncestors(shop, random, model);
      }
      blocks += model.all.length;
    }
    expect(blocks).toBeGreaterThan(200);
  });

  test("a list reads no more texts than it shows, whatever it filters and at whichever position", async () => {
    const store = new MemoryStore();
    await using shop = await Workshop.open(store, { liveDocuments: 1 });
    const ids: string[] = [];
    for (let count = 0; count < 30; count++) {
      const kind = count % 3 === 0 ? "thinking" : "text";
      const made = await shop.call("ann", "block_create", { role: "model", kind, content: "x\n" });
      ids.push(String(made["block_id"]));
    }
    const read = new Set<string>();
    const commitsOf = store.commitsOf.bind(store);
    store.commitsOf = (block, ...rest) => {
      read.add(block);
      return commitsOf(block, ...rest);
    };
    for (const at of [{}, { position: 30 }, { position: 29 }]) {
      read.clear();
      const filter = { kind: "thinking", limit: 4, ...at };
      const list = (await shop.call("eve", "block_list", filter)) as unknown as Listed;
      expect([list.blocks.length, list.truncated]).toEqual([4, true]);
      expect([...read].toSorted()).toEqual(list.blocks.map(({ block_id }) => block_id).toSorted());
    }
  });

  test("a parent in another context is refused", async () => {
    await using shop = await Workshop.open(new MemoryStore());
    await shop.kernel.contexts.create("side", "ann");
    const other = await shop.create("ann", "text\n");
    const refused = await shop.refusal("ann", "block_create", {
      role: "user",
      kind: "text",
      parent_id: other,
      context: "side",
    });
    expect(refused.code).toBe("wrong_parent");
  });

  test("appending, listing, children and ancestors ask the store for the same in a large context", async () => {
    const asked: object[] = [];
    for (const size of [scaled(1000), scaled(10_000)]) {
      const { store, take } = counting(new MemoryStore());
      await using shop = await Workshop.open(store, { liveDocuments: 4 });
      const call = await shop.call("ann", "block_create", { role: "user", kind: "tool_call" });
      for (let count = 0; count < size; count++) await shop.create("ann", "x\n");
      const inner = { role: "user", kind: "text", parent_id: call["block_id"], content: "x\n" };
      const below = await shop.call("ann", "block_create", inner);
      take();
      await shop.create("ann", "x\n");
      const appended = take();
      await shop.call("ann", "block_list", { limit: 20, newest_first: true });
      const listed = take();
      const waiting = await shop.call("ann", "block_list", { status: "pending", depth: 3 });
      expect(waiting["blocks"]).toMatchObject([{ block_id: call["block_id"] }]);
      const rare = take();
      await shop.kernel.children({ context: "main", parent: null, limit: 20 });
      const children = take();
      await shop.kernel.ancestors(String(below["block_id"]));
      asked.push({ appended, listed, rare, children, above: take() });
    }
    expect(asked[1]).toEqual(asked[0]);
  });
});
