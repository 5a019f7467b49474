import { LoroDoc, type PeerID } from "loro-crdt";
import { describe, expect, test } from "vitest";
import { KumikoError, Random } from "../src/base/index.ts";
import { type PeerOperations, ReplicaText } from "../src/blocks/index.ts";
import { vettedOperations } from "../src/doors/replica/vetted-operations.ts";
import type { Follower, OpenedReplica, ReplicaFrame } from "../src/kernel/index.ts";
import { MemoryDisk } from "../src/store/memory/memory-disk.ts";
import { MemoryStore } from "../src/store/memory/memory-store.ts";
import { fittingSplice } from "./support/arbitrary-text.ts";
import { scaled, seed } from "./support/counts.ts";
import { GatedStore, turns } from "./support/gated-store.ts";
import { Workshop } from "./support/kernel-workshop.ts";

/** Somebody who keeps a copy, and checks every frame that comes. */
class Keeper implements Follower, Disposable {
  readonly peer: string;
  readonly frames: ReplicaFrame[] = [];
  /** What the copy said after each frame. */
  readonly texts: string[] = [];
  version = 0;
  reason: KumikoError | undefined;
  copy!: ReplicaText;
  opened!: OpenedReplica;
  durable = 0;

  constructor(peer: string) {
    this.peer = peer;
  }

  async open(workshop: Workshop, block: string): Promise<this> {
    this.reason = undefined;
    this.opened = await workshop.kernel.replicas.open(block, this);
    this.copy = new ReplicaText(this.opened.bytes, this.peer);
    this.version = this.opened.version;
    return this;
  }

  frame(frame: ReplicaFrame): void {
    this.frames.push(frame);
    if (frame.toVersion <= this.version) return;
    for (const { bytes } of frame.updates) this.copy.import(bytes);
    this.version = frame.toVersion;
    this.texts.push(this.copy.toString());
  }

  ended(reason: KumikoError): void {
    this.reason = reason;
  }

  /** What was typed here and not sent yet. */
  operations(): PeerOperations {
    const doc = new LoroDoc();
    doc.import(this.opened.bytes);
    for (const { updates } of this.frames) for (const { bytes } of updates) doc.import(bytes);
    const to = this.copy.counter;
    doc.import(this.copy.exportOwn(0, to));
    const span = { peer: this.peer as PeerID, counter: this.durable, length: to - this.durable };
    const operations = vettedOperations(doc.exportJsonInIdSpan(span), this.peer, this.durable);
    doc.free();
    return operations;
  }

  async push(workshop: Workshop, block: string): Promise<void> {
    const to = this.copy.counter;
    if (to === this.durable) return;
    const operations = this.operations();
    await workshop.kernel.replicas.push({ actor: `actor-${this.peer}` }, block, operations, {
      live: true,
    });
    this.durable = to;
  }

  [Symbol.dispose](): void {
    this.opened[Symbol.dispose]();
    this.copy[Symbol.dispose]();
  }
}

