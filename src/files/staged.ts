import {
  accessSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsync,
  openSync,
  unlinkSync,
  write,
  writeSync,
  writevSync,
} from "node:fs";
import { hasCode, isSystemError } from "./disk-errors.ts";
import { type FileStat, statOf } from "./file-stat.ts";
import type { SpareFiles } from "./spare-files.ts";
import type { Spot } from "./spot.ts";
import { temporaryName } from "./temporary-name.ts";
import { PIECE } from "./whole-file.ts";

/** To whom belongs what this process makes; it is asked once. */
let own: number | undefined;

function isOurs({ uid }: FileStat): boolean {
  own ??= process.geteuid?.();
  return uid === own;
}

/**
 * New bytes in a spare file, or in one beside the one they are for. Unless it is renamed, it is gone when its owner's
 * `using` ends.
 */
export class Staged implements Disposable {
  readonly target: string;
  readonly #descriptor: number;
  /** Whose spare file it was; undefined when it was made beside the one it is for. */
  readonly #spares: SpareFiles | undefined;
  /** Its rights, as long as they are those that it was made with. */
  #made: FileStat | undefined;
  #there = true;
  #isOpen = true;

  private constructor(target: string, descriptor: number, spares?: SpareFiles, made?: FileStat) {
    this.target = target;
    this.#descriptor = descriptor;
    this.#spares = spares;
    this.#made = made;
  }

  get isSpare(): boolean {
    return this.#spares !== undefined;
  }

  /** With the mode and owner of an old file, or with a mode from which the process's mask takes away. */
  static async write(
    spot: Spot,
    bytes: Uint8Array,
    old: FileStat | { readonly mode: number },
    spares?: SpareFiles,
  ): Promise<Staged> {
    using owned = new DisposableStack();
    const staged = owned.use(
      "uid" in old ? Staged.#inPlaceOf(spot, old, spares) : Staged.#open(spot, old.mode),
    );
    await writeAll(staged.#descriptor, bytes);
    if ("uid" in old) staged.keep(old);
    owned.move();
    return staged;
  }

  /** The same without giving way, in the place of a file, for what is short. */
  static writeAtOnce(
    spot: Spot,
    pieces: readonly Uint8Array[],
    old: FileStat,
    spares?: SpareFiles,
  ): Staged {
    const staged = Staged.#inPlaceOf(spot, old, spares);
    try {
      writeAllAtOnce(staged.#descriptor, pieces);
      staged.keep(old);
      return staged;
    } catch (error) {
      staged[Symbol.dispose]();
      throw error;
    }
  }

  static #inPlaceOf(spot: Spot, old: FileStat, spares: SpareFiles | undefined): Staged {
    checkWritable(spot, old);
    const spare = spares?.take(old);
    if (spare === undefined) return Staged.#open(spot, firstMode(old));
    return new Staged(spare.target, spare.descriptor, spares, spare.stat);
  }

  static #open(spot: Spot, mode: number): Staged {
    const target = spot.beside(temporaryName());
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
    return new Staged(target, openSync(target, flags, mode));
  }

  sync(): Promise<void> {
    return synced(this.#descriptor);
  }

  /** Takes over owner and mode. The owner first: changing it clears bits of the mode. */
  keep(old: FileStat): void {
    const mine = this.#made ?? this.stat();
    const isOwn = mine.uid === old.uid && mine.gid === old.gid;
    if (isOwn && mine.mode === old.mode) return;
    this.#made = undefined;
    if (!isOwn && !this.#give(old.uid, old.gid)) this.#give(mine.uid, old.gid);
    fchmodSync(this.#descriptor, old.mode);
  }

  /**
   * It has the name that it is for. Nobody may have it open for writing when that is known: the system refuses to run such
   * a program.
   */
  inPlace(): FileStat {
    this.#there = false;
    const now = this.stat();
    this.#close();
    return now;
  }

  /** Removes what has its name now, since the two were exchanged. */
  removeReplaced(): void {
    if (this.#spares === undefined) return this.remove();
    this.#there = false;
    this.#spares.clearAway(this.target);
  }

  remove(): void {
    if (!this.#there) return;
    this.#there = false;
    try {
      unlinkSync(this.target);
    } catch (error) {
      // Whoever removed it did our work; what cannot be removed is left to the sweep.
      if (!isSystemError(error)) throw error;
    }
  }

  [Symbol.dispose](): void {
    this.remove();
    this.#close();
  }

  #close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    closeSync(this.#descriptor);
  }

  /** As it is now, whatever it is called. */
  stat(): FileStat {
    return statOf(fstatSync(this.#descriptor, { bigint: true }));
  }

  #give(uid: number, gid: number): boolean {
    try {
      fchownSync(this.#descriptor, uid, gid);
      return true;
    } catch (error) {
      if (hasCode(error, "EPERM", "EINVAL")) return false;
      throw error;
    }
  }
}

/** A rename would replace a file that may not be written: its folder alone decides that. */
export function checkWritable({ target }: Spot, file: FileStat): void {
  const isFree = isOurs(file) && (file.mode & 0o200) !== 0;
  if (!isFree) accessSync(target, constants.W_OK);
}

/**
 * The old file's at once, unless that lets somebody in who would not be let into the old one: until it has its owner and
 * its group, which may be the folder's at first.
 */
function firstMode(old: FileStat): number {
  const { mode } = old;
  const isForAll = ((mode >> 3) & 7) === (mode & 7);
  return isOurs(old) && isForAll ? mode & 0o777 : 0o600;
}

function writeAllAtOnce(descriptor: number, pieces: readonly Uint8Array[]): void {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  let written = writevSync(descriptor, pieces, 0);
  if (written === length) return;
  // The disk has little room left, or a signal came: what is left is tried once more, and says why not.
  const bytes = Buffer.concat(pieces);
  while (written < length)
    written += writeSync(descriptor, bytes, written, length - written, written);
}

/** What is small is written on the calling thread. */
export async function writeAll(descriptor: number, bytes: Uint8Array, position = 0): Promise<void> {
  for (let at = 0; at < bytes.length;) {
    const piece = bytes.subarray(at, at + PIECE);
    at +=
      bytes.length <= PIECE
        ? writeSync(descriptor, piece, 0, piece.length, position + at)
        : await writePiece(descriptor, piece, position + at);
  }
}

export async function synced(descriptor: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  fsync(descriptor, (error) => (error === null ? resolve() : reject(error)));
  await promise;
}

function writePiece(descriptor: number, piece: Uint8Array, position: number): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  write(descriptor, piece, 0, piece.length, position, (error, count) =>
    error === null ? resolve(count) : reject(error),
  );
  return promise;
}
