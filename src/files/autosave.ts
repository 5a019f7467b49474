import type { Timers } from "../base/index.ts";

/** Milliseconds without a change, and at most, before what streams in or is typed is written to its file. */
const QUIET = 300;
const LATEST = 2_000;
/** A save that failed is tried again, each time after twice as long. */
const SOONEST_RETRY = 1_000;
const LATEST_RETRY = 60_000;

interface Due {
  readonly since: number;
  readonly at: number;
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
  /**
   * One for all that is due, never later than the first of them. It is left to run when that was saved by somebody else:
   * to cancel it and to set another with every edit would cost each of them more than its place in the list.
   */
  #timer: { cancel(): void } | undefined;
  #closed = false;

  constructor(ports: AutosavePorts) {
    this.#ports = ports;
  }

  /** Something was written to the block. */
  touched(block: string): void {
    if (this.#closed) return;
    const now = this.#ports.clock.now();
    // A clock that was set back is no reason to wait.
    const since = Math.min(now, this.#due.get(block)?.since ?? now);
    this.#due.set(block, { since, at: Math.min(now + QUIET, since + LATEST) });
    this.#timer ??= this.#ports.timers.after(QUIET, () => this.#look());
  }

  /** It was saved by whoever waited for it; `ahead`: more was written to it meanwhile. */
  saved(block: string, ahead: boolean): void {
    if (!ahead) this.#due.delete(block);
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
    this.#timer?.cancel();
    for (const { timer } of this.#retries.values()) timer.cancel();
    for (const block of late) this.#run(block);
    await Promise.all(this.#running);
  }

  #look(): void {
    this.#timer = undefined;
    const now = this.#ports.clock.now();
    let next = Infinity;
    for (const [block, { since, at }] of this.#due) {
      if (at > now && since <= now) next = Math.min(next, at);
      else {
        this.#due.delete(block);
        this.#run(block);
      }
    }
    if (next < Infinity) this.#timer = this.#ports.timers.after(next - now, () => this.#look());
  }

  #run(block: string): void {
    const running = this.#save(block);
    this.#running.add(running);
    void running.finally(() => this.#running.delete(running));
  }

  async #save(block: string): Promise<void> {
    const isSaved = await this.#ports.save(block);
    const before = this.#retries.get(block);
    // What is due was written while this was saved.
    if (isSaved) this.saved(block, true);
    else if (before === undefined) this.failed(block);
    else this.#again(block, Math.min(LATEST_RETRY, before.after * 2));
  }
}
