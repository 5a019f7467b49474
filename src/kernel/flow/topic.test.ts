import { describe, expect, test } from "vitest";
import { KumikoError, Random } from "../../base/index.ts";
import { scaled, seed } from "../../../test/support/counts.ts";
import { Topic, type TopicLimits } from "./topic.ts";

interface Numbered {
  readonly number: number;
  readonly weight: number;
}

/** Small, so that the rare branches run in every schedule. */
const limits: TopicLimits = { events: 8, weight: 40, batch: 5, page: 3, behind: 60 };

interface World {
  readonly topic: Topic<Numbered>;
  readonly journal: Numbered[];
  publish(weight: number): void;
}

function world(random: Random, durable: boolean, past: number): World {
  const journal: Numbered[] = [];
  for (let number = 1; number <= past; number++) journal.push({ number, weight: 1 });
  const older = async (after: number, limit: number): Promise<Numbered[]> => {
    await ticks(random.below(6));
    return journal.slice(after, after + limit);
  };
  const topic = new Topic<Numbered>({
    name: "number",
    head: past,
    limits,
    numberOf: ({ number }) => number,
    weigh: ({ weight }) => weight,
    older: durable ? older : undefined,
  });
  return {
    topic,
    journal,
    publish(weight) {
      const event = { number: journal.length + 1, weight };
      journal.push(event);
      topic.publish(event);
      const { events, weight: held } = topic.held;
      expect(events).toBeLessThanOrEqual(limits.events);
      if (events > 1) expect(held).toBeLessThanOrEqual(limits.weight);
    },
  };
}

async function ticks(count: number): Promise<void> {
  for (let left = count; left > 0; left--) await Promise.resolve();
}

interface Tally {
  received: number;
  resyncs: number;
  aborts: number;
}

/** Reads, dawdles, gives up, comes back, and checks that what it gets is exactly what it lacks. */
async function follow(
  { topic, journal }: World,
  random: Random,
  durable: boolean,
  tally: Tally,
): Promise<void> {
  const remainder = random.below(4);
  const where =
    random.next() < 0.5 ? undefined : ({ number }: Numbered) => number % 4 === remainder;
  let seen = durable && random.next() < 0.5 ? random.below(topic.head + 1) : topic.head;
  for (;;) {
    const abort = new AbortController();
    const from = durable ? seen : undefined;
    if (!durable) seen = topic.head;
    const begun = topic.head;
    const batches = topic.subscribe({ from, where, signal: abort.signal });
    const patience = 1 + random.below(12);
    const dawdles = random.next() < 0.4 ? 400 : 8;
    try {
      let taken = 0;
      for await (const batch of batches) {
        expect(batch.length).toBeGreaterThan(0);
        expect(batch.length).toBeLessThanOrEqual(limits.batch);
        const last = batch.at(-1)!.number;
        const lacking = journal.slice(seen, last);
        expect(batch).toEqual(where === undefined ? lacking : lacking.filter(where));
        tally.received += batch.length;
        seen = last;
        await ticks(random.below(dawdles));
        if (++taken === patience) abort.abort();
      }
      if (!abort.signal.aborted) {
        // Closed: everything that was published before was given.
        const left = journal.slice(seen);
        expect(where === undefined ? left : left.filter(where)).toEqual([]);
        return;
      }
      tally.aborts++;
    } catch (error) {
      if (!(error instanceof KumikoError) || error.code !== "resync") throw error;
      const { head } = error.facts as { head: number };
      const lost = durable ? limits.behind : 0;
      expect(head - Math.max(Number(error.facts["seen"]), begun)).toBeGreaterThan(lost);
      tally.resyncs++;
      seen = head;
    }
  }
}

async function run(number: number, durable: boolean, tally: Tally): Promise<void> {
  const random = new Random(number);
  const made = world(random, durable, random.below(30));
  const followers = Array.from({ length: 1 + random.below(6) }, () =>
    follow(made, random, durable, tally),
  );
  for (let turn = 0; turn < 60; turn++) {
    for (let count = random.below(10); count > 0; count--) made.publish(1 + random.below(30));
    await ticks(random.below(12));
    if (durable && random.next() < 0.05) made.topic.forget();
  }
  made.topic.close();
  await Promise.all(followers);
  expect(made.topic.subscribers).toBe(0);
}

