import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { KumikoError, Random } from "../src/base/index.ts";
import type { StoredCommit } from "../src/kernel/ports.ts";
import type { BlockState, FeedEvent } from "../src/protocol/index.ts";
import { scaled, seed } from "./support/counts.ts";
import { FeedClient } from "./support/feed-client.ts";
import { flipByte } from "./support/flip-byte.ts";
import { openSqliteStore } from "../src/store/index.ts";
import { MemoryDisk } from "../src/store/memory/memory-disk.ts";
import { MemoryStore } from "../src/store/memory/memory-store.ts";
import { blockStreams, blockTools, ToolRegistry } from "../src/tools/index.ts";
import { type Answer, Workshop } from "./support/kernel-workshop.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const registry = new ToolRegistry([...blockTools, ...blockStreams]);
const ACTORS = ["ann", "ben", "claude"];

interface Synced {
  readonly events: FeedEvent[];
  readonly whole: { block_id: string; version: number; text: string; state: BlockState }[];
  readonly unavailable: { block_id: string; error: { code: string } }[];
  readonly position: number;
  readonly versions: { block_id: string; version: number }[];
  readonly truncated: boolean;
}

interface Schedule {
  readonly shop: Workshop;
  readonly random: Random;
  readonly blocks: string[];
  readonly end: AbortSignal;
  /** Nobody writes any more. */
  idle: boolean;
}

async function* stream(
  { kernel }: Workshop,
  input: object,
  signal: AbortSignal,
): AsyncGenerator<Pick<Synced, "events" | "position">, void, void> {
  const { output } = registry.streams()[0]!;
  for await (const item of registry.stream(
    kernel,
    "block_subscribe",
    { actor: "ann", signal },
    input,
  ))
    yield output.parse(item) as Synced;
}

/** A store that notes how many bytes each of its answers about commits held. */
function watched(disk: MemoryDisk, sizes: number[]): MemoryStore {
  const store = new MemoryStore({ disk });
  const noted = (commits: StoredCommit[]): StoredCommit[] => {
    sizes.push(commits.reduce((sum, { body }) => sum + body.length, 0));
    return commits;
  };
  const changesSince = store.changesSince.bind(store);
  store.changesSince = async (...args) => noted(await changesSince(...args));
  const commitsOf = store.commitsOf.bind(store);
  store.commitsOf = async (...args) => noted(await commitsOf(...args));
  return store;
}

async function ticks(count: number): Promise<void> {
  for (let left = count; left > 0; left--) await Promise.resolve();
}

/** One random call; what the kernel refuses is as good as nothing done. */
async function write({ shop, random, blocks }: Schedule): Promise<void> {
  const actor = random.pick(ACTORS);
  const call = (tool: string, input: object): Promise<Answer> => shop.call(actor, tool, input);
  const chance = random.next();
  if (blocks.length === 0 || chance < 0.08) {
    const content =
      random.next() < 0.6 ? "one\ntwo\nthree\n".repeat(random.pick([0, 2, 400])) : undefined;
    const parent_id = blocks.length > 0 && random.next() < 0.3 ? random.pick(blocks) : undefined;
    const made = await call("block_create", { role: "user", kind: "text", content, parent_id });
    blocks.push(String(made["block_id"]));
    return;
  }
  const block_id = random.pick(blocks);
  if (chance < 0.35) {
    await call("block_append", { block_id, text: `${random.below(1000)} 🪵\n`, flush: true });
  } else if (chance < 0.6) {
    await call("block_read", { block_id });
    await call("block_edit", {
      block_id,
      operations: [{ op: "insert", line: 0, content: `line ${random.below(1000)}` }],
    });
  } else if (chance < 0.7) {
    await call("block_replace", { block_id, old: "two\n", new: "", occurrence: "all" });
  } else if (chance < 0.8) {
    await call("block_status", { block_id, status: random.pick(["running", "done", "error"]) });
  } else if (chance < 0.87) {
    const { version } = await call("block_read", { block_id });
    await call("block_rollback", { block_id, version: random.below(Number(version) + 1) });
  } else {
    const tool = random.next() < 0.6 ? "block_undo" : "block_redo";
    await call(tool, {});
  }
}

