import { KumikoError, Random } from "../../src/base/index.ts";
import { translateAppend, translateEdit } from "../../src/blocks/index.ts";
import { type FeedEvent, Kernel } from "../../src/kernel/index.ts";
import type { MemoryDisk } from "../../src/store/memory/memory-disk.ts";
import type { Fault } from "../../src/store/memory/faults.ts";
import { MemoryStore } from "../../src/store/memory/memory-store.ts";

/** What someone was told: it must be true for ever after. */
interface Acknowledged {
  readonly block: string;
  readonly version: number;
  readonly edit: string;
  /** A text that only this edit inserted. */
  readonly token: string;
}

/** What someone saw: it must never be taken back. */
interface Seen {
  readonly block: string;
  readonly version: number;
  readonly text: string;
}

/** What an undo or a redo was said to have done. */
interface Flip {
  readonly edit: string;
  readonly flipped: string;
  readonly active: boolean;
  readonly blocks: readonly { readonly block: string; readonly version: number }[];
}

export interface Life {
  readonly acknowledged: Acknowledged[];
  readonly flips: Flip[];
  readonly seen: Seen[];
  readonly events: FeedEvent[];
  readonly trace: string[];
  /** For each block: whether it could be edited once nothing failed any more. */
  readonly alive: boolean[];
}

export interface LifeOptions {
  readonly disk: MemoryDisk;
  readonly random: Random;
  readonly time: { now: number };
  readonly clients: number;
  readonly calls: number;
  readonly faulty: boolean;
}

const CONTEXT = "main";

/** Nothing here waits for time to pass. */
const noTimers = { after: () => ({ cancel: () => undefined }) };

/** Opens a kernel on a disk, without faults. */
export function openOn(disk: MemoryDisk, time: { now: number }): Promise<Kernel> {
  return Kernel.open({
    id: "sim",
    store: new MemoryStore({ disk }),
    clock: { now: () => time.now++ },
    timers: noTimers,
    newPeer: () => String(1000 + time.now++),
    liveDocuments: 2,
  });
}

/**
 * One process from start to end or crash: several clients at once create blocks, edit them against what they
 * read, and give up only when the process is dead.
 */
export async function live(options: LifeOptions): Promise<Life> {
  const { disk, random, time } = options;
  const life: Life = { acknowledged: [], flips: [], seen: [], events: [], trace: [], alive: [] };
  const process = { dead: false };
  let calm = !options.faulty;
  const faults = async (): Promise<Fault> => {
    if (calm) return "pass";
    // A slow disk: others come in between.
    for (let ticks = random.below(60); ticks > 0; ticks--) await Promise.resolve();
    const chance = random.next();
    const fault =
      chance < 0.9 ? "pass" : chance < 0.96 ? "fail" : chance < 0.98 ? "crash" : "crash_after";
    process.dead ||= fault === "crash" || fault === "crash_after";
    return fault;
  };
  const refused = (error: unknown): void => {
    if (!(error instanceof KumikoError)) throw error;
    life.trace.push(`refused ${error.code}`);
  };
  let kernel: Kernel;
  try {
    kernel = await Kernel.open({
      id: "sim",
      store: new MemoryStore({ disk, faults }),
      clock: { now: () => time.now++ },
      timers: noTimers,
      newPeer: () => String(1000 + time.now++),
      liveDocuments: 2,
    });
  } catch (error) {
    refused(error);
    return life;
  }
  await kernel.contexts.create(CONTEXT, "ann").catch(refused);
  const listening = listen(kernel, life).catch(refused);
  const blocks: string[] = [];
  const client = async (actor: string): Promise<void> => {
    for (let call = 0; call < options.calls && !process.dead; call++) {
      try {
        await act(kernel, actor, `${actor}-${time.now++}`, blocks, random, life);
      } catch (error) {
        refused(error);
      }
    }
  };
  const names = ["ann", "ben", "claude", "codex"].slice(0, options.clients);
  await Promise.all(names.map(client));
  if (!process.dead) {
    // Whatever failed before, a living process must be able to write again.
    calm = true;
    for (const block of blocks) life.alive.push(await extend(kernel, block, `end-${time.now++}`));
  }
  await kernel[Symbol.asyncDispose]().catch(refused);
  await listening;
  return life;
}

async function extend(kernel: Kernel, block: string, token: string): Promise<boolean> {
  try {
    return await kernel.editText(
      { actor: "ann" },
      {
        blocks: [block],
        operation: "append",
        translate: (target) => translateAppend(target, token),
        answer: ({ changes }) => changes.length === 1,
      },
    );
  } catch {
    return false;
  }
}

async function listen(kernel: Kernel, life: Life): Promise<void> {
  for await (const events of kernel.feed.subscribe({ from: 0 })) {
    for (const event of events) {
      life.events.push(event);
      life.trace.push(`${event.position} ${event.block} ${event.version} ${event.edit}`);
    }
  }
}

async function act(
  kernel: Kernel,
  actor: string,
  token: string,
  blocks: string[],
  random: Random,
  life: Life,
): Promise<void> {
  const acknowledge = (block: string, version: number, edit: string): void => {
    life.acknowledged.push({ block, version, edit, token });
    life.trace.push(`ack ${block} ${version} ${edit} ${token}`);
  };
  if (blocks.length === 0 || random.next() < 0.15) {
    const made = await kernel.createBlock(
      { actor, call: random.next() < 0.5 ? token : undefined },
      { context: CONTEXT, role: "user", kind: "text", content: `${token}\n` },
      { answer: ({ edit, changes }) => ({ edit, ...changes[0]! }) },
    );
    blocks.push(made.block);
    acknowledge(made.block, made.version, made.edit);
    return;
  }
  if (random.next() < 0.2) {
    const active = random.next() < 0.4;
    const flipped = await kernel[active ? "redo" : "undo"]({ actor }, {});
    life.flips.push({ ...flipped, active });
    life.trace.push(`flip ${flipped.edit} ${flipped.flipped}`);
    return;
  }
  const chosen = [
    ...new Set([random.pick(blocks), ...(random.next() < 0.3 ? [random.pick(blocks)] : [])]),
  ];
  const bases = new Map<string, number>();
  for (const block of chosen) {
    const [version, text] = await kernel.look(
      block,
      ({ document }) => [document.version, document.read()] as const,
    );
    life.seen.push({ block, version, text });
    bases.set(block, version);
  }
  // An Edit of somebody else's is refused in the block that knows it, and so in all of them.
  const other = life.acknowledged.at(-1);
  const taken = other !== undefined && random.next() < 0.15 ? other : undefined;
  const results = await kernel.editText(
    { actor: taken === undefined ? actor : "mallory" },
    {
      blocks: taken === undefined ? chosen : [...new Set([...chosen, taken.block])],
      edit: taken?.edit,
      operation: "change",
      translate: (target, block) =>
        translateEdit(
          target,
          [{ op: "insert", line: 0, content: token }],
          bases.get(block) ?? target.version,
        ),
      answer: ({ edit, changes }) =>
        changes.map(({ block, version }) => ({ edit, block, version })),
    },
  );
  for (const { block, version, edit } of results) acknowledge(block, version, edit);
}
