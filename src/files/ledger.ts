import { KeyedQueue, KumikoError, type Timers } from "../base/index.ts";
import type { NamedValues } from "../kernel/index.ts";
import { Content } from "./content.ts";
import type { FileIdentity } from "./file-stat.ts";
import type { LedgerTail, Notes } from "./ledger-tail.ts";
import { noteOf, readNote } from "./note.ts";
import { type TextForm, writeText } from "./text-form.ts";

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
  /** Of two records of a file the newer has the greater one. The ledger gives it. */
  readonly number?: number | undefined;
}

type NumberedRecord = FileRecord & { readonly number: number };

/** Milliseconds in which records are gathered: a save does not wait for them. */
const GATHERED = 1_000;

export interface LedgerPorts {
  readonly timers: Timers;
  /**
   * Resolves when the files that were saved until now would be there after a power cut: a record of one that is not would
   * make what the disk then holds somebody's change.
   */
  settle(): Promise<void>;
  /** An earlier process may have saved this file without having waited for that. */
  unsettled(path: string): void;
  /** What a block said. */
  textAt(block: string, version: number): Promise<string>;
  /** Where what is not written down yet is kept for whoever comes after a crash. */
  readonly tail?: LedgerTail | undefined;
  /** Records are written down, or why they are not; then they are tried again. */
  onWritten(error?: unknown): void;
}

/**
 * The records of a mount, by block. Written a moment after they change. Until then who kills this process leaves them in the
 * tail; what a power cut takes of them is found out again by comparing texts.
 */
export class Ledger implements AsyncDisposable {
  readonly #values: NamedValues;
  readonly #ports: LedgerPorts;
  readonly #changed = new Map<string, FileRecord>();
  readonly #writing = new KeyedQueue();
  #timer: { cancel(): void } | undefined;
  /** Of the newest record. */
  #number = 0;

  constructor(values: NamedValues, ports: LedgerPorts) {
    this.#values = values;
    this.#ports = ports;
  }

  async read(): Promise<Map<string, FileRecord>> {
    const entries = await this.#values.list();
    const records = new Map(entries.map(({ key, value }) => [key, decoded(value)]));
    for (const { number = 0 } of records.values()) this.#number = Math.max(this.#number, number);
    for (const [block, note] of this.#ports.tail?.read() ?? []) {
      const record = note === undefined ? undefined : await this.#noted(block, note);
      if (record === undefined) continue;
      // Notes that could not be taken away are older than what was written down since.
      if (record.number <= (records.get(block)?.number ?? 0)) continue;
      this.#number = Math.max(this.#number, record.number);
      records.set(block, record);
      this.#changed.set(block, record);
      if (record.synced !== undefined) this.#ports.unsettled(record.path);
    }
    this.#keepTail();
    if (this.#changed.size > 0) this.#writeLater();
    return records;
  }

  note(block: string, known: FileRecord): void {
    const record = { ...known, number: ++this.#number };
    this.#changed.set(block, record);
    this.#ports.tail?.add(block, noteOf(record), () => this.#notes());
    this.#writeLater();
  }

  #notes(): Notes {
    return new Map(Array.from(this.#changed, ([block, record]) => [block, noteOf(record)]));
  }

  #keepTail(): void {
    this.#ports.tail?.keep(this.#notes());
  }

  /** Undefined when it is none, or speaks of a block or a version that is not there. */
  async #noted(block: string, note: string): Promise<NumberedRecord | undefined> {
    const read = readNote(note);
    if (read?.synced === undefined) return read && { ...read, synced: undefined };
    const { base, form } = read.synced;
    try {
      const text = await this.#ports.textAt(block, base.version);
      const content = Content.of(writeText(text, form));
      // There may be thousands of them.
      content.letGo();
      return { ...read, synced: { ...read.synced, content } };
    } catch (error) {
      if (error instanceof KumikoError) return undefined;
      throw error;
    }
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
      this.#keepTail();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#timer?.cancel();
    using _ = this.#ports.tail;
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

function encoded({ path, synced, left, form, mode, wanted, number }: FileRecord): string {
  if (synced === undefined)
    return JSON.stringify({ path, left, form, mode, ...(wanted && { wanted }), number });
  const { content, ...rest } = synced;
  const { inode, device, size, nanoseconds } = synced.identity;
  const identity = { inode, device, size, nanoseconds: String(nanoseconds) };
  return JSON.stringify({ path, synced: { ...rest, hash: content.hash, identity }, number });
}

function decoded(value: string): FileRecord {
  type Stored = {
    path: string;
    synced?: Omit<Synced, "content"> & { hash: string; identity: { nanoseconds: string } };
    left?: Base;
    form?: TextForm;
    mode?: number;
    wanted?: boolean;
    number?: number;
  };
  const { path, synced, left, form, mode, wanted, number } = JSON.parse(value) as Stored;
  if (synced === undefined) return { path, synced, left, form, mode, wanted, number };
  const { hash, ...rest } = synced;
  const identity = { ...synced.identity, nanoseconds: BigInt(synced.identity.nanoseconds) };
  return { path, synced: { ...rest, content: Content.known(hash), identity }, number };
}
