import { describe, expect, test } from "vitest";
import { KumikoError } from "../src/base/index.ts";
import type { FeedEvent } from "../src/kernel/index.ts";
import { MemoryDisk } from "../src/store/memory/memory-disk.ts";
import { MemoryStore } from "../src/store/memory/memory-store.ts";
import { GatedStore, turns, waits } from "./support/gated-store.ts";
import { FakeTime, Workshop } from "./support/kernel-workshop.ts";

function replaceLine(block_id: string, content: string): object {
  return { block_id, operations: [{ op: "replace", start_line: 1, end_line: 2, content }] };
}

function insertLine(block_id: string, line: number, content: string, more: object = {}): object {
  return { block_id, operations: [{ op: "insert", line, content }], ...more };
}

const codeOf = (error: unknown): unknown => (error instanceof KumikoError ? error.code : error);

describe("what is not on disk", () => {
  test("is not shown by a conflict, nor does a conflict give its reader a version that never was", async () => {
    const gated = new GatedStore();
    await using shop = await Workshop.open(gated.store);
    const block = await shop.create("ann", "one\ntwo\nthree\n");
    await shop.call("ann", "block_read", { block_id: block });
    await shop.call("ben", "block_read", { block_id: block });
    gated.shut();
    const ann = shop.call("ann", "block_edit", replaceLine(block, "never stored")).catch(codeOf);
    await turns();
    const ben = shop.call("ben", "block_edit", replaceLine(block, "ben's"));
    expect(await waits(ben)).toBe(true);
    expect(shop.kernel.readers.shown({ actor: "ben" }, block)).toBe(1);
    gated.open("fail");
    expect(await ann).toBe("journal_unwritable");
    // What stood in the way was never kept, so nothing does.
    expect(await ben).toMatchObject({ version: 2 });
    expect(await shop.text(block)).toBe("one\nben's\nthree\n");
  });

  test("is told in a conflict once it is there, and is then what the reader's lines mean", async () => {
    const gated = new GatedStore();
    await using shop = await Workshop.open(gated.store);
    const block = await shop.create("ann", "one\ntwo\nthree\n");
    await shop.call("ann", "block_read", { block_id: block });
    await shop.call("ben", "block_read", { block_id: block });
    gated.shut();
    const ann = shop.call("ann", "block_edit", replaceLine(block, "ann's"));
    await turns();
    const ben = shop.refusal("ben", "block_edit", replaceLine(block, "ben's"));
    expect(await waits(ben)).toBe(true);
    gated.open("pass");
    expect(await ann).toMatchObject({ version: 2 });
    const { code, facts } = await ben;
    expect(code).toBe("conflict");
    expect(JSON.stringify(facts)).toContain("ann's");
    expect(shop.kernel.readers.shown({ actor: "ben" }, block)).toBe(2);
  });

  test("is not what a refused change of status or a refused child speaks of", async () => {
    const gated = new GatedStore();
    await using shop = await Workshop.open(gated.store);
    const block = await shop.create("ann");
    gated.shut();
    const ended = shop.call("ann", "block_status", { block_id: block, status: "done" });
    const failed = ended.catch(codeOf);
    await turns();
    const again = shop.call("ben", "block_status", { block_id: block, status: "running" });
    expect(await waits(again)).toBe(true);
    const making = shop.create("ann", "a parent").catch(codeOf);
    await turns();
    const child = { role: "tool", kind: "tool_result", content: "", parent_id: "main~ann~2" };
    expect((await shop.refusal("ben", "block_create", child)).code).toBe("unknown_block");
    gated.open("fail");
    expect([await failed, await making]).toEqual(["journal_unwritable", "journal_unwritable"]);
    expect(await again).toMatchObject({ status: "running", version: 2 });
  });

  test("is not acknowledged by a change that changes nothing", async () => {
    for (const ending of ["fail", "pass"] as const) {
      const gated = new GatedStore();
      await using shop = await Workshop.open(gated.store);
      const block_id = await shop.create("ann");
      gated.shut();
      const done = { block_id, status: "done" };
      const first = shop.call("ann", "block_status", done).catch(codeOf);
      await turns();
      const second = shop.call("ben", "block_status", done).catch(codeOf);
      expect(await waits(second)).toBe(true);
      gated.open(ending);
      if (ending === "pass") {
        expect([await first, await second]).toMatchObject([{ version: 2 }, { version: 2 }]);
        gated.shut();
        // Everything it rests on is on disk: nobody waits for nothing.
        expect(await waits(shop.call("ben", "block_status", done))).toBe(false);
        gated.open("pass");
      } else {
        expect([await first, await second]).toEqual(["journal_unwritable", "journal_unwritable"]);
        expect((await shop.kernel.state(block_id)).status).toBe("pending");
      }
    }
  });
});

