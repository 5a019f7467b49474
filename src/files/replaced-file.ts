import { closeSync, fstatSync, readSync } from "node:fs";
import { closeLater } from "./close-later.ts";
import { type FileStat, statOf } from "./file-stat.ts";
import { isLocal } from "./local-disk.ts";
import { absent, type Spot } from "./spot.ts";
import { type OpenFile, openFile, PIECE } from "./whole-file.ts";

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
      return new ReplacedFile(
        file,
        isLocal(file.stat.device, () => spot.beside(".")),
      );
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
