import { KeyedQueue, type Timers } from "../base/index.ts";
import type { NamedValues } from "../kernel/index.ts";
import { Content } from "./content.ts";
import type { FileIdentity } from "./file-stat.ts";
import type { TextForm } from "./text-form.ts";

/** What a block and its file last had in common: a version of the block; or the text itself, when no version has it. */
export type Base = { readonly version: number } | { readonly text: string };

/** When a block's text and its file were last the same. */
export interface Synced {
  readonly base: Base;
  readonly content: Content;
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
  /** Its form and its mode when it went: it is made again with those. */
  readonly form?: TextForm | undefined;
  readonly mode?: number | undefined;
  /** It is to be made. */
  readonly wanted?: boolean | undefined;
}

/** Milliseconds in which records are gathered: a save does not wait for them. */
const GATHERED = 1_000;

export interface LedgerPorts {
  readonly timers: Timers;
  /**
   * Resolves when the files that were saved until now would be there after a power cut: a record of one that is not would
   * make what the disk then holds somebody's change.
   */
  settle(): Promise<void>;
  /** Records are written down, or why they are not; then they are tried again. */
  onWritten(error?: unknown): void;
}

/**
 * The records of a mount, by block. Written a moment after they change: what a crash takes from them is found out
 * again by comparing texts, so they only spare work.
 */
export class Ledger implements AsyncDisposable {
  readonly #values: NamedValues;
  readonly #ports: LedgerPorts;
  readonly #changed = new Map<string, FileRecord>();
  readonly #writing = new KeyedQueue();
  #timer: { cancel(): void } | undefined;

  constructor(values: NamedValues, ports: LedgerPorts) {
    this.#values = values;
    this.#ports = ports;
  }

  async read(): Promise<Map<string, FileRecord>> {
    const entries = await this.#values.list();
    return new Map(entries.map(({ key, value }) => [key, decoded(value)]));
  }

  note(block: string, record: FileRecord): void {
    this.#changed.set(block, record);
    this.#writeLater();
  }

  #writeLater(): void {
    const { timers } = this.#ports;
    this.#timer ??= timers.after(GATHERED, () => {
      this.#timer = undefined;
      this.write().then(
        () => this.#ports.onWritten(),
        (error: unknown) => {
          this.#ports.onWritten(error);
          this.#writeLater();
        },
      );
    });
  }

  async write(): Promise<void> {
    await this.#writing.run(["ledger"], async () => {
      const changed = [...this.#changed];
      await this.#ports.settle();
      for (const [block, record] of changed) {
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

/** The same record without what must not be known any more. */
export function withMask(record: FileRecord, mask: (text: string) => string): FileRecord {
  const masked = (base: Base): Base => ("text" in base ? { text: mask(base.text) } : base);
  const { synced, left } = record;
  return {
    ...record,
    synced: synced && { ...synced, base: masked(synced.base) },
    left: left && masked(left),
  };
}

/** Masks the records of a folder that is not mounted. Gives how many. */
export async function purgeRecords(
  values: NamedValues,
  mask: (text: string) => string,
  block?: string,
): Promise<number> {
  let masked = 0;
  for (const { key, value } of await values.list()) {
    if (block !== undefined && key !== block) continue;
    const clean = encoded(withMask(decoded(value), mask));
    if (clean === encoded(decoded(value))) continue;
    await values.put(key, clean);
    masked += 1;
  }
  return masked;
}

function encoded({ path, synced, left, form, mode, wanted }: FileRecord): string {
  if (synced === undefined)
    return JSON.stringify({ path, left, form, mode, ...(wanted && { wanted }) });
  const { content, ...rest } = synced;
  const { inode, device, size, nanoseconds } = synced.identity;
  const identity = { inode, device, size, nanoseconds: String(nanoseconds) };
  return JSON.stringify({ path, synced: { ...rest, hash: content.hash, identity } });
}

function decoded(value: string): FileRecord {
  type Stored = {
    path: string;
    synced?: Omit<Synced, "content"> & { hash: string; identity: { nanoseconds: string } };
    left?: Base;
    form?: TextForm;
    mode?: number;
    wanted?: boolean;
  };
  const { path, synced, left, form, mode, wanted } = JSON.parse(value) as Stored;
  if (synced === undefined) return { path, synced, left, form, mode, wanted };
  const { hash, ...rest } = synced;
  const identity = { ...synced.identity, nanoseconds: BigInt(synced.identity.nanoseconds) };
  return { path, synced: { ...rest, content: Content.known(hash), identity } };
}
