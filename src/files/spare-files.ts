import {
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  statSync,
  unlinkSync,
} from "node:fs";
import { join } from "node:path";
import { attributesOf } from "./attributes.ts";
import { isSystemError } from "./disk-errors.ts";
import { type FileStat, statOf } from "./file-stat.ts";
import { isLocal } from "./local-disk.ts";
import { isTemporaryName, temporaryName } from "./temporary-name.ts";

/** So many lie ready: of one alone, the next save may come before another is there. */
const READY = 2;
const FLAGS = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/** An empty file, open for writing. Whoever takes it owns it, and its name. */
export interface Spare {
  readonly target: string;
  readonly descriptor: number;
  /** As it was made. */
  readonly stat: FileStat;
}

/**
 * Files that lie ready to take the place of others, in a folder of the kernel's own: nobody who watches, lists or commits
 * the folder of a file sees how its next version is made (decision 24). They are made while nobody waits. One process has
 * a kernel at a time, so what is found there was left by one that died.
 */
export class SpareFiles implements Disposable {
  readonly #folder: string;
  /** Undefined when nothing that is made there should take the place of anything. */
  #device: number | undefined;
  readonly #ready: Spare[] = [];
  /** Of the file that was last replaced: the next one is likely to be of the same. */
  #mode = 0o644;
  #isClosed = false;

  constructor(folder: string) {
    this.#folder = folder;
    this.#device = prepare(folder);
  }

  /** Undefined when there is none that could take the place of such a file and be to everybody what that was. */
  take(old: FileStat): Spare | undefined {
    if (this.#isClosed || this.#device !== old.device) return undefined;
    this.#mode = old.mode & 0o777;
    const spare = this.#ready.pop() ?? this.#make();
    if (spare === undefined) return undefined;
    if (spare.stat.uid === old.uid && spare.stat.gid === old.gid) return spare;
    this.#ready.push(spare);
    return undefined;
  }

  /**
   * Removes a file that got the name of a spare one when that took its place, and lays another ready, when whoever waits
   * has its answer. Here and not by another thread: to wake that takes longer than either (decision 21). What the file
   * held is freed by whoever closes it last, and that is another thread (`close-later.ts`).
   */
  clearAway(target: string): void {
    setImmediate(() => {
      removeName(target);
      if (this.#isClosed || this.#ready.length >= READY) return;
      const spare = this.#make();
      // Whoever needs one tries again, and does without if it cannot be had.
      if (spare !== undefined) this.#ready.push(spare);
    });
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    for (const spare of this.#ready.splice(0)) discard(spare);
  }

  #make(): Spare | undefined {
    const target = join(this.#folder, temporaryName());
    try {
      return this.#made(target, openSync(target, FLAGS, this.#mode));
    } catch (error) {
      if (isSystemError(error)) return undefined;
      throw error;
    }
  }

  /** A list of who may read it, or a label, that the home gives to all files would go with it to another folder. */
  #made(target: string, descriptor: number): Spare | undefined {
    const stat = statOf(fstatSync(descriptor, { bigint: true }));
    const spare = { target, descriptor, stat };
    if (attributesOf(descriptor) !== "none") this.#device = undefined;
    if (!this.#isClosed && this.#device !== undefined) return spare;
    discard(spare);
    return undefined;
  }
}

/** Gives the folder's device, unless what is made there should not take the place of anything. */
function prepare(folder: string): number | undefined {
  try {
    mkdirSync(folder, { mode: 0o700, recursive: true });
    for (const name of readdirSync(folder))
      if (isTemporaryName(name)) unlinkSync(join(folder, name));
    const device = statSync(folder).dev;
    return isLocal(device, () => folder) ? device : undefined;
  } catch (error) {
    if (isSystemError(error)) return undefined;
    throw error;
  }
}

/** It has nothing in it, so closing it can lose nothing. */
function discard({ target, descriptor }: Spare): void {
  closeSync(descriptor);
  removeName(target);
}

/** Whoever removed it before did our work; what cannot be removed is found at the next start. */
function removeName(target: string): void {
  try {
    unlinkSync(target);
  } catch (error) {
    if (!isSystemError(error)) throw error;
  }
}
