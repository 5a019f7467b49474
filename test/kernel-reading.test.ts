import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { Random } from "../src/base/index.ts";
import { BlockDocument } from "../src/blocks/index.ts";
import { Quarantine } from "../src/kernel/quarantine.ts";
import { Reading } from "../src/kernel/reading.ts";
import { MemoryDisk } from "../src/store/memory/memory-disk.ts";
import { MemoryStore } from "../src/store/memory/memory-store.ts";
import { fcOptions } from "./support/counts.ts";
import { FakeTime, Workshop } from "./support/kernel-workshop.ts";
import { History, historyOf } from "./support/random-history.ts";
import { importSomething, storedRow, storeVersion } from "./support/stored-document.ts";

const block = "main~ann~1";

test("what is read at rest is the document's text, at every version, with and without keyframes", async () => {
  const property = fc.asyncProperty(historyOf(25), fc.nat(), async (steps, number) => {
    const random = new Random(number);
    using document = BlockDocument.create({ peer: "9" });
    new History(document).run(steps);
    if (random.next() < 0.5) importSomething(document, random, ["from afar", "🪵\n"]);
    const store = new MemoryStore();
    const reading = new Reading(
      store,
      new Quarantine((report) => expect(report).toBeUndefined()),
      () => undefined,
    );
    for (let version = 1; version <= document.version; version++) {
      await storeVersion(store, storedRow(block), document, version);
      const text = document.read(version);
      if (random.next() < 0.1) await store.putKeyframe(block, { version, text });
      expect(await reading.atRest(block)).toMatchObject({ version, text });
    }
    for (let version = 1; version <= document.version; version++) {
      const past = { version, text: document.read(version) };
      expect(await reading.asOf(block, version, () => undefined)).toMatchObject(past);
    }
  });
  await fc.assert(property, fcOptions(500));
});

test("a position in a long history is read from memory, or from the commits before it and no others", async () => {
  const disk = new MemoryDisk();
  const asked: { after: number; upTo: number | undefined }[] = [];
  const watched = (): MemoryStore => {
    const store = new MemoryStore({ disk });
    const commitsOf = store.commitsOf.bind(store);
    store.commitsOf = (id, after, upTo) => {
      asked.push({ after, upTo });
      return commitsOf(id, after, upTo);
    };
    return store;
  };
  const long = async (shop: Workshop): Promise<string> => {
    const id = await shop.create("ann");
    for (let count = 1; count <= 2000; count++)
      await shop.kernel.append({ actor: "ann" }, id, `${count}\n`, { flush: true });
    return id;
  };
  const textOf = (lines: number): string =>
    Array.from({ length: lines }, (_, at) => `${at + 1}\n`).join("");
  const shop = await Workshop.open(watched());
  const id = await long(shop);
  asked.length = 0;
  const middle = await shop.kernel.readAt(id, 1501);
  expect(middle).toMatchObject({ version: 1501, text: textOf(1500), state: { status: "running" } });
  expect(asked).toEqual([]);
  await shop.call("ann", "block_status", { block_id: id, status: "done" });
  asked.length = 0;
  // What it was then is looked for backwards, a little at a time.
  expect(await shop.kernel.readAt(id, 51)).toMatchObject({
    text: textOf(50),
    state: { status: "running" },
  });
  expect(asked[0]).toEqual({ after: 19, upTo: 51 });
  await shop[Symbol.asyncDispose]();

  await using later = await Workshop.open(watched());
  asked.length = 0;
  expect(await later.kernel.readAt(id, 1501)).toMatchObject({ version: 1501, text: textOf(1500) });
  for (const { upTo } of asked) expect(upTo).toBeLessThanOrEqual(1501);
  expect(await later.kernel.readAt(id, 1)).toMatchObject({
    text: "",
    state: { status: "pending" },
  });
});