describe("what is written together", () => {
  test("may say twice what one block is: the later word stands, and nobody beside it fails", async () => {
    const disk = new MemoryDisk();
    const store = new MemoryStore({ disk });
    await using shop = await Workshop.open(store);
    const [block_id, other] = [await shop.create("ann", "one"), await shop.create("ann", "two")];
    const said = await Promise.all([
      shop.call("ann", "block_status", { block_id, metadata: { ann: 1, last: "ann" } }),
      shop.call("ben", "block_status", { block_id, metadata: { ben: 1, last: "ben" } }),
      shop.call("ben", "block_append", { block_id: other, text: " three", flush: true }),
    ]);
    expect(said).toMatchObject([{ version: 2 }, { version: 3 }, { durable_version: 2 }]);
    const metadata = { ann: 1, ben: 1, last: "ben" };
    expect((await shop.kernel.state(block_id)).metadata).toEqual(metadata);
    expect(JSON.parse((await store.row(block_id))!.attributes)).toMatchObject({ metadata });
    expect(await shop.text(other)).toBe("two three");
  });
});

describe("nobody changes anything but through the door", () => {
  test("states and events are frozen, all the way down", async () => {
    await using shop = await Workshop.open(new MemoryStore());
    const events: FeedEvent[] = [];
    const subscription = shop.kernel.feed.subscribe();
    const metadata = { path: "a.md", deep: { list: [1, { two: 2 }] } };
    const made = await shop.call("ann", "block_create", {
      role: "user",
      kind: "text",
      content: "one\n",
      metadata,
    });
    const block = made["block_id"] as string;
    await shop.call("ann", "block_edit", insertLine(block, 0, "zero"));
    events.push(...((await subscription.next()).value as FeedEvent[]));
    await subscription.return();
    const [listed] = await shop.kernel.children({ context: "main", parent: null, limit: 1 });
    const shown: unknown[] = [
      await shop.kernel.state(block),
      (await shop.kernel.read(block)).state,
      (await shop.kernel.readAt(block, 1)).state,
      await shop.kernel.look(block, ({ state }) => state),
      listed!.state,
      ...events,
      ...(await shop.kernel.feed.since(0, 10)),
      ...(await shop.kernel.feed.ofBlock(block, 0)),
    ];
    for (const each of shown) expectFrozen(each);
    // What the caller gave stays the caller's.
    metadata.deep.list.push(3);
    expect((await shop.kernel.state(block)).metadata).toMatchObject({
      deep: { list: [1, { two: 2 }] },
    });
  });

  test("a change of state cannot be made in place", async () => {
    await using shop = await Workshop.open(new MemoryStore());
    const block = await shop.create("ann", "one\n");
    const inPlace = shop.kernel.changeState({ actor: "ben" }, block, {
      change: (state) => {
        (state.metadata as { [name: string]: unknown })["forged"] = true;
        return state;
      },
      answer: () => undefined,
    });
    await expect(inPlace).rejects.toThrow(TypeError);
    const { state, version } = await shop.kernel.read(block);
    expect([state.metadata, version]).toEqual([{}, 1]);
  });

  test("a kernel's feed and flow can be read and nothing else", async () => {
    await using shop = await Workshop.open(new MemoryStore());
    const { feed, flow } = shop.kernel;
    for (const each of [feed, flow]) {
      for (const name of ["publish", "forget", "close", "jump"]) expect(name in each).toBe(false);
      expect(Object.isFrozen(each)).toBe(true);
    }
    expect(flow.feed).toBe(feed);
  });
});

/** Two servers, each with a kernel of its own on one disk. */
async function twoServers(): Promise<AsyncDisposable & { one: Workshop; two: Workshop }> {
  const disk = new MemoryDisk();
  const time = new FakeTime();
  const one = await Workshop.open(new MemoryStore({ disk }), { server: "one", time });
  const two = await Workshop.open(new MemoryStore({ disk }), { server: "two", time });
  return {
    one,
    two,
    async [Symbol.asyncDispose]() {
      await one[Symbol.asyncDispose]();
      await two[Symbol.asyncDispose]();
    },
  };
}

async function positions(shop: Workshop): Promise<number[]> {
  const seen: number[] = [];
  for await (const events of shop.kernel.feed.subscribe({ from: 0 })) {
    seen.push(...events.map(({ position }) => position));
    if (seen.at(-1) === shop.kernel.feed.head) break;
  }
  return seen;
}

