import { describe, expect, test, vi } from "vitest";
import { KumikoError } from "../src/base/index.ts";
import {
  type KernelFolders,
  Kernel,
  type KernelInfo,
  type Store,
  World,
} from "../src/kernel/index.ts";
import { MemoryDisk, MemoryStore } from "../src/store/index.ts";
import { Workshop } from "./support/kernel-workshop.ts";

const DAY = 24 * 60 * 60 * 1000;

/** Kernels in memory, which count how often their stores are open. */
class MemoryFolders implements KernelFolders {
  readonly place = "memory";
  readonly disks = new Map<string, MemoryDisk>();
  readonly open: string[] = [];

  has(kernel: string): Promise<boolean> {
    return Promise.resolve(this.disks.has(kernel));
  }

  list(): Promise<KernelInfo[]> {
    const names = [...this.disks.keys()].toSorted();
    return Promise.resolve(
      names.map((kernel) => ({ kernel, folder: kernel, created: 0, bytes: 0 })),
    );
  }

  create(kernel: string): Promise<boolean> {
    if (this.disks.has(kernel)) return Promise.resolve(false);
    this.disks.set(kernel, new MemoryDisk());
    return Promise.resolve(true);
  }

  openStore(kernel: string): Promise<Store> {
    if (this.open.includes(kernel))
      return Promise.reject(new KumikoError("in_use", `${kernel} is open.`, {}));
    this.open.push(kernel);
    const store = new MemoryStore({ disk: this.disks.get(kernel)! });
    const close = store[Symbol.asyncDispose].bind(store);
    store[Symbol.asyncDispose] = async () => {
      await close();
      this.open.splice(this.open.indexOf(kernel), 1);
    };
    return Promise.resolve(store);
  }
}

function newWorld(now: () => number = () => 1): { world: World; folders: MemoryFolders } {
  const folders = new MemoryFolders();
  const timers = { after: () => ({ cancel: () => undefined }) };
  const world = new World({ folders, clock: { now }, timers, newPeer: () => "7" });
  return { world, folders };
}

describe("a world", () => {
  test("creates, lists, opens and closes kernels, each once", async () => {
    const { world, folders } = newWorld();
    await world.create("a");
    await expect(world.create("a")).rejects.toMatchObject({ code: "already_exists" });
    await expect(world.create("A b")).rejects.toMatchObject({ code: "invalid_argument" });
    await expect(world.open("b")).rejects.toMatchObject({
      code: "unknown_kernel",
      message: "There is no kernel b in memory; there are: a.",
      facts: { kernel: "b", place: "memory", kernels: ["a"] },
    });
    const [first, second] = await Promise.all([world.open("a"), world.open("a")]);
    expect(first).toBeInstanceOf(Kernel);
    expect(second).toBe(first);
    expect((await world.openOrCreate("c")).id).toBe("c");
    expect((await world.list()).map(({ kernel }) => kernel)).toEqual(["a", "c"]);
    expect(folders.open).toEqual(["a", "c"]);
    await world.close("a");
    await world.close("a");
    expect(folders.open).toEqual(["c"]);
    await expect(first.contexts.list()).rejects.toMatchObject({ code: expect.any(String) });
    expect(await world.open("a")).not.toBe(first);
    await world[Symbol.asyncDispose]();
    expect(folders.open).toEqual([]);
    await expect(world.open("a")).rejects.toMatchObject({ code: "closed" });
  });

  test("lets who opens a kernel that is being closed wait, not fail", async () => {
    const { world, folders } = newWorld();
    const first = await world.openOrCreate("a");
    const closing = world.close("a");
    const opening = world.open("a");
    const again = world.close("a");
    const third = world.open("a");
    await closing;
    expect(await opening).not.toBe(first);
    await again;
    const last = await third;
    expect(await last.contexts.list()).toEqual([]);
    expect(folders.open).toEqual(["a"]);
    void world.close("a");
    await world[Symbol.asyncDispose]();
    expect(folders.open).toEqual([]);
  });

  test("that could not open a kernel can try again, and leaves nothing open", async () => {
    const { world, folders } = newWorld();
    await world.create("a");
    folders.open.push("a");
    await expect(world.open("a")).rejects.toMatchObject({ code: "in_use" });
    folders.open.pop();
    expect((await world.open("a")).id).toBe("a");
    await world[Symbol.asyncDispose]();
    expect(folders.open).toEqual([]);
  });
});