describe("a topic", () => {
  for (const durable of [true, false]) {
    const kind = durable ? "kept elsewhere" : "only in memory";
    test(`${kind}: no gap, repeat or reorder, whoever is slow, gives up or comes back`, async () => {
      const tally: Tally = { received: 0, resyncs: 0, aborts: 0 };
      for (let count = 0; count < scaled(1000); count++) await run(seed() + count, durable, tally);
      expect(tally.received).toBeGreaterThan(1000);
      expect(tally.resyncs).toBeGreaterThan(10);
      expect(tally.aborts).toBeGreaterThan(10);
    });
  }

  test("nobody runs inside publish, and one turn's events come as one batch", async () => {
    const made = world(new Random(1), true, 0);
    const got: number[][] = [];
    const reading = (async () => {
      for await (const batch of made.topic.subscribe()) got.push(batch.map(({ number }) => number));
    })();
    await ticks(10);
    for (let count = 0; count < 4; count++) made.publish(1);
    expect(got).toEqual([]);
    await ticks(20);
    expect(got).toEqual([[1, 2, 3, 4]]);
    made.topic.close();
    await reading;
  });

  test("who stands at the same place is given the same list, which nobody can change", async () => {
    const made = world(new Random(1), true, 0);
    const all = [undefined, () => true, ({ number }: Numbered) => number > 1].map((where) =>
      made.topic.subscribe({ where }),
    );
    made.publish(1);
    made.publish(1);
    const [one, same, other] = await Promise.all(
      all.map(async (each) => (await each.next()).value),
    );
    expect(same).toBe(one);
    expect(Object.isFrozen(one)).toBe(true);
    expect(other).toEqual([{ number: 2, weight: 1 }]);
    made.publish(1);
    expect((await all[0]!.next()).value).toEqual([{ number: 3, weight: 1 }]);
    await Promise.all(all.map((each) => each.return()));
  });

  test("one that throws or filters badly ends itself and nobody else", async () => {
    const made = world(new Random(1), true, 0);
    const bad = made.topic.subscribe({
      where: () => {
        throw new Error("mine");
      },
    });
    const good = made.topic.subscribe();
    made.publish(1);
    await expect(bad.next()).rejects.toThrow("mine");
    expect((await good.next()).value).toEqual([{ number: 1, weight: 1 }]);
    await good.return();
    expect(made.topic.subscribers).toBe(0);
  });

  test("a subscription begins where it was asked for, not where it is first read", async () => {
    const made = world(new Random(1), true, 3);
    const batches = made.topic.subscribe();
    made.publish(1);
    expect((await batches.next()).value).toEqual([{ number: 4, weight: 1 }]);
    expect(() => made.topic.subscribe({ from: 5 })).toThrow("There is no number 5");
    await batches.return();
  });

  test("a number that does not follow the last one is not published", () => {
    const made = world(new Random(1), true, 3);
    for (const number of [3, 5]) {
      expect(() => made.topic.publish({ number, weight: 1 })).toThrow(`was published behind 3`);
    }
    expect(made.topic.head).toBe(3);
  });

  test("what is kept already and not published yet is not given yet", async () => {
    const made = world(new Random(1), true, 3);
    made.journal.push({ number: 4, weight: 1 });
    const batches = made.topic.subscribe({ from: 1 });
    expect((await batches.next()).value?.map(({ number }) => number)).toEqual([2, 3]);
    const next = batches.next();
    await ticks(20);
    made.topic.publish({ number: 4, weight: 1 });
    expect((await next).value?.map(({ number }) => number)).toEqual([4]);
    await batches.return();
  });

  test("what was never published is read from where it is kept", async () => {
    const made = world(new Random(1), true, 3);
    const batches = made.topic.subscribe();
    const waiting = batches.next();
    for (const number of [4, 5]) made.journal.push({ number, weight: 1 });
    made.topic.jump(5);
    made.publish(1);
    const got = [...((await waiting).value ?? [])];
    while (got.length < 3) got.push(...((await batches.next()).value ?? []));
    expect(got.map(({ number }) => number)).toEqual([4, 5, 6]);
    await batches.return();
  });

  test("what the journal lost is told, not skipped", async () => {
    const made = world(new Random(1), true, 5);
    made.journal.splice(2, 1);
    await expect(made.topic.subscribe({ from: 2 }).next()).rejects.toMatchObject({
      code: "damaged",
    });
  });
});
