import { describe, expect, test } from "vitest";
import { KumikoError } from "../src/base/index.ts";
import { FlowBus } from "../src/kernel/flow/flow-bus.ts";
import {
  feedEvent,
  liveEvent,
  type LiveTopic,
  liveTopics,
  type Notice,
} from "../src/protocol/index.ts";
import { MemoryStore } from "../src/store/memory/memory-store.ts";
import { Workshop } from "./support/kernel-workshop.ts";

const samples: { readonly [Topic in LiveTopic]: Notice<Topic> } = {
  context: { kind: "created", context: "side", by: "ann" },
  resource: { kind: "damaged", block: "main~ann~1", effect: "quarantined", why: "a wrong hash" },
  config: { key: "retention.days", value: 30, by: "ann" },
  progress: { task: "export-1", what: "Exporting", state: "running", done: 3, total: 10 },
  elicitation: { kind: "asked", elicitation: "q1", by: "claude", question: "Which?", schema: {} },
  approval: {
    kind: "asked",
    approval: "a1",
    actor: "claude",
    operation: "delete",
    target: "src/a.ts",
    reason: "human",
  },
};

const clock = { now: () => 1 };

async function take<Item>(
  batches: AsyncGenerator<readonly Item[], void, void>,
  count: number,
): Promise<Item[]> {
  const taken: Item[] = [];
  while (taken.length < count) {
    const { value, done } = await batches.next();
    if (done === true || value === undefined) break;
    taken.push(...value);
  }
  return taken;
}

describe("the flow bus", () => {
  test("every topic has its own order, and its events are as their schema says", async () => {
    const flow = new FlowBus(new MemoryStore(), 0, clock);
    for (const topic of liveTopics) {
      const events = flow.subscribe(topic);
      const before = (await firstSequence(flow, topic)) - 1;
      flow.publish(topic, samples[topic]);
      flow.publish(topic, samples[topic]);
      const got = await take(events, 3);
      await events.return();
      expect(got.map(({ sequence }) => sequence)).toEqual([before + 1, before + 2, before + 3]);
      for (const event of got) liveEvent(topic).parse(event);
      expect(got.at(-1)!.notice).toEqual(samples[topic]);
    }
  });

  test("who changes the retention settings is told with what they are now", async () => {
    await using shop = await Workshop.open(new MemoryStore());
    const { flow, retention } = shop.kernel;
    const events = flow.subscribe("config");
    const next = take(events, 1);
    await retention.set({ idle_snapshots_days: 7 }, "ann");
    const [event] = await next;
    await events.return();
    expect(liveEvent("config").parse(event).notice).toEqual({
      key: "retention",
      value: { answered_calls_days: 30, idle_snapshots_days: 7 },
      by: "ann",
    });
  });

  test("contexts and their members are told of after they are on disk", async () => {
    await using shop = await Workshop.open(new MemoryStore());
    const { contexts, flow } = shop.kernel;
    const events = flow.subscribe("context", {
      where: ({ notice }) => notice.context === "side",
    });
    await contexts.create("other", "ann");
    await contexts.create("side", "ann");
    const member = await contexts.join("side", { nick: "ann", instance: "laptop", by: "ann" });
    await contexts.leave(member, "ann");
    expect((await take(events, 3)).map(({ notice }) => notice)).toEqual([
      { kind: "created", context: "side", by: "ann" },
      { kind: "joined", context: "side", nick: "ann", instance: "laptop" },
      { kind: "left", context: "side", nick: "ann", instance: "laptop" },
    ]);
    await events.return();
  });

  test("who is too slow for a live topic is told so, and nobody else is", async () => {
    const flow = new FlowBus(new MemoryStore(), 0, clock);
    const slow = flow.subscribe("progress");
    const quick = flow.subscribe("progress");
    let received = 0;
    for (let count = 0; count < 40; count++) {
      for (let each = 0; each < 100; each++) flow.publish("progress", samples.progress);
      received += (await take(quick, 100)).length;
    }
    expect(received).toBe(4000);
    const error: unknown = await slow.next().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(KumikoError);
    expect(error).toMatchObject({ code: "resync", facts: { seen: 0, head: 4000 } });
    await quick.return();
  });

  test("events of blocks are as their schema says, for every kind of change", async () => {
    await using shop = await Workshop.open(new MemoryStore());
    const events = shop.kernel.flow.subscribe("block", { context: "main" });
    const block_id = await shop.create("ann", "one\n");
    await shop.call("ann", "block_replace", { block_id, old: "one", new: "two" });
    await shop.call("ann", "block_undo", {});
    await shop.call("ann", "block_status", { block_id, flags: { pinned: true } });
    const got = await take(events, 4);
    for (const event of got) feedEvent.parse(event);
    expect(got.map(({ change }) => change.kind)).toEqual(["text", "text", "flip", "structure"]);
    expect(got.at(-1)!.state?.flags).toEqual({ pinned: true });
    await events.return();
    expect(shop.kernel.feed.subscribers).toBe(0);
  });

  test("what was purged is not told any more, not even to who was a little behind", async () => {
    await using shop = await Workshop.open(new MemoryStore());
    const behind = shop.kernel.flow.subscribe("block");
    const secret = "hunter2-hunter2";
    const block_id = await shop.create("ann", `the password is ${secret}\n`);
    await shop.call("ann", "block_append", { block_id, text: "more\n", flush: true });
    await shop.kernel.purge({ actor: "ann" }, { text: secret });
    const told = JSON.stringify(await take(behind, 2));
    expect(told).toContain("the password is");
    expect(told).not.toContain(secret);
    await behind.return();
  });

  test("closing a kernel gives what was published before and then ends", async () => {
    const shop = await Workshop.open(new MemoryStore());
    const blocks = shop.kernel.flow.subscribe("block");
    const contexts = shop.kernel.flow.subscribe("context");
    await shop.create("ann", "one\n");
    await shop[Symbol.asyncDispose]();
    expect(await take(blocks, 2)).toHaveLength(1);
    expect(await take(contexts, 1)).toEqual([]);
  });
});

/** What the next event of a topic will be numbered: publishes one to find out. */
async function firstSequence(flow: FlowBus, topic: LiveTopic): Promise<number> {
  const events = flow.subscribe(topic);
  flow.publish(topic, samples[topic]);
  const [event] = await take(events, 1);
  await events.return();
  return event!.sequence;
}
