import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { Random } from "../src/base/index.ts";
import type { FeedEvent, Kernel } from "../src/kernel/index.ts";
import { MemoryDisk } from "../src/store/memory/memory-disk.ts";
import { scaled, seed } from "./support/counts.ts";
import { type Life, live, openOn } from "./support/kernel-life.ts";

const LIVES = 4;

/** Several lives on one disk, each ending as chance will have it. */
async function simulate(
  number: number,
): Promise<{ lives: Life[]; disk: MemoryDisk; hash: string }> {
  const random = new Random(number);
  const disk = new MemoryDisk();
  const time = { now: 1 };
  const lives: Life[] = [];
  for (let count = 0; count < LIVES; count++) {
    lives.push(
      await live({ disk, random, time, clients: 1 + random.below(4), calls: 12, faulty: true }),
    );
  }
  const trace = lives.flatMap((each) => each.trace).join("\n");
  return { lives, disk, hash: createHash("sha256").update(trace).digest("hex") };
}

async function feedOf(kernel: Kernel): Promise<FeedEvent[]> {
  const events: FeedEvent[] = [];
  const { head } = kernel.feed;
  if (head === 0) return events;
  for await (const batch of kernel.feed.subscribe({ from: 0 })) {
    events.push(...batch);
    if (events.at(-1)!.position >= head) break;
  }
  return events;
}

function readAt(kernel: Kernel, block: string, version: number): Promise<string> {
  return kernel.look(block, ({ document }) => document.read(version));
}

async function check(lives: readonly Life[], disk: MemoryDisk): Promise<void> {
  await using kernel = await openOn(disk, { now: 1_000_000 });
  const events = await feedOf(kernel);
  // The feed has no gap, repeat or reorder.
  expect(events.map(({ position }) => position)).toEqual(events.map((_, index) => index + 1));
  const versions = new Map<string, number>();
  for (const { block, version } of events) {
    expect(version).toBe((versions.get(block) ?? 0) + 1);
    versions.set(block, version);
  }
  const key = ({
    block,
    version,
    edit,
  }: {
    block: string;
    version: number;
    edit: string;
  }): string => `${block} ${version} ${edit}`;
  const journalled = new Set(events.map(key));
  for (const each of lives) {
    expect(each.alive).not.toContain(false);
    // Nothing that was acknowledged is missing.
    for (const acknowledged of each.acknowledged) {
      expect(journalled).toContain(key(acknowledged));
      const text = await readAt(kernel, acknowledged.block, acknowledged.version);
      expect(text).toContain(acknowledged.token);
    }
    for (const { edit, flipped, active, blocks } of each.flips) {
      for (const { block, version } of blocks) {
        expect(journalled).toContain(key({ block, version, edit }));
      }
      // All blocks of the Edit, and nothing else.
      const made = events.filter((event) => event.edit === edit);
      expect(made.map(({ change }) => change)).toEqual(
        blocks.map(() => expect.objectContaining({ kind: "flip", edit: flipped, active })),
      );
      const of = new Set(
        events
          .filter((event) => event.edit === flipped && event.change.kind === "text")
          .map(({ block }) => block),
      );
      expect(new Set(blocks.map(({ block }) => block))).toEqual(of);
    }
    // Nothing that was shown is taken back.
    for (const { block, version, text } of each.seen) {
      expect(await readAt(kernel, block, version)).toBe(text);
    }
    for (const event of each.events) expect(events[event.position - 1]).toEqual(event);
  }
  // No Edit is undone twice, or redone without having been undone.
  const off = new Set<string>();
  for (const event of events) {
    if (event.change.kind !== "flip") continue;
    const { edit, active } = event.change;
    const name = `${edit} ${event.block}`;
    expect(off.has(name)).toBe(active);
    if (active) off.delete(name);
    else off.add(name);
  }
  // An Edit over several blocks is there whole or not at all.
  const acknowledgedEdits = new Set(
    lives.flatMap((each) => each.acknowledged.map(({ edit }) => edit)),
  );
  for (const edit of acknowledgedEdits) {
    const told = lives.flatMap((each) =>
      each.acknowledged.filter((one) => one.edit === edit),
    ).length;
    expect(events.filter((event) => event.edit === edit)).toHaveLength(told);
  }
}

test("nothing acknowledged is lost, nothing shown is taken back, whatever fails", async () => {
  let acknowledged = 0;
  let refused = 0;
  let flips = 0;
  for (let number = 0; number < scaled(1000); number++) {
    const { lives, disk } = await simulate(seed() + number);
    await check(lives, disk);
    acknowledged += lives.reduce((sum, each) => sum + each.acknowledged.length, 0);
    flips += lives.reduce((sum, each) => sum + each.flips.length, 0);
    refused += lives
      .flatMap((each) => each.trace)
      .filter((line) => line.startsWith("refused")).length;
  }
  expect(acknowledged).toBeGreaterThan(1000);
  expect(refused).toBeGreaterThan(100);
  expect(flips).toBeGreaterThan(100);
});

test("the same seed gives the same trace", async () => {
  const first = await simulate(7);
  const second = await simulate(7);
  expect(second.hash).toBe(first.hash);
});
