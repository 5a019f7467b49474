import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { Random } from "../src/base/index.ts";
import type { FeedEvent, Kernel } from "../src/kernel/index.ts";
import { MemoryDisk } from "../src/store/memory/memory-disk.ts";
import { scaled, seed } from "./support/counts.ts";
import type { Call } from "./support/kernel-client.ts";
import { type Life, live, openOn } from "./support/kernel-life.ts";

const LIVES = 4;

interface Simulated {
  readonly lives: readonly Life[];
  readonly disk: MemoryDisk;
  readonly hash: string;
}

/** Several lives on one disk, each ending as chance will have it. */
async function simulate(number: number): Promise<Simulated> {
  const random = new Random(number);
  const disk = new MemoryDisk();
  const time = { now: 1 };
  const lives: Life[] = [];
  const unanswered: Call[] = [];
  for (let count = 0; count < LIVES; count++) {
    const clients = 1 + random.below(4);
    lives.push(await live({ disk, random, time, clients, calls: 12, faulty: true, unanswered }));
  }
  return { lives, disk, hash: hashOf(lives) };
}

/** Two servers on one disk at the same time, twice: some of them crash. */
async function simulateTwo(number: number): Promise<Simulated> {
  const random = new Random(number);
  const disk = new MemoryDisk();
  const time = { now: 1 };
  const lives: Life[] = [];
  const unanswered: Call[] = [];
  for (let round = 0; round < 2; round++) {
    const blocks: string[] = [];
    const faulty = random.next() < 0.5;
    const shared = { disk, random, time, calls: 12, faulty, unanswered, blocks };
    lives.push(
      ...(await Promise.all([
        live({ ...shared, clients: 1 + random.below(2), server: "one" }),
        live({ ...shared, clients: 1 + random.below(2), server: "two" }),
      ])),
    );
  }
  return { lives, disk, hash: hashOf(lives) };
}

function hashOf(lives: readonly Life[]): string {
  const trace = lives.flatMap((each) => each.trace).join("\n");
  return createHash("sha256").update(trace).digest("hex");
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

const TOKEN = /\[[a-z]+-\d+\]/g;

/** What the journal says, made of its events alone. */
class Replayed {
  /** By block, the text of each version from 1 on. */
  readonly texts = new Map<string, string[]>();
  /** By block, what it was at each version from 1 on. */
  readonly states = new Map<string, NonNullable<FeedEvent["state"]>[]>();
  /** By token, how often it was inserted in which block. */
  readonly inserted = new Map<string, Map<string, number>>();

  constructor(events: readonly FeedEvent[]) {
    for (const { block, version, change, state } of events) {
      const texts = listIn(this.texts, block);
      const states = listIn(this.states, block);
      expect(version).toBe(texts.length + 1);
      let text = texts.at(-1) ?? "";
      for (const { at, remove, insert } of "splices" in change ? change.splices : []) {
        text = text.slice(0, at) + insert + text.slice(at + remove);
        if (change.kind === "text") this.#note(block, insert);
      }
      texts.push(text);
      states.push(state ?? states.at(-1)!);
    }
  }

  text(block: string, version: number): string | undefined {
    return this.texts.get(block)?.[version - 1];
  }

  #note(block: string, insert: string): void {
    for (const [token] of insert.matchAll(TOKEN)) {
      const blocks = this.inserted.get(token) ?? new Map<string, number>();
      this.inserted.set(token, blocks.set(block, (blocks.get(block) ?? 0) + 1));
    }
  }
}

function listIn<Value>(map: Map<string, Value[]>, key: string): Value[] {
  const list = map.get(key) ?? [];
  map.set(key, list);
  return list;
}

