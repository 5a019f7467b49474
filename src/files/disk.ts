import { KumikoError, type Timers } from "../base/index.ts";
import type { Folder, Place } from "./contained.ts";
import { type FileIdentity, move, readWhole, remove, save, stat } from "./disk-file.ts";
import type { WholeFile } from "./whole-file.ts";

/** How often, and after how many milliseconds, a file is read again that is just being written. */
const PATIENCE = 20;
const PAUSE = 10;

/** The files of one folder by their paths, with what happens to them told as values. */
export class Disk {
  readonly #folder: Folder;
  readonly #timers: Timers;

  constructor(folder: Folder, timers: Timers) {
    this.#folder = folder;
    this.#timers = timers;
  }

  /** What somebody means, as the path by which a file is known here. */
  resolve(given: string): string {
    return this.#folder.resolve(given).path;
  }

  /** Undefined when there is no such file. */
  identity(path: string): FileIdentity | undefined {
    return stat(this.#place(path));
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

  #pause(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#timers.after(PAUSE, resolve);
    return promise;
  }
}

const MOVED = ["disk_moved", "file_absent", "being_written", "already_exists"];

function isMoved(error: unknown): boolean {
  return error instanceof KumikoError && MOVED.includes(error.code);
}
