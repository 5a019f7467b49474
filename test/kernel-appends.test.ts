import { expect, test } from "vitest";
import { KumikoError } from "../src/base/index.ts";
import { liveEvent } from "../src/protocol/index.ts";
import { MemoryDisk } from "../src/store/memory/memory-disk.ts";
import { MemoryStore } from "../src/store/memory/memory-store.ts";
import { GatedStore, turns, waits } from "./support/gated-store.ts";
import { Workshop } from "./support/kernel-workshop.ts";

const codeOf = (error: unknown): unknown => (error instanceof KumikoError ? error.code : error);

/** Somebody's stream whose last text could not be written, and nobody was waiting. */
async function failedStream(): Promise<{ gated: GatedStore; shop: Workshop; block_id: string }> {
  const gated = new GatedStore();
  const shop = await Workshop.open(gated.store);
  const block_id = await shop.create("ann");
  await shop.call("ann", "block_append", { block_id, text: "kept ", flush: true });
  gated.shut();
  await shop.call("ann", "block_append", { block_id, text: "lost\n" });
  await turns();
  gated.open("fail");
  await turns();
  return { gated, shop, block_id };
}

const others: { readonly [name: string]: (shop: Workshop, block_id: string) => Promise<unknown> } =
  {
    "a change of metadata": (shop, block_id) =>
      shop.call("ben", "block_status", { block_id, metadata: { x: 1 } }),
    "an undo by another": (shop) => shop.call("ben", "block_undo", { actor: "ann" }),
    "a purge": (shop, block_id) => shop.kernel.purge({ actor: "ben" }, { block: block_id }),
  };

for (const [name, act] of Object.entries(others)) {
  test(`appended text that could not be written is told to its author, not by ${name}`, async () => {
    const { shop, block_id } = await failedStream();
    await using _ = shop;
    await act(shop, block_id);
    const next = { block_id, text: "after", flush: true };
    const error = await shop.refusal("ann", "block_append", next);
    expect([error.code, error.facts["lost"]]).toEqual(["journal_unwritable", 5]);
    // Told once; it goes on from there.
    await shop.call("ann", "block_append", next);
    expect(await shop.text(block_id)).toMatch(/after$/);
  });
}

test("an author who ends the block is told what was not written before it ends", async () => {
  const { shop, block_id } = await failedStream();
  await using _ = shop;
  const done = { block_id, status: "done" };
  expect((await shop.refusal("ann", "block_status", done)).code).toBe("journal_unwritable");
  expect(await shop.call("ann", "block_status", done)).toMatchObject({ status: "done" });
  expect(await shop.text(block_id)).toBe("kept ");
});

test("appended text that could not be written is an event at once", async () => {
  const gated = new GatedStore();
  await using shop = await Workshop.open(gated.store);
  const block_id = await shop.create("ann");
  const events = shop.kernel.flow.subscribe("resource");
  gated.shut();
  await shop.call("ann", "block_append", { block_id, text: "lost\n" });
  await turns();
  await shop.call("ann", "block_append", { block_id, text: "too" });
  gated.open("fail");
  const { value } = await events.next();
  const [event] = value!;
  liveEvent("resource").parse(event);
  expect(event!.notice).toMatchObject({
    kind: "unwritten",
    block: block_id,
    actor: "ann",
    units: 8,
  });
  await events.return();
  await shop.refusal("ann", "block_append", { block_id, text: "x" });
});

test("what is appended while a kernel closes is kept or refused", async () => {
  const disk = new MemoryDisk();
  const gated = new GatedStore(disk);
  const shop = await Workshop.open(gated.store);
  const [first, second] = [await shop.create("ann"), await shop.create("ben")];
  await shop.call("ann", "block_append", { block_id: first, text: "taken in" });
  gated.shut();
  // This one is on its way when closing begins, that one comes later.
  const early = shop.call("ben", "block_append", { block_id: second, text: "early" }).catch(codeOf);
  const closing = shop[Symbol.asyncDispose]();
  const late = shop.call("ben", "block_append", { block_id: second, text: "late" }).catch(codeOf);
  const edit = shop.create("ben", "late").catch(codeOf);
  await turns();
  gated.open("pass");
  await closing;
  expect([await late, await edit]).toEqual(["closed", "closed"]);
  await using again = await Workshop.open(new MemoryStore({ disk }));
  expect(await again.text(first)).toBe("taken in");
  expect(await again.text(second)).toBe((await early) === "closed" ? "" : "early");
});

