/** The goals of the feed: how much one subscriber can be given, and how soon five hundred are. */
import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { Feed } from "../../src/kernel/flow/feed.ts";
import type { FeedEvent } from "../../src/kernel/index.ts";
import { MemoryStore } from "../../src/store/memory/memory-store.ts";
import { median, row, type Row } from "../harness.ts";
import { benchKernel } from "./bench-kernel.ts";

const EVENTS = 1_000_000;
/** As many as a busy group commit brings in one turn. */
const TOGETHER = 1_000;
const SUBSCRIBERS = 500;
/** Of these, how many never read again after their first batch. */
const STUCK = 50;
const EDITS_PER_SECOND = 50;
const SECONDS = 8;
/** Edits that count for nobody: engines compile what they run often. */
const WARM_UP = 50;

export async function* feedMeasures(): AsyncGenerator<Row> {
  const rates: number[] = [];
  for (let round = 0; round < 4; round++) rates.push(await eventsPerSecond());
  yield row({
    name: "feed to one subscriber in batches, events/s",
    ours: median(rates.slice(1)),
    goal: `>= ${EVENTS} events/s`,
  });
  const { p99, megabytes } = await manySubscribers();
  const many = `${SUBSCRIBERS} subscribers, ${EDITS_PER_SECOND} durable edits/s`;
  yield row({ name: `${many}: call to delivery, p99, ms`, ours: p99, goal: "< 50 ms" });
  yield row({
    name: `${many}, ${STUCK} stuck: heap growth, MB`,
    ours: megabytes,
    goal: "< 20 MB",
  });
}

async function eventsPerSecond(): Promise<number> {
  const feed = new Feed(new MemoryStore(), 0);
  let received = 0;
  const reading = (async () => {
    for await (const batch of feed.subscribe()) received += batch.length;
  })();
  await setImmediate();
  const begun = performance.now();
  for (let position = 1; position <= EVENTS;) {
    for (const end = position + TOGETHER; position < end; position++) feed.publish(event(position));
    await setImmediate();
  }
  feed.close();
  await reading;
  const seconds = (performance.now() - begun) / 1000;
  if (received !== EVENTS) throw new Error(`${received} of ${EVENTS} events were delivered`);
  return EVENTS / seconds;
}

function event(position: number): FeedEvent {
  const splices = [{ at: position, remove: 0, insert: "token " }];
  return {
    position,
    block: "main~claude~1",
    version: position,
    edit: "e1-1",
    actor: "claude",
    time: position,
    change: { kind: "text", splices },
  };
}

/** Real edits through a tool into SQLite, at a steady pace. */
async function manySubscribers(): Promise<{ p99: number; megabytes: number }> {
  await using bench = await benchKernel();
  const { kernel } = bench;
  const blocks: string[] = [];
  const content = "A line of ordinary length, of which there are some.\n".repeat(50);
  for (let count = 0; count < 10; count++) blocks.push(await bench.create(content));
  const called: number[] = [];
  const latencies: number[] = [];
  const abort = new AbortController();
  const readers = Array.from({ length: SUBSCRIBERS }, async (_, number) => {
    const batches = kernel.feed.subscribe({ signal: abort.signal });
    if (number < STUCK) {
      await batches.next();
      return;
    }
    for await (const batch of batches) {
      const now = performance.now();
      for (const { message } of batch)
        if (Number(message) >= WARM_UP) latencies.push(now - called[Number(message)]!);
    }
  });
  await setImmediate();
  globalThis.gc?.();
  const heap = process.memoryUsage().heapUsed;
  const begun = performance.now();
  const answers: Promise<unknown>[] = [];
  for (let number = 0; number < EDITS_PER_SECOND * SECONDS; number++) {
    await sleep(Math.max(0, begun + number * (1000 / EDITS_PER_SECOND) - performance.now()));
    called[number] = performance.now();
    const operations = [{ op: "insert", line: 3, content: `Edit ${number}` }];
    const block_id = blocks[number % blocks.length];
    const input = { block_id, operations, message: String(number) };
    answers.push(bench.call("block_edit", input));
  }
  await Promise.all(answers);
  await setImmediate();
  const expected = (EDITS_PER_SECOND * SECONDS - WARM_UP) * (SUBSCRIBERS - STUCK);
  if (latencies.length !== expected)
    throw new Error(`${latencies.length} of ${expected} deliveries`);
  const p99 = latencies.toSorted((a, b) => a - b)[Math.floor(expected * 0.99)]!;
  latencies.length = 0;
  globalThis.gc?.();
  const megabytes = (process.memoryUsage().heapUsed - heap) / 1e6;
  abort.abort();
  await Promise.all(readers);
  return { p99, megabytes: Math.max(0, megabytes) };
}
