import { KeyedQueue, KumikoError } from "../base/index.ts";
import type { Invocation, Kernel, UnsavedFile } from "../kernel/index.ts";
import type { Disk } from "./disk.ts";
import { sameIdentity } from "./file-stat.ts";
import { DISK } from "./found-text.ts";
import type { FileRecord } from "./ledger.ts";
import { MountedFile } from "./mounted-file.ts";
import { displaced } from "./refusals.ts";

/** Of as many files that were moved it is known where they were. */
const MOVES = 10_000;

export interface MountedFilesPorts {
  readonly kernel: Kernel;
  /** Of the mount. */
  readonly name: string;
  readonly disk: Disk;
}

/** The files of a folder that have blocks, by path and by block. */
export class MountedFiles {
  /** By path and by block: whoever loads, takes in or saves a file is alone with it. */
  readonly queue = new KeyedQueue();
  readonly #ports: MountedFilesPorts;
  readonly #byPath = new Map<string, MountedFile>();
  readonly #byBlock = new Map<string, MountedFile>();
  /** By the paths that files had before they were moved, as far as this process saw it; the last at the end. */
  readonly #moved = new Map<string, MountedFile>();

  constructor(ports: MountedFilesPorts) {
    this.#ports = ports;
  }

  /** Finds those of earlier days. */
  async find(records: ReadonlyMap<string, FileRecord>): Promise<void> {
    const { kernel, name } = this.#ports;
    for await (const { block, state } of kernel.blocks(`@${name}`)) {
      const { path, was } = state?.metadata ?? {};
      if (typeof path === "string") {
        const record = await completed(kernel, { block, path, record: records.get(block) });
        const version = await kernel.version(block);
        this.#putFound(new MountedFile(block, { ...record, path }, version));
      } else if (typeof was === "string") {
        const version = await kernel.version(block);
        const record = { path: was, synced: undefined };
        this.#byBlock.set(block, new MountedFile(block, record, version));
      }
    }
  }

  of(block: string): MountedFile | undefined {
    return this.#byBlock.get(block);
  }

  at(path: string): MountedFile | undefined {
    return this.#byPath.get(path);
  }

  /** Whether its path means it: not once another file was moved there. */
  hasPath(file: MountedFile): boolean {
    return this.#byPath.get(file.path) === file;
  }

  /** Why a file is not what its block says, although it should be. */
  unsaved(file: MountedFile): UnsavedFile | undefined {
    const { path, block, toldUnsaved } = file;
    const other = this.#byPath.get(path);
    if (other === file) return toldUnsaved;
    // Nothing makes it again there.
    return { path, block_id: block, why: displaced(file, other).message };
  }

  /** Where a file went that was here. */
  movedTo(path: string): string | undefined {
    const file = this.#moved.get(path);
    return file !== undefined && this.hasPath(file) && !file.isAway ? file.path : undefined;
  }

  /** Those that are or were last there. */
  paths(): string[] {
    return [...this.#byPath.keys()];
  }

  all(): MountedFile[] {
    return [...this.#byBlock.values()];
  }

  /** Makes the block of a file that has none. */
  async make(
    path: string,
    content: string,
    cause: Invocation,
    inEdit?: string,
  ): Promise<{ file: MountedFile; version: number; edit: string }> {
    const { kernel, name: mount } = this.#ports;
    const metadata = { path };
    const { changes, edit } = await kernel.createFile(cause, {
      mount,
      content,
      metadata,
      edit: inEdit,
    });
    const { block, version } = changes[0]!;
    const file = new MountedFile(block, { path, synced: undefined }, version);
    this.#put(file);
    return { file, version, edit };
  }

  /** From now on that path means it. */
  move(file: MountedFile, to: string): void {
    this.#byPath.delete(file.path);
    this.#moved.delete(to);
    this.#moved.delete(file.path);
    this.#moved.set(file.path, file);
    if (this.#moved.size > MOVES) this.#moved.delete(this.#moved.keys().next().value!);
    file.path = to;
    this.#put(file);
  }

  /**
   * Runs a task alone with a path and with the file that comes there. The path first, as whoever loads it does: who took
   * both at once could wait for one who waits for him.
   */
  arriving<Result>(
    path: string,
    { block }: MountedFile,
    task: () => Promise<Result>,
  ): Promise<Result> {
    return this.queue.run([`path ${path}`], () => this.queue.run([block], task));
  }

  /** Whether no file is known to be there, or to be made there. */
  isFree(path: string): boolean {
    const file = this.at(path);
    return file?.synced === undefined && file?.wanted !== true;
  }

  #put(file: MountedFile): void {
    this.#byPath.set(file.path, file);
    this.#byBlock.set(file.block, file);
  }

  /** Of two that claim one path, which only a crash leaves, the one whose file is there has it. */
  #putFound(file: MountedFile): void {
    const other = this.#byPath.get(file.path);
    this.#byBlock.set(file.block, file);
    if (other === undefined || this.#claimOf(file) > this.#claimOf(other))
      this.#byPath.set(file.path, file);
  }

  #claimOf({ path, synced }: MountedFile): number {
    if (synced === undefined) return 0;
    const identity = this.#ports.disk.look(path);
    return typeof identity === "object" && sameIdentity(identity, synced.identity) ? 2 : 1;
  }
}

interface Found {
  readonly block: string;
  readonly path: string;
  readonly record: FileRecord | undefined;
}

/** Of a file that was begun and not made, no more than its mode is written down. */
async function completed(kernel: Kernel, { block, path, record }: Found): Promise<FileRecord> {
  const { synced, left, wanted, mode } = record ?? {};
  const isBegun = synced === undefined && left === undefined && wanted !== true;
  if (record !== undefined && !isBegun) return record;
  return { ...(await unrecorded(kernel, block, path)), mode };
}

/**
 * A block that a crash left without a record. Loaded, it began as its file was; made by somebody, its file may not have
 * been made.
 */
async function unrecorded(kernel: Kernel, block: string, path: string): Promise<FileRecord> {
  const loaded = { path, synced: undefined, left: { version: 1 } };
  try {
    const [first] = await kernel.tryOut(block, (target) => target.authors([1]));
    if (first?.actor === DISK.actor) return loaded;
    // What somebody else has put there meanwhile does not take its place.
    return { ...loaded, left: { text: "" }, wanted: !(await kernel.isUnmade(block)) };
  } catch (error) {
    // It alone cannot be used; the folder can.
    if (error instanceof KumikoError && error.code === "quarantined") return loaded;
    throw error;
  }
}