test("a receipt names the version that is on disk, also of a block nobody has open", async () => {
  const disk = new MemoryDisk();
  let block_id: string;
  {
    await using shop = await Workshop.open(new MemoryStore({ disk }));
    block_id = await shop.create("ann", "one\n");
    await shop.call("ann", "block_append", { block_id, text: "two\n", flush: true });
  }
  await using shop = await Workshop.open(new MemoryStore({ disk }));
  const receipt = await shop.call("ann", "block_append", { block_id, text: "three" });
  expect(receipt).toEqual({ accepted: 5, durable_version: 2 });
});

test("appends stay one Edit however many blocks are appended to in between, until the status changes", async () => {
  await using shop = await Workshop.open(new MemoryStore());
  const block_id = await shop.create("ann");
  const editOf = async (): Promise<string> => {
    await shop.call("ann", "block_append", { block_id, text: "more\n", flush: true });
    const { entries } = await shop.kernel.look(block_id, ({ document }) => document.history());
    return entries[0]!.edit;
  };
  const first = await editOf();
  for (let count = 0; count < 50; count++) {
    const other = await shop.create("ann");
    await shop.call("ann", "block_append", { block_id: other, text: "x\n", flush: true });
  }
  expect(await editOf()).toBe(first);
  await shop.call("ben", "block_status", { block_id, status: "done" });
  expect(await editOf()).not.toBe(first);
});

test("whoever appends faster than the disk can take waits for it", async () => {
  const gated = new GatedStore();
  await using shop = await Workshop.open(gated.store);
  const block_id = await shop.create("ann");
  gated.shut();
  const text = "y".repeat(1_000_000);
  let taken = 0;
  const appending = (async () => {
    for (; taken < 8; taken++) await shop.call("ann", "block_append", { block_id, text });
  })();
  expect(await waits(appending)).toBe(true);
  expect(taken).toBeGreaterThan(1);
  expect(taken).toBeLessThan(6);
  gated.open("pass");
  await appending;
  expect((await shop.text(block_id)).length).toBe(8_000_000);
});

test("text that is no text is refused alone: what was taken in before it is kept", async () => {
  await using shop = await Workshop.open(new MemoryStore());
  const block_id = await shop.create("ann");
  await shop.call("ann", "block_append", { block_id, text: "kept \ud83d" });
  expect((await shop.refusal("ann", "block_append", { block_id, text: "x" })).code).toBe(
    "ill_formed_text",
  );
  await shop.call("ann", "block_append", { block_id, text: "\ude00", flush: true });
  expect(await shop.text(block_id)).toBe("kept 😀");
});

test("what was allowed when it was taken in is kept, also when it may not be appended any more", async () => {
  let isAllowed = true;
  await using shop = await Workshop.open(new MemoryStore(), {
    authorise: () => ({ decision: isAllowed ? "allow" : "deny", reason: "the rules say so." }),
  });
  const block_id = await shop.create("ann");
  await shop.kernel.append({ actor: "ann" }, block_id, "taken in");
  isAllowed = false;
  // By whichever door: what is not allowed is refused before it is taken in.
  for (const call of [undefined, "c1"])
    await expect(
      shop.kernel.append({ actor: "ann", call }, block_id, " late", { fingerprint: "late" }),
    ).rejects.toMatchObject({ code: "denied" });
  shop.time.pass(100);
  await shop.kernel.settle();
  isAllowed = true;
  await shop.call("ann", "block_append", { block_id, text: " and more", flush: true });
  expect(await shop.text(block_id)).toBe("taken in and more");
});

test("what was taken in is kept, also when its author has gone meanwhile", async () => {
  await using shop = await Workshop.open(new MemoryStore());
  const block_id = await shop.create("ann");
  const gone = new AbortController();
  await shop.kernel.append({ actor: "ann", signal: gone.signal }, block_id, "taken in");
  gone.abort();
  shop.time.pass(100);
  expect(await shop.text(block_id)).toBe("taken in");
});