describe("two servers on one store", () => {
  test("who was outrun translates again, and its feed misses nothing", async () => {
    await using shops = await twoServers();
    const { one, two } = shops;
    const live: number[] = [];
    const abort = new AbortController();
    const block = await one.create("ann", "one\n");
    const following = (async () => {
      const { signal } = abort;
      for await (const events of one.kernel.feed.subscribe({ from: 0, signal }))
        live.push(...events.map(({ position }) => position));
    })();
    await two.call("ben", "block_edit", insertLine(block, 0, "ben", { base_version: 1 }));
    await two.create("ben", "another\n");
    const answer = await one.call(
      "ann",
      "block_edit",
      insertLine(block, 1, "ann", { base_version: 1 }),
    );
    expect(answer).toMatchObject({ version: 3 });
    expect(answer["since"]).toContain("+ben");
    expect(await one.text(block)).toBe("ben\none\nann\n");
    await turns();
    expect(live).toEqual([1, 2, 3, 4]);
    abort.abort();
    await following;
    expect(await positions(one)).toEqual([1, 2, 3, 4]);
  });

  test("a conflict with what another server wrote is told as any other", async () => {
    await using shops = await twoServers();
    const { one, two } = shops;
    const block = await one.create("ann", "one\ntwo\nthree\n");
    await one.call("ann", "block_read", { block_id: block });
    await two.call("ben", "block_read", { block_id: block });
    await two.call("ben", "block_edit", replaceLine(block, "ben's"));
    const error = await one.refusal("ann", "block_edit", replaceLine(block, "ann's"));
    expect([error.code, JSON.stringify(error.facts)]).toEqual([
      "conflict",
      expect.stringContaining("ben's"),
    ]);
    expect(one.kernel.readers.shown({ actor: "ann" }, block)).toBe(2);
  });

  test("a version that only another server knew of yet is known when it is named", async () => {
    await using shops = await twoServers();
    const { one, two } = shops;
    const block = await one.create("ann", "one\n");
    await two.call("ben", "block_edit", insertLine(block, 0, "ben", { base_version: 1 }));
    const edit = insertLine(block, 2, "ann", { base_version: 2 });
    expect(await one.call("ann", "block_edit", edit)).toMatchObject({ version: 3, since: "" });
    const read = await two.call("ben", "block_read", { block_id: block, version: 3 });
    expect(read["line_count"]).toBe(3);
  });

  test("both create at the end of one conversation, under the same name", async () => {
    await using shops = await twoServers();
    const { one, two } = shops;
    const made: string[] = [];
    for (let round = 0; round < 5; round++) {
      made.push(
        ...(await Promise.all([
          one.create("ann", `one ${round}\n`),
          two.create("ann", `two ${round}\n`),
          two.create("ben", `three ${round}\n`),
        ])),
      );
    }
    expect(new Set(made).size).toBe(15);
    const query = { context: "main", parent: null, limit: 100 };
    const listed = await one.kernel.children(query);
    expect(new Set(listed.map(({ block }) => block))).toEqual(new Set(made));
    await one.create("ann", "last\n");
    await two.create("ann", "last\n");
    expect(await positions(two)).toEqual(Array.from({ length: 17 }, (_, index) => index + 1));
  });

  test("a call that another server has answered is answered alike", async () => {
    await using shops = await twoServers();
    const { one, two } = shops;
    const block = await one.create("ann", "one\n");
    const edit = insertLine(block, 0, "once", { base_version: 1, call_id: "c1" });
    const answers = await Promise.all([
      one.call("ann", "block_edit", edit),
      two.call("ann", "block_edit", edit),
    ]);
    expect(answers[1]).toEqual(answers[0]);
    expect(await one.text(block)).toBe("once\none\n");
  });

  test("no Edit id is given twice, also when one server's clock is behind", async () => {
    const disk = new MemoryDisk();
    const behind = new FakeTime();
    behind.now -= 500;
    await using one = await Workshop.open(new MemoryStore({ disk }), { server: "one" });
    const block = await one.create("ann", "one\n");
    await using two = await Workshop.open(new MemoryStore({ disk }), {
      server: "two",
      time: behind,
    });
    await two.call("ben", "block_edit", insertLine(block, 0, "ben", { base_version: 1 }));
    const events = await one.kernel.feed.since(0, 10);
    expect(new Set(events.map(({ edit }) => edit)).size).toBe(2);
  });

  test("what another server says of a block while it is being loaded is known", async () => {
    const disk = new MemoryDisk();
    await using two = await Workshop.open(new MemoryStore({ disk }), { server: "two" });
    const block = await two.create("ben");
    let meanwhile: (() => Promise<unknown>) | undefined;
    class SlowStore extends MemoryStore {
      override async snapshot(name: string): ReturnType<MemoryStore["snapshot"]> {
        const run = meanwhile;
        meanwhile = undefined;
        await run?.();
        return super.snapshot(name);
      }
    }
    await using one = await Workshop.open(new SlowStore({ disk }), { server: "one" });
    meanwhile = () =>
      two.call("ben", "block_status", { block_id: block, status: "done", metadata: { by: "ben" } });
    await one.call("ann", "block_status", { block_id: block, flags: { pinned: true } });
    const { status, metadata, flags } = await one.kernel.state(block);
    expect({ status, metadata, flags }).toEqual({
      status: "done",
      metadata: { by: "ben" },
      flags: { pinned: true },
    });
  });

  test("a commit of another server that cannot be read keeps nobody from being answered", async () => {
    const disk = new MemoryDisk();
    let broken = 0;
    class BrokenStore extends MemoryStore {
      override async changesSince(
        position: number,
        limit: number,
      ): ReturnType<MemoryStore["changesSince"]> {
        if (position < broken && broken <= position + limit)
          throw new KumikoError("damaged", "a wrong hash", { position: broken });
        return super.changesSince(position, limit);
      }
    }
    await using one = await Workshop.open(new BrokenStore({ disk }), { server: "one" });
    await using two = await Workshop.open(new MemoryStore({ disk }), { server: "two" });
    const block = await one.create("ann", "one\n");
    const following = one.kernel.feed.subscribe({ from: 1 });
    await two.call("ben", "block_edit", insertLine(block, 0, "ben", { base_version: 1 }));
    broken = 2;
    const edit = insertLine(block, 1, "ann", { base_version: 1 });
    expect(await one.call("ann", "block_edit", edit)).toMatchObject({ version: 3 });
    expect(one.kernel.feed.head).toBe(3);
    // Nobody is given less than there is without being told.
    await expect(following.next()).rejects.toMatchObject({ code: "damaged" });
    broken = 0;
    expect(await positions(one)).toEqual([1, 2, 3]);
  });

  test("a server that only listens hears of the others when it renews its lease", async () => {
    const disk = new MemoryDisk();
    const time = new FakeTime();
    await using one = await Workshop.open(new MemoryStore({ disk }), { server: "one", time });
    await using two = await Workshop.open(new MemoryStore({ disk }), { server: "two", time });
    const block = await one.create("ann", "one\n");
    await two.call("ben", "block_edit", insertLine(block, 0, "ben", { base_version: 1 }));
    expect(one.kernel.feed.head).toBe(1);
    time.pass(20_000);
    await turns();
    expect(one.kernel.feed.head).toBe(2);
    expect(await one.text(block)).toBe("ben\none\n");
  });

  test("who is outrun again and again is told so, and nothing was changed", async () => {
    const disk = new MemoryDisk();
    const store = new MemoryStore({ disk });
    await using two = await Workshop.open(new MemoryStore({ disk }), { server: "two" });
    let meddling = false;
    const block = await two.create("ben", "one\n");
    const meddle = async (): Promise<"pass"> => {
      if (meddling)
        await two.call("ben", "block_append", { block_id: block, text: "x\n", flush: true });
      return "pass";
    };
    const outrun = new MemoryStore({
      disk,
      faults: ({ what, at }) => (what === "commit" && at === "write" ? meddle() : "pass"),
    });
    await using one = await Workshop.open(outrun, { server: "one" });
    await one.create("ann", "mine\n");
    meddling = true;
    const error = await one.refusal(
      "ann",
      "block_edit",
      insertLine(block, 0, "ann", { base_version: 1 }),
    );
    meddling = false;
    expect(error.code).toBe("outrun");
    expect(await one.text(block)).not.toContain("ann");
    const answer = await one.call(
      "ann",
      "block_edit",
      insertLine(block, 0, "ann", { base_version: 1 }),
    );
    // All commits but one are the block's.
    expect(answer["version"]).toBe((await store.head()) - 1);
  });
});

function expectFrozen(value: unknown): void {
  if (value === null || typeof value !== "object") return;
  expect(Object.isFrozen(value)).toBe(true);
  for (const each of Object.values(value)) expectFrozen(each);
}
