import { type Clock, KumikoError, type Timers } from "../base/index.ts";
import type { Batch, Lease, Store } from "./ports.ts";
import { isDamage } from "./quarantine.ts";

/** For how long, in milliseconds, others must take a process that says nothing for alive. */
const LIFETIME = 60_000;
const RENEWED_EVERY = LIFETIME / 3;
const ATTEMPTS = 8;

/** Whose work a running block is: it is over when that lease has gone to another or expired. */
export interface LeaseName {
  readonly name: string;
  readonly token: number;
}

export interface OwnerLeasePorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly timers: Timers;
  /** Runs when it is taken, before anyone writes under it, and after each renewal. */
  held(): Promise<void>;
}

/**
 * The one lease of a process: the blocks that run here run under it, and everything written is written only
 * while it is held. A process that was taken for dead and comes back is refused (`fenced`). It is taken by
 * whoever writes first, so that reading waits for no disk.
 */
export class OwnerLease {
  readonly #ports: OwnerLeasePorts;
  readonly #name: string;
  readonly #holder: string;
  #taking: Promise<void> | undefined;
  #held: { readonly epoch: string; readonly lease: Lease } | undefined;
  #timer: { cancel(): void } | undefined;

  constructor(ports: OwnerLeasePorts, server: string, holder: string) {
    this.#ports = ports;
    this.#name = `process:${server}`;
    this.#holder = holder;
  }

  /** Whoever writes waits for this first. What failed is tried again by the next. */
  take(): Promise<void> {
    this.#taking ??= this.#take().catch((error: unknown) => {
      this.#taking = undefined;
      throw error;
    });
    return this.#taking;
  }

  get name(): LeaseName {
    const { name, token } = this.#lease;
    return { name, token };
  }

  get fence(): NonNullable<Batch["fence"]> {
    return { lease: this.#lease.name, token: this.#lease.token };
  }

  /** Grows with every taking, as text: ids made from it are never given twice. */
  get epoch(): string {
    return this.#checkHeld().epoch;
  }

  /** Whether somebody may still be at work under a lease. What has expired is taken, and so fenced off. */
  async isAlive(lease: LeaseName): Promise<boolean> {
    if (lease.name === this.#lease.name) return lease.token === this.#lease.token;
    const { store, clock } = this.#ports;
    try {
      const asked = await store.acquire(lease.name, this.#holder, clock.now(), 0);
      return !asked.granted && asked.lease.token === lease.token;
    } catch (error) {
      // Nobody can renew what cannot be read.
      if (isDamage(error)) return false;
      throw error;
    }
  }

  async release(): Promise<void> {
    await this.#taking?.catch(() => undefined);
    this.#timer?.cancel();
    this.#timer = undefined;
    const held = this.#held;
    if (held !== undefined) await harmless(() => this.#ports.store.release(held.lease));
  }

  get #lease(): Lease {
    return this.#checkHeld().lease;
  }

  #checkHeld(): { readonly epoch: string; readonly lease: Lease } {
    if (this.#held === undefined) throw new Error("somebody writes without having taken the lease");
    return this.#held;
  }

  async #take(): Promise<void> {
    const taking = undamaged(this.#name, (name) => this.#takeLease(name));
    // Waited for also when there is no epoch: what still takes a lease later would fence off who tries again.
    const [epoch] = await Promise.all([newEpoch(this.#ports, this.#holder), taking]).catch(
      async (error: unknown) => {
        await Promise.allSettled([taking]);
        throw error;
      },
    );
    this.#held = { epoch, lease: (await taking).result };
    await this.#ports.held();
    this.#keep();
  }

  /** From whoever had it: two processes of one name cannot be, so the earlier one is dead. */
  async #takeLease(name: string): Promise<Lease> {
    const { store, clock } = this.#ports;
    let now = clock.now();
    for (;;) {
      const { granted, lease } = await store.acquire(name, this.#holder, now, LIFETIME);
      if (granted) return lease;
      // Also when another server, whose clock is ahead of ours, has just taken it to fence off that earlier one.
      now = Math.max(clock.now(), lease.expires) + 1;
    }
  }

  #keep(): void {
    this.#timer = this.#ports.timers.after(RENEWED_EVERY, () => void this.#renew());
  }

  async #renew(): Promise<void> {
    const { store, clock } = this.#ports;
    const { epoch, lease } = this.#checkHeld();
    await harmless(async () => {
      this.#held = { epoch, lease: (await store.renew(lease, clock.now(), LIFETIME)) ?? lease };
    });
    if (this.#timer === undefined) return;
    this.#keep();
    await harmless(() => this.#ports.held());
  }
}

/** Should the row that counts be damaged, another is counted, and its numbers look different. */
async function newEpoch({ store, clock }: OwnerLeasePorts, holder: string): Promise<string> {
  const { result, attempt } = await undamaged("kernel", async (name) => {
    let now = clock.now();
    for (;;) {
      const { granted, lease } = await store.acquire(name, holder, now, 0);
      if (granted) return lease.token;
      // Another server, whose clock is ahead of ours, was given this number.
      now = lease.expires;
    }
  });
  return `${result}${attempt === 0 ? "" : `r${attempt}`}`;
}

/** Tries a name, then others like it: one damaged row must not keep a kernel shut. */
async function undamaged<Result>(
  name: string,
  take: (name: string) => Promise<Result>,
): Promise<{ result: Result; attempt: number }> {
  for (let attempt = 0; ; attempt++) {
    try {
      return { result: await take(attempt === 0 ? name : `${name}:${attempt}`), attempt };
    } catch (error) {
      if (!isDamage(error) || attempt >= ATTEMPTS) throw error;
    }
  }
}

/** What cannot be written now is tried again later; the store goes on to say who holds the lease. */
async function harmless(write: () => Promise<void>): Promise<void> {
  try {
    await write();
  } catch (error) {
    if (!(error instanceof KumikoError)) throw error;
  }
}