test("a keyframe is written after many splices, after much text, when a block ends, is quiet or closed", async () => {
  const disk = new MemoryDisk();
  const time = new FakeTime();
  const shop = await Workshop.open(new MemoryStore({ disk }), { time });
  const settled = async (): Promise<void> => {
    for (let ticks = 0; ticks < 100; ticks++) await Promise.resolve();
  };
  const keyframe = (id: string): number | undefined => disk.keyframes.get(id)?.version;

  const many = await shop.create("ann", "x");
  for (let count = 0; count < 256; count++) {
    await shop.kernel.append({ actor: "ann" }, many, "y", { flush: true });
  }
  await settled();
  expect(keyframe(many)).toBeGreaterThanOrEqual(256);

  const much = await shop.create("ann", "");
  await shop.kernel.append({ actor: "ann" }, much, "z".repeat(70_000), { flush: true });
  await settled();
  expect(disk.keyframes.get(much)).toEqual({ version: 2, text: "z".repeat(70_000) });

  const ended = await shop.create("ann");
  for (let count = 0; count < 10; count++)
    await shop.kernel.append({ actor: "ann" }, ended, `${count}\n`, { flush: true });
  await settled();
  expect(keyframe(ended)).toBeUndefined();
  await shop.call("ann", "block_status", { block_id: ended, status: "done" });
  await settled();
  expect(keyframe(ended)).toBe(12);

  const quiet = await shop.create("ann", "");
  const closed = await shop.create("ann", "");
  for (let count = 0; count < 10; count++)
    await shop.kernel.append({ actor: "ann" }, quiet, `${count}\n`, { flush: true });
  await settled();
  time.pass(25_000);
  await settled();
  expect(keyframe(quiet)).toBe(11);
  for (let count = 0; count < 10; count++)
    await shop.kernel.append({ actor: "ann" }, closed, `${count}\n`, { flush: true });
  expect(keyframe(closed)).toBeUndefined();
  await shop[Symbol.asyncDispose]();
  expect(keyframe(closed)).toBe(11);
  expect(time.waiting).toBe(0);
});

test("keyframes that cannot be written hurt nobody and are tried again", async () => {
  const disk = new MemoryDisk();
  const time = new FakeTime();
  let full = true;
  const store = new MemoryStore({
    disk,
    faults: ({ what }) => (full && what === "keyframe" ? "fail" : "pass"),
  });
  await using shop = await Workshop.open(store, { time });
  const id = await shop.create("ann", "");
  for (let count = 0; count < 300; count++) {
    await shop.kernel.append({ actor: "ann" }, id, "y", { flush: true });
  }
  expect(await shop.text(id)).toBe("y".repeat(300));
  expect(disk.keyframes.size).toBe(0);
  full = false;
  time.pass(25_000);
  for (let ticks = 0; ticks < 100; ticks++) await Promise.resolve();
  expect(disk.keyframes.get(id)?.text).toBe("y".repeat(300));
});

test("reading many blocks at rest builds no documents, and sees what was answered", async () => {
  const disk = new MemoryDisk();
  const first = await Workshop.open(new MemoryStore({ disk }));
  const ids: string[] = [];
  for (let count = 0; count < 50; count++) ids.push(await first.create("ann", `text ${count}\n`));
  await first[Symbol.asyncDispose]();
  await using shop = await Workshop.open(new MemoryStore({ disk }));
  const loaded = vi.spyOn(BlockDocument, "load");
  for (const [count, id] of ids.entries()) expect(await shop.text(id)).toBe(`text ${count}\n`);
  await shop.call("ann", "block_list", {});
  await shop.call("ann", "block_read", { block_id: ids[0]!, position: 3 });
  expect(loaded).not.toHaveBeenCalled();
  loaded.mockRestore();
  // Writing and reading at the same time: a text is one that some answer told of, or a later one.
  const writes = Promise.all(
    [1, 2, 3].map((count) =>
      shop.kernel.append({ actor: "ann" }, ids[0]!, `${count}`, { flush: true }),
    ),
  );
  const seen = (await Promise.all([1, 2, 3].map(() => shop.text(ids[0]!)))).map(
    (text) => text.length,
  );
  expect(seen).toEqual(seen.toSorted((a, b) => a - b));
  await writes;
  expect(await shop.text(ids[0]!)).toBe("text 0\n123");
});
