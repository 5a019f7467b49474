import { type Clock, KumikoError, type Timers } from "../base/index.ts";
import type { Folder, Place } from "./contained.ts";
import { type FileIdentity, move, readWhole, remove, save, stat } from "./disk-file.ts";
import { sameIdentity } from "./file-stat.ts";
import type { WholeFile } from "./whole-file.ts";

/** How often, and after how many milliseconds, a file is read again that is just being written. */
const PATIENCE = 20;
const PAUSE = 10;
/** Milliseconds since its last change after which a file is taken for whole; one that lost most of itself, later. */
const REST = 100;
const REST_SHRUNK = 400;
/** How often a file is looked at that does not come to rest: then it is taken as it is. */
const LOOKS = 20;
/** What the gate of paths and handles says of a place in which there is something else than a file. */
const NO_FILE = ["disk_moved", "outside", "invalid_argument"];

/** The files of one folder by their paths, with what happens to them told as values. */
export class Disk {
  readonly #folder: Folder;
  readonly #timers: Timers;
  readonly #clock: Clock;

  constructor(folder: Folder, { timers, clock }: { timers: Timers; clock: Clock }) {
    this.#folder = folder;
    this.#timers = timers;
    this.#clock = clock;
  }

  /** What somebody means, as the path by which a file is known here. */
  resolve(given: string): string {
    return this.#folder.resolve(given).path;
  }

  /** Undefined when there is no such file, also when a folder or a link is in its place. */
  identity(path: string): FileIdentity | undefined {
    try {
      return stat(this.#place(path));
    } catch (error) {
      if (error instanceof KumikoError && NO_FILE.includes(error.code)) return undefined;
      throw error;
    }
  }

  /**
   * The same, once nobody is writing it: whoever took half of a file for all of it would save over the other half.
   * What is known of it needs no waiting.
   */
  async atRest(path: string, known?: FileIdentity): Promise<FileIdentity | undefined> {
    let found = this.identity(path);
    for (let look = 1; found !== undefined && look < LOOKS; look++) {
      if (known !== undefined && sameIdentity(found, known)) return found;
      const hasShrunk = known !== undefined && found.size < known.size / 2;
      const rest = hasShrunk ? REST_SHRUNK : REST;
      const age = this.#clock.now() - Number(found.nanoseconds / 1_000_000n);
      if (age >= rest) return found;
      await this.#pause(Math.min(rest, rest - age));
      const again = this.identity(path);
      // Written by a clock that is ahead of ours.
      if (age < 0 && again !== undefined && sameIdentity(found, again)) return again;
      found = again;
    }
    return found;
  }

  /** Undefined when there is none; an error when it is there and cannot be read. */
  async read(path: string, limit: number): Promise<WholeFile | KumikoError | undefined> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await readWhole(this.#place(path), limit);
      } catch (error) {
        if (!(error instanceof KumikoError)) throw error;
        if (error.code !== "being_written" || attempt === PATIENCE) return error;
        await this.#pause();
      }
    }
  }

  /** Writes over what has that hash, or where nothing is; `moved` when something else is there. */
  async save(
    path: string,
    bytes: Uint8Array,
    hash: string | undefined,
  ): Promise<FileIdentity | "moved"> {
    try {
      const expected = hash === undefined ? "absent" : { hash };
      return (await save(this.#place(path), bytes, { expected })).stat;
    } catch (error) {
      if (isMoved(error)) return "moved";
      throw error;
    }
  }

  /** False when something else than that is there, or nothing. */
  async remove(path: string, hash: string): Promise<boolean> {
    try {
      await (
        await remove(this.#place(path), { expected: { hash } })
      ).settled;
      return true;
    } catch (error) {
      if (isMoved(error)) return false;
      throw error;
    }
  }

  /** Refuses to go over something that is there. */
  async move(from: string, to: string): Promise<void> {
    const place: Place = { folder: this.#folder, path: to, kind: "absent" };
    await move(this.#place(from), place).settled;
  }

  #place(path: string): Place {
    return { folder: this.#folder, path, kind: "file" };
  }

  #pause(milliseconds = PAUSE): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#timers.after(milliseconds, resolve);
    return promise;
  }
}

const MOVED = ["disk_moved", "file_absent", "being_written", "already_exists"];

function isMoved(error: unknown): boolean {
  return error instanceof KumikoError && MOVED.includes(error.code);
}