async function writer(schedule: Schedule, calls: number): Promise<void> {
  for (let count = 0; count < calls; count++) {
    await ticks(schedule.random.below(10));
    await write(schedule).catch((error: unknown) => {
      if (!(error instanceof KumikoError)) throw error;
    });
  }
}

/** Follows by subscription, losing its connection again and again. */
async function subscribed(
  schedule: Schedule,
  client: FeedClient,
  by: "position" | "versions",
): Promise<void> {
  const { shop, random, blocks, end } = schedule;
  let position = 0;
  while (!end.aborted) {
    await ticks(random.below(300));
    const lost = new AbortController();
    const known = client.versionsOf(blocks);
    if (by === "versions" && known.length === 0) {
      await setImmediate();
      continue;
    }
    // Who has no position knows nothing of blocks that it does not name.
    const input =
      by === "position"
        ? { from: position }
        : { block_ids: known.map(({ block_id }) => block_id), from_versions: known };
    let batches = 1 + random.below(6);
    let last = 0;
    for await (const item of stream(shop, input, AbortSignal.any([lost.signal, end]))) {
      const { events, position: seen } = item;
      for (const event of events) {
        expect(event.position).toBeGreaterThan(last);
        last = event.position;
        client.apply(event);
      }
      position = seen;
      await ticks(random.below(10));
      if (--batches === 0) lost.abort();
    }
  }
  await catchUp(schedule, client, by, position);
}

/** Asks now and then for what it lacks. */
async function asking(
  schedule: Schedule,
  client: FeedClient,
  by: "position" | "versions",
): Promise<void> {
  let position = 0;
  while (!schedule.end.aborted) {
    await ticks(schedule.random.below(60));
    position = await catchUp(schedule, client, by, position);
    if (schedule.idle) await setImmediate();
  }
  await catchUp(schedule, client, by, position);
}

async function catchUp(
  { shop, random, blocks }: Schedule,
  client: FeedClient,
  by: "position" | "versions",
  from: number,
): Promise<number> {
  const limit = 1 + random.below(9);
  let position = from;
  let versions = client.versionsOf(blocks);
  for (;;) {
    if (by === "versions" && versions.length === 0) return position;
    const input = by === "position" ? { position, limit } : { versions, limit };
    const answer = (await shop.call("ben", "block_sync", input)) as unknown as Synced;
    expect(answer.events.length).toBeLessThanOrEqual(limit);
    expect(answer.unavailable).toEqual([]);
    for (const { block_id, ...copy } of answer.whole) client.replace(block_id, copy);
    for (const event of answer.events) client.apply(event);
    ({ position, versions } = answer);
    if (!answer.truncated) return position;
  }
}

/** Says how many blocks there were. */
async function run(number: number): Promise<number> {
  await using shop = await Workshop.open(new MemoryStore(), { liveDocuments: 3 });
  const random = new Random(number);
  const ending = new AbortController();
  const schedule: Schedule = { shop, random, blocks: [], end: ending.signal, idle: false };
  const clients: Promise<FeedClient>[] = [];
  for (const follow of [subscribed, asking]) {
    for (const by of ["position", "versions"] as const) {
      const client = new FeedClient();
      clients.push(follow(schedule, client, by).then(() => client));
    }
  }
  await Promise.all([1, 2, 3].map(() => writer(schedule, 25)));
  schedule.idle = true;
  await setImmediate();
  ending.abort();
  for (const client of await Promise.all(clients)) {
    expect([...client.copies.keys()].toSorted()).toEqual(schedule.blocks.toSorted());
    for (const [block, copy] of client.copies) {
      const truth = await shop.kernel.look(block, ({ state, document }) => ({
        version: document.version,
        text: document.read(),
        state,
      }));
      expect(copy).toEqual(truth);
    }
  }
  expect(shop.kernel.feed.subscribers).toBe(0);
  return schedule.blocks.length;
}