async function check({ lives, disk }: Simulated): Promise<void> {
  await using kernel = await openOn(disk, { now: 10_000_000 });
  const events = await feedOf(kernel);
  // The feed has no gap, repeat or reorder.
  expect(events.map(({ position }) => position)).toEqual(events.map((_, index) => index + 1));
  const replayed = new Replayed(events);
  const byVersion = new Map(events.map((event) => [`${event.block} ${event.version}`, event]));
  for (const [block, texts] of replayed.texts) {
    const { version, text, state } = await kernel.read(block);
    expect([version, text, state]).toEqual([
      texts.length,
      texts.at(-1),
      replayed.states.get(block)!.at(-1),
    ]);
  }
  for (const each of lives) {
    expect(each.alive).not.toContain(false);
    expect(each.different).toEqual([]);
    checkAcknowledged(each, byVersion, replayed);
    checkFlips(each, events, byVersion);
    checkShown(each, replayed);
    checkAppended(each, replayed);
    // What was delivered live is what the journal says, from its beginning on.
    expect(each.events).toEqual(events.slice(0, each.events.length));
  }
  // An Edit over several blocks is there whole or not at all, whoever was told of it, and once.
  for (const { token, blocks } of lives.flatMap(({ planned }) => planned)) {
    const found = replayed.inserted.get(token);
    if (found === undefined) continue;
    expect([token, [...found.keys()].toSorted()]).toEqual([token, blocks.toSorted()]);
    expect([...found.values()].every((count) => count === 1)).toBe(true);
  }
  // One call is one Edit, however often it was made.
  const editsOfCalls = new Map<string, string>();
  for (const { call, edit, block } of events) {
    if (call === undefined || edit.includes("-undoes-") || edit.includes("-redoes-")) continue;
    const first = editsOfCalls.get(call) ?? `${edit} ${block}`;
    editsOfCalls.set(call, first);
    expect(`${edit} ${block}`).toBe(first);
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
}

/** Nothing that was acknowledged is missing. */
function checkAcknowledged(
  { acknowledged, crashed, events }: Life,
  byVersion: ReadonlyMap<string, FeedEvent>,
  replayed: Replayed,
): void {
  for (const { block, version, edit, token } of acknowledged) {
    const event = byVersion.get(`${block} ${version}`);
    const note = replayed.states.get(block)?.[version - 1]?.metadata["note"];
    const there = replayed.text(block, version)?.includes(token) === true || note === token;
    expect([event?.edit, there]).toEqual([edit, true]);
    // Who was told of it could have heard it from its own server's feed.
    if (!crashed) expect(event!.position).toBeLessThanOrEqual(events.length);
  }
}

/** All blocks of the Edit, and nothing else. */
function checkFlips(
  { flips }: Life,
  events: readonly FeedEvent[],
  byVersion: ReadonlyMap<string, FeedEvent>,
): void {
  for (const { edit, flipped, active, blocks } of flips) {
    for (const { block_id, version } of blocks)
      expect(byVersion.get(`${block_id} ${version}`)?.edit).toBe(edit);
    const made = events.filter((event) => event.edit === edit);
    expect(made.map(({ change }) => change)).toEqual(
      blocks.map(() => expect.objectContaining({ kind: "flip", edit: flipped, active })),
    );
    const first = made[0]!.position;
    const of = events.filter(
      (event) => event.edit === flipped && event.change.kind === "text" && event.position < first,
    );
    expect(new Set(blocks.map(({ block_id }) => block_id))).toEqual(
      new Set(of.map(({ block }) => block)),
    );
  }
}

/** Nothing that was shown, by an answer or by a refusal, is taken back. */
function checkShown({ seen, refusals }: Life, replayed: Replayed): void {
  for (const { block, version, text, status } of seen) {
    expect(replayed.text(block, version)).toBe(text);
    expect(replayed.states.get(block)![version - 1]!.status).toBe(status);
  }
  for (const { block, version, lines } of refusals) {
    const there = replayed.text(block, version)?.split("\n");
    for (const { line, text } of lines) expect(there?.[line]).toBe(text);
  }
}

/** Appended text that its author waited for is there; what is not, somebody was told of, unless all was over. */
function checkAppended({ appended, unwritten, crashed }: Life, replayed: Replayed): void {
  for (const { block, actor, token, fate } of appended) {
    const there = replayed.inserted.get(token)?.has(block) === true;
    if (fate === "kept") expect([token, there]).toEqual([token, true]);
    if (there || crashed) continue;
    expect([token, unwritten.has(`${block} ${actor}`)]).toEqual([token, true]);
  }
}

function total(all: readonly Life[], count: (life: Life) => number): number {
  return all.reduce((sum, life) => sum + count(life), 0);
}

test("nothing acknowledged is lost, nothing shown is taken back, whatever fails", async () => {
  const all: Life[] = [];
  for (let number = 0; number < scaled(1000); number++) {
    const simulated = await simulate(seed() + number);
    await check(simulated);
    all.push(...simulated.lives);
  }
  expect(total(all, ({ acknowledged }) => acknowledged.length)).toBeGreaterThan(1000);
  expect(
    total(all, ({ trace }) => trace.filter((line) => line.startsWith("refused")).length),
  ).toBeGreaterThan(100);
  expect(total(all, ({ flips }) => flips.length)).toBeGreaterThan(50);
  expect(total(all, ({ refusals }) => refusals.length)).toBeGreaterThan(scaled(30));
  expect(total(all, ({ appended }) => appended.length)).toBeGreaterThan(200);
  expect(total(all, ({ unwritten }) => unwritten.size)).toBeGreaterThan(10);
}, 300_000);

test("two servers on one store lose nothing, and the feed of each has every position once", async () => {
  const all: Life[] = [];
  for (let number = 0; number < scaled(500); number++) {
    const simulated = await simulateTwo(seed() + number);
    await check(simulated);
    all.push(...simulated.lives);
  }
  expect(total(all, ({ acknowledged }) => acknowledged.length)).toBeGreaterThan(500);
  expect(total(all, ({ flips }) => flips.length)).toBeGreaterThan(20);
}, 300_000);

test("the same seed gives the same trace", async () => {
  for (const play of [simulate, simulateTwo]) {
    const first = await play(7);
    const second = await play(7);
    expect(second.hash).toBe(first.hash);
  }
});
