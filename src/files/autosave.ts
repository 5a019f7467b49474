import type { Timers } from "../base/index.ts";

/** Milliseconds without a change, and at most, before what streams in or is typed is written to its file. */
const QUIET = 300;
const LATEST = 2_000;
/** A save that failed is tried again, each time after twice as long. */
const SOONEST_RETRY = 1_000;
const LATEST_RETRY = 60_000;

interface Due {
  readonly since: number;
  timer: { cancel(): void };
}

export interface AutosavePorts {
  readonly timers: Timers;
  readonly clock: { now(): number };
  /** False when it failed: it is asked for again. */
  save(block: string): Promise<boolean>;
}

/** When files are saved that nobody waits for. */
export class Autosave implements AsyncDisposable {
  readonly #ports: AutosavePorts;
  readonly #due = new Map<string, Due>();
  readonly #retries = new Map<string, { after: number; timer: { cancel(): void } }>();
  readonly #running = new Set<Promise<void>>();
  #closed = false;

  constructor(ports: AutosavePorts) {
    this.#ports = ports;
  }

  /** Something was written to the block. */
  touched(block: string): void {
    if (this.#closed) return;
    const now = this.#ports.clock.now();
    const since = this.#due.get(block)?.since ?? now;
    this.#due.get(block)?.timer.cancel();
    const wait = Math.max(0, Math.min(QUIET, since + LATEST - now));
    const timer = this.#ports.timers.after(wait, () => {
      this.#due.delete(block);
      this.#run(block);
    });
    this.#due.set(block, { since, timer });
  }

  /** It was saved by whoever waited for it. */
  saved(block: string): void {
    this.#due.get(block)?.timer.cancel();
    this.#due.delete(block);
    this.#retries.get(block)?.timer.cancel();
    this.#retries.delete(block);
  }

  /** Whoever waited for it has failed. That it is tried often does not put off when it is tried again. */
  failed(block: string): void {
    if (!this.#retries.has(block)) this.#again(block, SOONEST_RETRY);
  }

  #again(block: string, after: number): void {
    if (this.#closed) return;
    this.#retries.get(block)?.timer.cancel();
    const timer = this.#ports.timers.after(after, () => this.#run(block));
    this.#retries.set(block, { after, timer });
  }

  /** Saves now what was to be saved later. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    const late = new Set([...this.#due.keys(), ...this.#retries.keys()]);
    for (const { timer } of [...this.#due.values(), ...this.#retries.values()]) timer.cancel();
    for (const block of late) this.#run(block);
    await Promise.all(this.#running);
  }

  #run(block: string): void {
    const running = this.#save(block);
    this.#running.add(running);
    void running.finally(() => this.#running.delete(running));
  }

  async #save(block: string): Promise<void> {
    const isSaved = await this.#ports.save(block);
    const before = this.#retries.get(block);
    if (isSaved) this.saved(block);
    else if (before === undefined) this.failed(block);
    else this.#again(block, Math.min(LATEST_RETRY, before.after * 2));
  }
}