describe("replicas of a kernel", () => {
  test("followers are told what is on disk, version by version, whatever fails", async () => {
    const random = new Random(seed());
    for (let run = 0; run < scaled(60); run++) {
      const gated = new GatedStore();
      await using workshop = await Workshop.open(gated.store, {
        liveDocuments: random.pick([1, 256]),
      });
      const block = await workshop.create("ann", "A beginning 🦊.\n");
      const other = await workshop.create("ann", "another");
      using one = await new Keeper("71").open(workshop, block);
      using two = await new Keeper("72").open(workshop, block);
      const underWay: Promise<unknown>[] = [];
      const begin = (task: Promise<unknown>): void =>
        void underWay.push(task.catch(() => undefined));
      for (let step = 0; step < 25; step++) {
        const chance = random.next();
        const keeper = random.pick([one, two]);
        if (chance < 0.3) {
          const text = keeper.copy.toString();
          const splice = {
            at: random.below(text.length + 1),
            remove: random.below(3),
            insert: `${step}é🦊`,
          };
          keeper.copy.edit([fittingSplice(text, splice)]);
        } else if (chance < 0.5) {
          await Promise.all(underWay);
          await keeper.push(workshop, block);
        } else if (chance < 0.7) {
          begin(
            workshop.kernel.editText(
              { actor: "claude" },
              {
                blocks: random.pick([[block], [block, other]]),
                operation: "change",
                translate: ({ current }) => [
                  { at: current.length, remove: 0, insert: `<${step}>` },
                ],
                answer: () => undefined,
              },
            ),
          );
        } else if (chance < 0.8) begin(workshop.call("bob", "block_undo", { actor: "claude" }));
        else if (chance < 0.9) {
          gated.shut();
          for (let i = 0; i < 3; i++)
            begin(
              workshop.call("bob", "block_append", {
                block_id: block,
                text: `${i}\n`,
                flush: true,
              }),
            );
          await turns();
          for (const each of [one, two]) await expectShown(workshop, block, each);
          gated.open(random.pick(["pass", "fail"]));
        } else await workshop.create("ann", "makes room");
        await turns();
        for (const each of [one, two]) await expectShown(workshop, block, each);
      }
      await Promise.all(underWay);
      for (const each of [one, two]) await each.push(workshop, block);
      await turns();
      const { text, version } = await workshop.kernel.read(block);
      for (const each of [one, two]) {
        expect(each.reason).toBeUndefined();
        expect({ text: each.copy.toString(), version: each.version }).toEqual({ text, version });
        // In order, and none left out.
        const versions = each.frames.flatMap(({ changes }) =>
          changes.map((change) => change.version),
        );
        expect(versions).toEqual(versions.map((_, i) => versions[0]! + i));
      }
    }
  });

  test("one frame holds what went to disk together, with one export for what was made here", async () => {
    const gated = new GatedStore();
    await using workshop = await Workshop.open(gated.store);
    const block = await workshop.create("ann", "text\n");
    using keeper = await new Keeper("71").open(workshop, block);
    gated.shut();
    const first = workshop.call("bob", "block_append", {
      block_id: block,
      text: "0\n",
      flush: true,
    });
    await turns();
    const rest = [1, 2, 3].map((i) =>
      workshop.call(`bob-${i}`, "block_append", { block_id: block, text: `${i}\n`, flush: true }),
    );
    await turns();
    expect(keeper.frames).toEqual([]);
    gated.open("pass");
    await Promise.all([first, ...rest]);
    await turns();
    expect(keeper.frames.map(({ updates, changes }) => [updates.length, changes.length])).toEqual([
      [1, 1],
      [1, 3],
    ]);
    // The first was given when the others were applied already, and holds nothing of them.
    expect(keeper.texts).toEqual(["text\n0\n", "text\n0\n1\n2\n3\n"]);
  });

  test("typing within a second is one Edit; after it, after an undo and offline it is another", async () => {
    await using workshop = await Workshop.open(new MemoryStore());
    const block = await workshop.create("ann", "text\n");
    using keeper = await new Keeper("71").open(workshop, block);
    const edits: string[] = [];
    const type = async (live = true): Promise<void> => {
      keeper.copy.edit([{ at: 0, remove: 0, insert: "x" }]);
      const { replicas } = workshop.kernel;
      const pushed = await replicas.push({ actor: "amy" }, block, keeper.operations(), { live });
      keeper.durable = keeper.copy.counter;
      edits.push(pushed.edit);
    };
    await type();
    workshop.time.pass(900);
    await type();
    workshop.time.pass(200);
    await type();
    await workshop.call("amy", "block_undo", {});
    await type();
    await type(false);
    await type(false);
    const [a, b, c, d, e, f] = edits;
    expect(b).toBe(a);
    expect(new Set([a, c, d, e, f]).size).toBe(5);
    await turns();
    expect(await workshop.text(block)).toBe("xxxxxtext\n");
  });

  test("what was pushed before changes nothing; what was refused neither", async () => {
    let allowed = true;
    await using workshop = await Workshop.open(new MemoryStore(), {
      authorise: () => Promise.resolve({ decision: allowed ? "allow" : "deny", reason: "a rule" }),
    });
    const block = await workshop.create("ann", "text\n");
    using keeper = await new Keeper("71").open(workshop, block);
    keeper.copy.edit([{ at: 0, remove: 0, insert: "x" }]);
    const operations = keeper.operations();
    const { replicas } = workshop.kernel;
    const push = () => replicas.push({ actor: "amy" }, block, operations, { live: true });
    const { version } = await push();
    expect((await push()).version).toBe(version);
    keeper.durable = 1;
    keeper.copy.edit([{ at: 0, remove: 0, insert: "y" }]);
    allowed = false;
    await expect(
      replicas.push({ actor: "amy" }, block, keeper.operations(), { live: true }),
    ).rejects.toMatchObject({ code: "denied" });
    expect(await workshop.kernel.read(block)).toMatchObject({ version, text: "xtext\n" });
  });

  test("a purge ends copies, and what comes back is another generation", async () => {
    await using workshop = await Workshop.open(new MemoryStore());
    const block = await workshop.create("ann", "a secret password\n");
    using keeper = await new Keeper("71").open(workshop, block);
    const { generation, counters } = keeper.opened;
    await workshop.kernel.purge({ actor: "ann" }, { text: "secret password" });
    expect(keeper.reason).toMatchObject({ code: "resync" });
    const again = await workshop.kernel.replicas.open(block, keeper, { generation, counters });
    expect(again).toMatchObject({ whole: true, generation: generation + 1 });
    using copy = new ReplicaText(again.bytes, "72");
    expect(copy.toString()).not.toContain("secret");
    again[Symbol.dispose]();
  });

  test("what another server wrote comes in its place", async () => {
    const disk = new MemoryDisk();
    await using here = await Workshop.open(new MemoryStore({ disk }), { server: "here" });
    const block = await here.create("ann", "text\n");
    using keeper = await new Keeper("71").open(here, block);
    {
      await using there = await Workshop.open(new MemoryStore({ disk }), { server: "there" });
      await there.call("bob", "block_append", { block_id: block, text: "there\n", flush: true });
    }
    await here.call("ann", "block_append", { block_id: block, text: "here\n", flush: true });
    await turns();
    expect(keeper.copy.toString()).toBe("text\nthere\nhere\n");
    expect(keeper.version).toBe((await here.kernel.read(block)).version);
  });
});

/** The version that is on disk. */
async function durableVersion(workshop: Workshop, block: string): Promise<number> {
  const events = await workshop.kernel.feed.ofBlock(block, 0);
  return events.at(-1)?.version ?? 0;
}

/** Apart from what it typed itself, a copy shows a version of the block. */
async function expectShown(workshop: Workshop, block: string, keeper: Keeper): Promise<void> {
  expect(keeper.version).toBeLessThanOrEqual(await durableVersion(workshop, block));
  if (keeper.copy.counter > keeper.durable) return;
  const events = await workshop.kernel.feed.ofBlock(block, 0, keeper.version);
  const text = events
    .flatMap(({ change }) => ("splices" in change ? change.splices : []))
    .reduce(
      (now, { at, remove, insert }) => now.slice(0, at) + insert + now.slice(at + remove),
      "",
    );
  expect(keeper.copy.toString()).toBe(text);
}
