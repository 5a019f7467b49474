import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { Timers } from "../base/index.ts";
import { type Ignored, nameOf } from "./ignored.ts";
import { errorCodeOf } from "./look.ts";
import type { Root } from "./root.ts";
import type { Hint, Subscribe, Subscription } from "./subscription.ts";
import { watchLimit } from "./watch-limit.ts";

const ATTEMPTS = 5;
/** Milliseconds; longer than the watcher keeps what it has heard to itself. */
const RETIREMENT = 1000;

export interface ListeningPorts {
  readonly root: Root;
  readonly ignored: Ignored;
  readonly timers: Timers;
  readonly subscribe: Subscribe;
  /** `generation`: by which beginning they were heard. */
  readonly onHints: (hints: readonly Hint[], generation: number) => void;
  readonly onError: (error: Error) => void;
}

/** The one subscription that counts, and those before it that may still have something to say. */
export class Listening {
  readonly #ports: ListeningPorts;
  readonly #leftOut = new Set<string>();
  readonly #retiring = new Map<Subscription, { cancel(): void }>();
  #current: Subscription | undefined;
  #generation = 0;
  #isOutdated = false;

  constructor(ports: ListeningPorts) {
    this.#ports = ports;
  }

  get isOn(): boolean {
    return this.#current !== undefined;
  }

  /** How often it began; what was seen to come by an earlier beginning need not be watched now. */
  get generation(): number {
    return this.#generation;
  }

  /** Folders are watched that need not be. */
  get isOutdated(): boolean {
    return this.#isOutdated;
  }

  /** An ignored folder: not watched from the next beginning on. */
  leaveOut(folder: string): void {
    if (this.#leftOut.has(folder)) return;
    this.#leftOut.add(folder);
    this.#isOutdated = true;
  }

  /** Begins anew, then ends what was before: nothing is missed between. Throws why it cannot; it is off then. */
  async begin(): Promise<void> {
    const before = this.#current;
    this.#isOutdated = false;
    this.#generation += 1;
    for (const folder of this.#leftOut) {
      if (!this.#ports.ignored.isIgnored(folder, true)) this.#leftOut.delete(folder);
    }
    this.#current = undefined;
    try {
      this.#current = await this.#attempt(ATTEMPTS);
    } finally {
      if (before !== undefined) this.#retire(before);
    }
  }

  async end(): Promise<void> {
    const all = [...this.#retiring.keys()];
    if (this.#current !== undefined) all.push(this.#current);
    for (const timer of this.#retiring.values()) timer.cancel();
    this.#retiring.clear();
    this.#current = undefined;
    for (const subscription of all) await subscription.close();
  }

  async #attempt(attempts: number): Promise<Subscription> {
    const { root, subscribe, onHints, onError } = this.#ports;
    const generation = this.#generation;
    try {
      return await subscribe(root.path, {
        leftOut: [...this.#leftOut].flatMap((folder) => this.#unwatched(folder)),
        onHints: (hints) => onHints(hints, generation),
        onError,
      });
    } catch (error) {
      // It also fails when a folder goes while it begins.
      const isFinal = attempts <= 1 || watchLimit(error as Error) !== undefined;
      if (isFinal || !root.isThere()) throw error;
      return this.#attempt(attempts - 1);
    }
  }

  /** Closed at once, it would keep to itself what it has heard and not said. */
  #retire(subscription: Subscription): void {
    const timer = this.#ports.timers.after(RETIREMENT, () => {
      void subscription.close().then(() => this.#retiring.delete(subscription));
    });
    this.#retiring.set(subscription, timer);
  }

  /** Of git's own folder some files are of interest, its folders are not. */
  #unwatched(folder: string): string[] {
    if (nameOf(folder) !== ".git") return [folder];
    try {
      const entries = readdirSync(join(this.#ports.root.path, folder), { withFileTypes: true });
      return entries.filter((entry) => entry.isDirectory()).map(({ name }) => `${folder}/${name}`);
    } catch (error) {
      return errorCodeOf(error) === "ENOENT" ? [] : [folder];
    }
  }
}
