import { expect, test } from "vitest";
import { MemoryDisk } from "../src/store/memory/memory-disk.ts";
import { MemoryStore } from "../src/store/memory/memory-store.ts";
import { FakeTime, Workshop } from "./support/kernel-workshop.ts";

const more = { text: "more", flush: true };

async function settled(): Promise<void> {
  for (let ticks = 0; ticks < 200; ticks++) await Promise.resolve();
}

/** A block that somebody is writing. */
async function running(shop: Workshop): Promise<string> {
  const block_id = await shop.create("claude");
  await shop.call("claude", "block_append", { block_id, text: "begun", flush: true });
  return block_id;
}

test("what a dead process was writing is closed at once by its successor, and its late writes are refused", async () => {
  const disk = new MemoryDisk();
  const time = new FakeTime();
  const dead = await Workshop.open(new MemoryStore({ disk }), { time });
  const block_id = await running(dead);
  expect(await dead.kernel.state(block_id)).toMatchObject({
    status: "running",
    owner: "claude",
    lease: { name: "process:local" },
  });
  await using next = await Workshop.open(new MemoryStore({ disk }), { time });
  expect(await next.kernel.state(block_id)).toMatchObject({
    status: "error",
    owner: null,
    lease: null,
  });
  expect(await next.text(block_id)).toBe("begun");
  const late = await dead.refusal("claude", "block_append", { block_id, ...more });
  expect(late.code).toBe("fenced");
  const other = await dead.refusal("ann", "block_create", {
    role: "user",
    kind: "text",
    content: "x",
  });
  expect(other.code).toBe("fenced");
  expect(await dead.text(block_id)).toBe("begun");
});

test("two servers on one store leave each other's blocks alone until a lease expires", async () => {
  const disk = new MemoryDisk();
  const [timeA, timeB] = [new FakeTime(), new FakeTime()];
  const a = await Workshop.open(new MemoryStore({ disk }), { time: timeA, server: "a" });
  const kept = await running(a);
  await using b = await Workshop.open(new MemoryStore({ disk }), { time: timeB, server: "b" });
  expect((await b.kernel.state(kept)).status).toBe("running");
  // As long as a renews, nothing happens to what it writes.
  for (let minute = 0; minute < 5; minute++) {
    for (const time of [timeA, timeB]) {
      time.pass(20_000);
      await settled();
    }
    expect((await b.kernel.state(kept)).status).toBe("running");
  }
  await a.call("claude", "block_append", { block_id: kept, ...more });
  // Then it hangs.
  timeB.pass(40_000);
  await settled();
  expect((await b.kernel.state(kept)).status).toBe("running");
  timeB.pass(60_000);
  await settled();
  expect((await b.kernel.state(kept)).status).toBe("error");
  const late = await a.refusal("claude", "block_append", { block_id: kept, ...more });
  expect(late.code).toBe("fenced");
  expect(await b.text(kept)).toBe("begunmore");
});

test("a closed kernel gives its lease back and leaves no timer", async () => {
  const disk = new MemoryDisk();
  const time = new FakeTime();
  const first = await Workshop.open(new MemoryStore({ disk }), { time, server: "a" });
  const block_id = await running(first);
  await first[Symbol.asyncDispose]();
  expect(time.waiting).toBe(0);
  await using second = await Workshop.open(new MemoryStore({ disk }), { time, server: "b" });
  expect((await second.kernel.state(block_id)).status).toBe("error");
});

test("a block that ended has neither owner nor lease", async () => {
  await using shop = await Workshop.open(new MemoryStore());
  const block_id = await running(shop);
  await shop.call("claude", "block_status", { block_id, status: "done" });
  expect(await shop.kernel.state(block_id)).toMatchObject({ owner: null, lease: null });
});
