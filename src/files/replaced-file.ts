import { closeSync, fstatSync, readSync, statfsSync } from "node:fs";
import { closeLater } from "./close-later.ts";
import { isSystemError } from "./disk-errors.ts";
import { type FileStat, statOf } from "./file-stat.ts";
import { absent, type Spot } from "./spot.ts";
import { type OpenFile, openFile, PIECE } from "./whole-file.ts";

/**
 * File systems of this machine, by the numbers Linux gives them: ext, XFS, Btrfs, tmpfs, F2FS, ZFS, overlay. Over a network
 * a file that is open may be refused to be replaced (SMB), or stays in its folder under another name (NFS).
 */
const LOCAL: readonly number[] = [
  0xef53, 0x58465342, 0x9123683e, 0x01021994, 0xf2f52010, 0x2fc12fc1, 0x794c7630,
];

/** By device, as far as they were asked about: disks only. The number of what is no disk may soon be another's. */
const local = new Map<number, boolean>();

/** What was read for a look that nobody else sees: memory of its own for each would cost more than the reading. */
const seen = Buffer.allocUnsafeSlow(PIECE + 1);

/**
 * A file that is about to be replaced, from the last look at it on. It stays open where it can be: a program that has it
 * open as well may write to it still. It is closed later: within the rename the calling thread would wait until its blocks
 * are given back, longer than for all the rest.
 */
export class ReplacedFile implements OpenFile {
  readonly descriptor: number;
  /** As it was last looked at before it was replaced. */
  readonly stat: FileStat;
  readonly mayStayOpen: boolean;
  #isOpen = true;

  private constructor({ descriptor, stat }: OpenFile, mayStayOpen: boolean) {
    this.descriptor = descriptor;
    this.stat = stat;
    this.mayStayOpen = mayStayOpen;
  }

  static open(spot: Spot): ReplacedFile {
    const file = openFile(spot);
    if (file === undefined) throw absent(spot.path);
    try {
      return new ReplacedFile(file, isLocal(file.stat.device, spot));
    } catch (error) {
      file[Symbol.dispose]();
      throw error;
    }
  }

  /** As it is now, wherever it is. */
  look(): FileStat {
    return statOf(fstatSync(this.descriptor, { bigint: true }));
  }

  /** Whether it is just these bytes, which are one piece. */
  holds(bytes: Uint8Array): boolean {
    // One more than there were: it may have grown.
    const count = readSync(this.descriptor, seen, 0, bytes.length + 1, 0);
    return count === bytes.length && seen.compare(bytes, 0, bytes.length, 0, count) === 0;
  }

  beforeRename(): void {
    if (!this.mayStayOpen) this[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    if (this.mayStayOpen) closeLater(this.descriptor);
    else closeSync(this.descriptor);
  }
}

function isLocal(device: number, spot: Spot): boolean {
  if (process.platform !== "linux") return false;
  const known = local.get(device);
  if (known !== undefined) return known;
  try {
    const found = LOCAL.includes(statfsSync(spot.beside(".")).type);
    if (isDisk(device)) local.set(device, found);
    return found;
  } catch (error) {
    if (isSystemError(error)) return false;
    throw error;
  }
}

function isDisk(device: number): boolean {
  return ((device >>> 8) & 0xfff) !== 0;
}