describe("contexts", () => {
  test("are made once, however many ask at the same moment", async () => {
    const { world } = newWorld();
    const { contexts } = await world.openOrCreate("a");
    const asked = await Promise.allSettled(
      Array.from({ length: 5 }, (_, at) => contexts.create("main", `actor-${at}`)),
    );
    expect(asked.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(await contexts.list()).toHaveLength(1);
    await world[Symbol.asyncDispose]();
  });

  test("have members: a nick, an instance, once each", async () => {
    const { world } = newWorld();
    const { contexts } = await world.openOrCreate("a");
    await contexts.create("main", "ann");
    await contexts.create("main-2", "ann");
    const ann = { nick: "ann", by: "ann" };
    const laptop = await contexts.join("main", { ...ann, instance: "laptop" });
    await contexts.join("main", { ...ann, instance: "laptop" });
    await contexts.join("main", { ...ann, instance: "phone" });
    await contexts.join("main-2", { nick: "bob", instance: "laptop", by: "bob" });
    expect(laptop).toEqual({ context: "main", kernel: "a", nick: "ann", instance: "laptop" });
    expect(await contexts.members("main")).toHaveLength(2);
    expect(await contexts.leave(laptop, "ann")).toBe(true);
    expect(await contexts.leave(laptop, "ann")).toBe(false);
    expect(await contexts.members("main")).toMatchObject([{ instance: "phone" }]);
    await expect(contexts.join("none", { ...ann, instance: "x" })).rejects.toMatchObject({
      code: "unknown_context",
    });
    await expect(
      contexts.join("main", { nick: "Ann", instance: "x", by: "ann" }),
    ).rejects.toMatchObject({
      code: "invalid_argument",
    });
    await world[Symbol.asyncDispose]();
  });
});

describe("the gate", () => {
  test("is asked before contexts and settings change, and what it denies changes nothing", async () => {
    const store = new MemoryStore();
    let denied = "create_context side";
    await using shop = await Workshop.open(store, {
      authorise: (actor, operation, target) => {
        const deny = actor === "mallory" && `${operation} ${target}` === denied;
        return Promise.resolve({ decision: deny ? "deny" : "allow", reason: "not yours" });
      },
    });
    const { contexts, retention } = shop.kernel;
    const member = await contexts.join("main", { nick: "ann", instance: "here", by: "ann" });
    const before = JSON.stringify([...store.disk.values].map(([name, it]) => [name, it.entries()]));
    const tries: [string, () => Promise<unknown>][] = [
      ["create_context side", () => contexts.create("side", "mallory")],
      [
        "join_context main",
        () => contexts.join("main", { nick: "ann", instance: "there", by: "mallory" }),
      ],
      ["leave_context main", () => contexts.leave(member, "mallory")],
      ["configure retention", () => retention.set({ answered_calls_days: 1 }, "mallory")],
    ];
    for (const [operation, run] of tries) {
      denied = operation;
      await expect(run()).rejects.toMatchObject({
        code: "denied",
        message: `mallory may not ${operation.replace("_", " ")}: not yours`,
      });
      const now = [...store.disk.values].map(([name, it]) => [name, it.entries()]);
      expect(JSON.stringify(now)).toBe(before);
    }
    denied = "";
    for (const [, run] of tries) await run();
  });
});

describe("retention", () => {
  test("forgets old calls and idle snapshots, once a day by itself", async () => {
    let now = 100 * DAY;
    const { world, folders } = newWorld(() => now);
    const kernel = await world.openOrCreate("a");
    await kernel.contexts.create("main", "ann");
    const block = async (call: string): Promise<void> => {
      const request = { context: "main", role: "user", kind: "text", content: "x" } as const;
      const answer = () => ({});
      await kernel.createBlock({ actor: "ann", call }, request, { fingerprint: "f", answer });
    };
    await block("first");
    const disk = folders.disks.get("a")!;
    disk.snapshots.set("main~ann~1", { version: 1, bytes: Uint8Array.of(1) });
    now += 31 * DAY;
    await block("second");
    disk.snapshots.set("main~ann~2", { version: 1, bytes: Uint8Array.of(2) });
    expect(await kernel.retention.settings()).toEqual({
      answered_calls_days: 30,
      idle_snapshots_days: 90,
    });
    await kernel.retention.set({ idle_snapshots_days: 30 }, "ann");
    expect(await kernel.retention.apply()).toEqual({ calls: 1, snapshots: 1 });
    expect(await kernel.retention.apply()).toEqual({ calls: 0, snapshots: 0 });
    expect([...disk.calls.values()].map(({ call }) => call)).toEqual(["second"]);
    expect([...disk.snapshots.keys()]).toEqual(["main~ann~2"]);
    const old = { actor: "ann", call: "old", fingerprint: "", answer: "", time: 0 };
    disk.calls.set("old", old);
    for (const [days, calls, snapshots] of [
      [0.5, 2, 1],
      [40, 0, 0],
    ] as const) {
      await world.close("a");
      now += days * DAY;
      await world.open("a");
      await world.close("a");
      expect([disk.calls.size, disk.snapshots.size]).toEqual([calls, snapshots]);
    }
    const again = (await world.open("a")).retention;
    await again.set({ answered_calls_days: null, idle_snapshots_days: null }, "ann");
    expect(await again.apply()).toEqual({ calls: 0, snapshots: 0 });
    await expect(again.set({ answered_calls_days: 0 }, "ann")).rejects.toMatchObject({
      code: "out_of_range",
    });
    await world[Symbol.asyncDispose]();
  });
});

test("nothing is looked for in a new kernel that could be forgotten", async () => {
  let now = 100 * DAY;
  const { world } = newWorld(() => now);
  using forgetting = vi.spyOn(MemoryStore.prototype, "forgetCalls");
  using dropping = vi.spyOn(MemoryStore.prototype, "dropSnapshots");
  const looked = (): number[] => [forgetting.mock.calls.length, dropping.mock.calls.length];
  const kernel = await world.openOrCreate("a");
  await kernel.contexts.create("main", "ann");
  const request = { context: "main", role: "user", kind: "text", content: "x" } as const;
  await kernel.createBlock({ actor: "ann" }, request, { answer: () => ({}) });
  for (const [days, times] of [
    [0.5, 0],
    [0.5, 1],
  ] as const) {
    await world.close("a");
    now += days * DAY;
    await world.open("a");
    await world.close("a");
    expect(looked()).toEqual([times, times]);
  }
  await world[Symbol.asyncDispose]();
});

describe("usage", () => {
  test("adds up what the journal says, by context and block", async () => {
    const { world } = newWorld();
    const kernel = await world.openOrCreate("a");
    for (const context of ["main", "side"]) await kernel.contexts.create(context, "ann");
    const create = (context: string, content: string) =>
      kernel.createBlock(
        { actor: "ann" },
        { context, role: "user", kind: "text", content },
        { answer: ({ changes }) => changes[0]!.block },
      );
    const long = await create("main", "x".repeat(1000));
    await create("main", "short");
    await create("side", "");
    await kernel.editText(
      { actor: "ann" },
      {
        blocks: [long],
        operation: "change",
        translate: () => [{ at: 0, remove: 900, insert: "" }],
        answer: () => undefined,
      },
    );
    const usage = await kernel.usage(1);
    expect(usage).toMatchObject({
      blocks: 3,
      versions: 4,
      unreadable: 0,
      contexts: [
        { context: "main", blocks: 2, versions: 3, text: 105 },
        { context: "side", blocks: 1, versions: 1, text: 0 },
      ],
      biggest: [{ block: long, versions: 2, text: 100 }],
    });
    expect(usage.biggest[0]!.history).toBeGreaterThan(1000);
    expect(usage.bytes["journal"]).toBeGreaterThan(1000);
    await world[Symbol.asyncDispose]();
  });
});