describe("block_subscribe and block_sync", () => {
  test("whoever applies what they deliver ends with the kernel's texts, versions and states", async () => {
    let blocks = 0;
    for (let count = 0; count < scaled(200); count++) blocks += await run(seed() + count);
    expect(blocks).toBeGreaterThan(20);
  });

  test("a short text comes whole instead of its long history, and events when those are shorter", async () => {
    await using shop = await Workshop.open(new MemoryStore(), { liveDocuments: 3 });
    const content = "a long line of text, to be kept as it is\n".repeat(50);
    const made = await shop.call("ann", "block_create", { role: "user", kind: "text", content });
    const { block_id } = made;
    for (let count = 0; count < 3; count++)
      await shop.call("ann", "block_append", { block_id, text: "x\n", flush: true });
    const short = await shop.call("ann", "block_sync", { versions: [{ block_id, version: 2 }] });
    expect(short).toMatchObject({ events: [{ version: 3 }, { version: 4 }], whole: [] });
    for (let count = 0; count < 30; count++)
      await shop.call("ann", "block_append", { block_id, text: "x\n", flush: true });
    const long = await shop.call("ann", "block_sync", { versions: [{ block_id, version: 2 }] });
    expect(long).toMatchObject({ events: [], whole: [{ block_id, version: 34 }] });
  });

  test("what still waits to be appended is on disk before anything is given", async () => {
    await using shop = await Workshop.open(new MemoryStore());
    const held: { block_id: string; version: number }[] = [];
    for (const actor of ACTORS) {
      const block_id = await shop.create(actor, `${"by ".repeat(200)}${actor}: `);
      await shop.call(actor, "block_append", { block_id, text: "waits" });
      held.push({ block_id, version: 1 });
    }
    const before = shop.kernel.feed.head;
    const [first, ...others] = held;
    const one = (await shop.call("ann", "block_sync", { versions: [first] })) as unknown as Synced;
    expect(one).toMatchObject({ position: before + 1, events: [{ version: 2 }] });
    // What waits for blocks that nobody asked for goes on waiting.
    expect(shop.kernel.feed.head).toBe(before + 1);
    const rest = { versions: others };
    const two = (await shop.call("ann", "block_sync", rest)) as unknown as Synced;
    expect(two.events.map(({ version }) => version)).toEqual([2, 2]);
    await shop.call("ann", "block_append", { block_id: first!.block_id, text: " again" });
    const { position } = two;
    const all = (await shop.call("ann", "block_sync", { position })) as unknown as Synced;
    expect(all).toMatchObject({ position: position + 1, events: [{ version: 3 }] });
  });

  test("a block that cannot be given does not keep the others back", async () => {
    await using shop = await Workshop.open(new MemoryStore(), { liveDocuments: 3 });
    const { block_id } = await shop.call("ann", "block_create", { role: "user", kind: "text" });
    const answer = (await shop.call("ann", "block_sync", {
      versions: [
        { block_id: "main~ann~99", version: 0 },
        { block_id, version: 7 },
        { block_id, version: 0 },
      ],
    })) as unknown as Synced;
    expect(answer.unavailable.map(({ error }) => error.code)).toEqual([
      "unknown_block",
      "out_of_range",
    ]);
    expect(answer.whole).toHaveLength(1);
  });

  test("a damaged commit is told, and everything else is given", async () => {
    using folder = temporaryFolder();
    for (let count = 0; count < scaled(20); count++) {
      const file = join(folder.path, `${count}.db`);
      const random = new Random(seed() + count);
      {
        await using shop = await Workshop.open(await openSqliteStore(file));
        const blocks = [await shop.create("ann", "one\n"), await shop.create("ann", "two\n")];
        for (let edit = 0; edit < 6; edit++)
          await shop.call("ann", "block_append", {
            block_id: random.pick(blocks),
            text: `${edit}\n`,
            flush: true,
          });
      }
      // The last one is what the journal ends with: without it there is no opening.
      const { key } = flipByte(file, "commits", random);
      if (key === 7) continue;
      await using shop = await Workshop.open(await openSqliteStore(file));
      const expected = [1, 2, 3, 4, 5, 6, 7, 8].filter((position) => position !== key + 1);
      const asked = (await shop.call("eve", "block_sync", {
        position: 0,
      })) as unknown as Synced;
      expect(asked.events.map(({ position }) => position)).toEqual(expected);
      expect(asked.unavailable).toMatchObject([{ error: { code: "damaged" } }]);
      expect(asked).toMatchObject({ position: 8, truncated: false });

      const followed: number[] = [];
      for (let from: number = 0; from < 8;) {
        const end = new AbortController();
        try {
          for await (const { events, position } of stream(shop, { from }, end.signal)) {
            followed.push(...events.map((event) => event.position));
            from = position;
            if (from === 8) end.abort();
          }
        } catch (error) {
          expect(error).toMatchObject({ code: "damaged", facts: { position: key + 1 } });
          from = key + 1;
        }
      }
      expect(followed).toEqual(expected);
    }
  });

  test("what is read back is bounded by its text: many large edits come in many small answers", async () => {
    const disk = new MemoryDisk();
    const sizes: number[] = [];
    const shop = await Workshop.open(new MemoryStore({ disk }));
    const large = "x".repeat(300_000);
    const blocks = [await shop.create("ann", ""), await shop.create("ann", "")];
    for (let count = 0; count < 40; count++) {
      const splices = [{ at: 0, remove: count < 2 ? 0 : large.length, insert: large }];
      await shop.kernel.editText(
        { actor: "ann" },
        {
          blocks: [blocks[count % 2]!],
          operation: "change",
          translate: () => splices,
          answer: () => undefined,
        },
      );
    }
    // Who begins now finds nothing of it in memory.
    await shop[Symbol.asyncDispose]();
    await using later = await Workshop.open(watched(disk, sizes));
    let position = 0;
    let answers = 0;
    const seen: number[] = [];
    for (let truncated = true; truncated; answers++) {
      const page = (await later.call("ben", "block_sync", {
        position,
        limit: 10_000,
      })) as unknown as Synced;
      seen.push(...page.events.map((event) => event.position));
      ({ position, truncated } = page);
    }
    expect(seen).toEqual(Array.from({ length: 42 }, (_, at) => at + 1));
    expect(answers).toBeGreaterThan(10);
    const followed: number[] = [];
    const end = new AbortController();
    const from = blocks.map((block_id) => ({ block_id, version: 1 }));
    for await (const { events } of stream(later, { from_versions: from }, end.signal)) {
      expect(events.length).toBeLessThan(6);
      followed.push(...events.map((event) => event.position));
      if (followed.length === 40) break;
    }
    expect(followed).toEqual(seen.slice(2));
    expect(Math.max(...sizes)).toBeLessThan(1_500_000);
  });

  test("a stream is not a call, a call is not a stream, and arguments are checked at once", async () => {
    await using shop = await Workshop.open(new MemoryStore(), { liveDocuments: 3 });
    const { kernel } = shop;
    expect(registry.list().map(({ name }) => name)).not.toContain("block_subscribe");
    await expect(
      registry.execute(kernel, "block_subscribe", { actor: "ann" }, {}),
    ).rejects.toMatchObject({ code: "unknown_tool" });
    const code = (begin: () => unknown): string => {
      try {
        begin();
      } catch (error) {
        return (error as KumikoError).code;
      }
      return "none";
    };
    const refusal = (name: string, input: object): string =>
      code(() => registry.stream(kernel, name, { actor: "ann" }, input));
    expect(refusal("block_read", {})).toBe("unknown_tool");
    expect(refusal("block_subscribe", { colour: "red" })).toBe("invalid_argument");
    expect(refusal("block_subscribe", { from: 99 })).toBe("out_of_range");
    expect(
      refusal("block_subscribe", {
        from: 0,
        from_versions: [{ block_id: "main~ann~1", version: 1 }],
      }),
    ).toBe("invalid_argument");
  });
});
