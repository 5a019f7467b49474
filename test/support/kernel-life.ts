import { KumikoError, Random } from "../../src/base/index.ts";
import { translateAppend } from "../../src/blocks/index.ts";
import { type FeedEvent, Kernel } from "../../src/kernel/index.ts";
import type { MemoryDisk } from "../../src/store/memory/memory-disk.ts";
import type { Fault } from "../../src/store/memory/faults.ts";
import { MemoryStore } from "../../src/store/memory/memory-store.ts";
import { type Call, KernelClient } from "./kernel-client.ts";

/** What someone was told: it must be true for ever after. */
interface Acknowledged {
  readonly block: string;
  readonly version: number;
  readonly edit: string;
  /** What only this edit inserted, or set as metadata. */
  readonly token: string;
  /** Whether it is text. */
  readonly text: boolean;
}

/** What someone saw: it must never be taken back. */
interface Seen {
  readonly block: string;
  readonly version: number;
  /** Without a final newline. */
  readonly text: string;
  readonly status: string;
}

/** What someone was shown instead of an answer. */
interface Refusal {
  readonly block: string;
  readonly version: number;
  readonly lines: readonly { readonly line: number; readonly text: string }[];
}

/** What an undo or a redo was said to have done. */
interface Flip {
  readonly edit: string;
  readonly flipped: string;
  readonly active: boolean;
  readonly blocks: readonly { readonly block_id: string; readonly version: number }[];
}

/** What someone tried: it is there in all these blocks, once, or in none of them. */
interface Planned {
  readonly token: string;
  readonly blocks: readonly string[];
}

/** Text that was taken in: it is on disk when its author waited for that, or its author was told. */
interface Appended {
  readonly block: string;
  readonly actor: string;
  readonly token: string;
  fate: "open" | "kept" | "told";
}

export interface Life {
  readonly acknowledged: Acknowledged[];
  readonly planned: Planned[];
  readonly appended: Appended[];
  readonly flips: Flip[];
  readonly seen: Seen[];
  readonly refusals: Refusal[];
  readonly events: FeedEvent[];
  /** Appended text that everybody was told is lost, by block and actor. */
  readonly unwritten: Set<string>;
  readonly trace: string[];
  /** For each block: whether it could be edited once nothing failed any more. */
  readonly alive: boolean[];
  /** Calls that were made again and answered differently. */
  readonly different: string[];
  crashed: boolean;
}

export interface LifeOptions {
  readonly disk: MemoryDisk;
  readonly random: Random;
  readonly time: { now: number };
  readonly clients: number;
  readonly calls: number;
  readonly faulty: boolean;
  /** Calls of earlier lives that nobody answered: they are made again. */
  readonly unanswered: Call[];
  /** Blocks that others know of already. */
  readonly blocks?: string[];
  readonly server?: string;
}

export const CONTEXT = "main";

/** What waits for the time of one process; it passes when somebody says so. */
class LifeTimers {
  readonly #time: { now: number };
  #waiting: { readonly at: number; run(): void }[] = [];

  constructor(time: { now: number }) {
    this.#time = time;
  }

  after(milliseconds: number, run: () => void): { cancel(): void } {
    const timer = { at: this.#time.now + milliseconds, run };
    this.#waiting.push(timer);
    return { cancel: () => void (this.#waiting = this.#waiting.filter((each) => each !== timer)) };
  }

  pass(milliseconds: number): void {
    this.#time.now += milliseconds;
    const due = this.#waiting.filter(({ at }) => at <= this.#time.now);
    this.#waiting = this.#waiting.filter(({ at }) => at > this.#time.now);
    for (const timer of due.toSorted((left, right) => left.at - right.at)) timer.run();
  }
}

function openKernel(
  store: MemoryStore,
  time: { now: number },
  timers: LifeTimers,
  server: string | undefined,
): Promise<Kernel> {
  return Kernel.open({
    id: "sim",
    store,
    clock: { now: () => time.now++ },
    timers,
    newPeer: () => String(1000 + time.now++),
    liveDocuments: 2,
    server,
  });
}

/** Opens a kernel on a disk, without faults. */
export function openOn(disk: MemoryDisk, time: { now: number }): Promise<Kernel> {
  return openKernel(new MemoryStore({ disk }), time, new LifeTimers(time), undefined);
}

/**
 * One process from start to end or crash: several clients at once create blocks, edit them against what they
 * read, stream, undo and try again, and give up only when the process is dead.
 */
export async function live(options: LifeOptions): Promise<Life> {
  const { disk, random, time, blocks = [] } = options;
  const life = newLife();
  let calm = !options.faulty;
  const faults = async (): Promise<Fault> => {
    // A slow disk: others come in between.
    for (let ticks = random.below(60); ticks > 0; ticks--) await Promise.resolve();
    if (calm) return "pass";
    const chance = random.next();
    const fault =
      chance < 0.9 ? "pass" : chance < 0.96 ? "fail" : chance < 0.98 ? "crash" : "crash_after";
    life.crashed ||= fault === "crash" || fault === "crash_after";
    return fault;
  };
  const refused = (error: unknown): void => {
    if (!(error instanceof KumikoError)) throw error;
    life.trace.push(`refused ${error.code}`);
  };
  const timers = new LifeTimers(time);
  const store = new MemoryStore({ disk, faults });
  let kernel: Kernel;
  try {
    kernel = await openKernel(store, time, timers, options.server);
  } catch (error) {
    refused(error);
    return life;
  }
  await kernel.contexts.create(CONTEXT, "ann").catch(refused);
  const listening = [listen(kernel, life), listenForLosses(kernel, life)];
  const work = async (actor: string): Promise<void> => {
    const client = new KernelClient(actor, { kernel, life, random, time, blocks, timers });
    for (let call = 0; call < options.calls && !life.crashed; call++) {
      try {
        const retried = random.next() < 0.2 ? options.unanswered.pop() : undefined;
        if (retried === undefined) await client.act(options.unanswered);
        else await client.make(retried, options.unanswered);
      } catch (error) {
        refused(error);
      }
    }
  };
  await Promise.all(["ann", "ben", "claude", "codex"].slice(0, options.clients).map(work));
  if (!life.crashed) {
    // Whatever failed before, a living process must be able to write again.
    calm = true;
    for (const block of blocks) life.alive.push(await extend(kernel, block, `end-${time.now++}`));
  }
  await kernel[Symbol.asyncDispose]().catch(refused);
  await Promise.all(listening.map((each) => each.catch(refused)));
  return life;
}

function newLife(): Life {
  return {
    acknowledged: [],
    planned: [],
    appended: [],
    flips: [],
    seen: [],
    refusals: [],
    events: [],
    unwritten: new Set(),
    trace: [],
    alive: [],
    different: [],
    crashed: false,
  };
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

async function listenForLosses(kernel: Kernel, life: Life): Promise<void> {
  for await (const events of kernel.flow.subscribe("resource")) {
    for (const { notice } of events) {
      if (notice.kind !== "unwritten") continue;
      life.unwritten.add(`${notice.block} ${notice.actor}`);
      life.trace.push(`unwritten ${notice.block} ${notice.actor} ${notice.units}`);
    }
  }
}
