import { KeyedQueue, type Timers } from "../base/index.ts";
import type { Kernel, NamedValues } from "../kernel/index.ts";
import type { FileIdentity } from "./file-stat.ts";
import type { TextForm } from "./text-form.ts";

/** What a block and its file last had in common: a version of the block; or the text itself, when no version has it. */
export type Base = { readonly version: number } | { readonly text: string };

/** When a block's text and its file were last the same. */
export interface Synced {
  readonly base: Base;
  /** SHA-256 of the bytes. */
  readonly hash: string;
  readonly identity: FileIdentity;
  readonly form: TextForm;
}

/** What is kept of one file between two starts. */
export interface FileRecord {
  readonly path: string;
  /** Undefined when the file was not there. */
  readonly synced: Synced | undefined;
  /** The base of a file that went: what was written to its block since is merged when it comes back. */
  readonly left?: Base | undefined;
}

/** Milliseconds in which records are gathered: a save does not wait for them. */
const GATHERED = 1_000;

/**
 * The records of a mount, by block. Written a moment after they change: what a crash takes from them is found out
 * again by comparing texts, so they only spare work.
 */
export class Ledger implements AsyncDisposable {
  readonly #values: NamedValues;
  readonly #timers: Timers;
  readonly #changed = new Map<string, FileRecord>();
  readonly #writing = new KeyedQueue();
  #timer: { cancel(): void } | undefined;

  constructor(kernel: Kernel, mount: string, timers: Timers) {
    this.#values = kernel.named(`files-${mount}`);
    this.#timers = timers;
  }

  async read(): Promise<Map<string, FileRecord>> {
    const entries = await this.#values.list();
    return new Map(entries.map(({ key, value }) => [key, decoded(value)]));
  }

  note(block: string, record: FileRecord): void {
    this.#changed.set(block, record);
    this.#timer ??= this.#timers.after(GATHERED, () => {
      this.#timer = undefined;
      // A journal that cannot be written refuses edits as well, and says so there.
      this.write().catch(() => undefined);
    });
  }

  async write(): Promise<void> {
    await this.#writing.run(["ledger"], async () => {
      for (const [block, record] of this.#changed) {
        await this.#values.put(block, encoded(record));
        if (this.#changed.get(block) === record) this.#changed.delete(block);
      }
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#timer?.cancel();
    await this.write();
  }
}

function encoded({ path, synced, left }: FileRecord): string {
  if (synced === undefined) return JSON.stringify({ path, left });
  const { identity } = synced;
  const nanoseconds = String(identity.nanoseconds);
  return JSON.stringify({ path, synced: { ...synced, identity: { ...identity, nanoseconds } } });
}

function decoded(value: string): FileRecord {
  type Stored = {
    path: string;
    synced?: Synced & { identity: { nanoseconds: string } };
    left?: Base;
  };
  const { path, synced, left } = JSON.parse(value) as Stored;
  if (synced === undefined) return { path, synced, left };
  const nanoseconds = BigInt(synced.identity.nanoseconds);
  return { path, synced: { ...synced, identity: { ...synced.identity, nanoseconds } } };
}
