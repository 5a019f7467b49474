import { closeSync, constants, fsync, lstatSync, mkdirSync, openSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { KumikoError } from "../base/index.ts";
import { hasCode, isSystemError, unreadable, unwritable } from "./disk-errors.ts";
import type { FolderHandle } from "./folder-handle.ts";

/** A name in an open folder, reached from the root through no link. */
export class Spot implements Disposable {
  readonly path: string;
  readonly name: string;
  readonly #root: FolderHandle;
  readonly #above: readonly string[];
  /** Of the folders above, from the topmost on. */
  readonly #handles: FolderHandle[] = [];
  /** Which of them were made by this. */
  readonly #made: boolean[] = [];

  private constructor(root: FolderHandle, names: readonly string[]) {
    this.#root = root;
    this.path = names.join("/");
    this.name = names.at(-1)!;
    this.#above = names.slice(0, -1);
  }

  static open(root: FolderHandle, names: readonly string[], make: boolean): Spot {
    // A place always has plain names; whoever made one up by hand does not get out with it.
    if (names.some((name) => name === "" || name === "." || name === "..")) {
      throw new KumikoError("outside", `${names.join("/")} is not the path of a place.`, {
        path: names.join("/"),
      });
    }
    const spot = new Spot(root, names);
    try {
      spot.#descend(make);
      return spot;
    } catch (error) {
      spot[Symbol.dispose]();
      throw error;
    }
  }

  /** What to call the system with for another name in the same folder. */
  beside(name: string): string {
    return this.#folder.at(name);
  }

  get target(): string {
    return this.#folder.at(this.name);
  }

  /** Refuses when the folder was moved since, so that nothing is put where it does not belong any more. */
  stands(): void {
    // What is in the root itself goes wherever that goes.
    if (this.#handles.length === 0) return;
    const wanted = join(this.#root.whereabouts(), ...this.#above);
    if (this.#whereabouts() !== wanted) throw moved(this.path);
  }

  /**
   * Resolves when the folder's entries are on the disk, and those of the folders that were made with it. A folder that
   * may be written but not read cannot be synced, and says so here.
   */
  async settle(): Promise<void> {
    const first = this.#made.indexOf(true);
    const changed = [this.#root, ...this.#handles].slice(first === -1 ? -1 : first);
    const syncs: Promise<void>[] = [];
    try {
      // All are opened at once: the spot may be disposed before the disk answers.
      for (const handle of changed) syncs.push(syncOne(openFolder(handle)));
    } catch (error) {
      await Promise.allSettled(syncs);
      throw unwritable(error, this.path);
    }
    const failed = (await Promise.allSettled(syncs)).find((one) => one.status === "rejected");
    if (failed !== undefined) throw unwritable(failed.reason, this.path);
  }

  /** Takes back the folders that were made, as long as nobody put anything there. */
  unmake(): void {
    while (this.#made.at(-1) === true) {
      this.#made.pop();
      this.#handles.pop()![Symbol.dispose]();
      try {
        rmdirSync(this.#folder.at(this.#above[this.#handles.length]!));
      } catch (error) {
        if (!isSystemError(error)) throw error;
        return;
      }
    }
  }

  [Symbol.dispose](): void {
    for (const handle of this.#handles) handle[Symbol.dispose]();
  }

  get #folder(): FolderHandle {
    return this.#handles.at(-1) ?? this.#root;
  }

  #whereabouts(): string | undefined {
    try {
      return this.#folder.whereabouts();
    } catch (error) {
      if (hasCode(error, "ENOENT", "ENOTDIR", "ELOOP")) return undefined;
      throw error;
    }
  }

  #descend(make: boolean): void {
    for (const name of this.#above) {
      try {
        const isNew = make && this.#make(name);
        this.#handles.push(this.#folder.open(name));
        this.#made.push(isNew);
      } catch (error) {
        this.unmake();
        throw this.#refused(error, make);
      }
    }
    this.stands();
  }

  /** True when there was nothing of that name. */
  #make(name: string): boolean {
    const target = this.#folder.at(name);
    if (lstatSync(target, { throwIfNoEntry: false }) !== undefined) return false;
    try {
      mkdirSync(target);
      return true;
    } catch (error) {
      if (hasCode(error, "EEXIST")) return false;
      throw error;
    }
  }

  #refused(error: unknown, make: boolean): unknown {
    if (hasCode(error, "ENOTDIR", "ELOOP")) return moved(this.path);
    if (make) return unwritable(error, this.path);
    return hasCode(error, "ENOENT") ? absent(this.path) : unreadable(error, this.path);
  }
}

export function absent(path: string): KumikoError {
  return new KumikoError("file_absent", `There is no file ${path} on disk.`, { path });
}

export function moved(path: string): KumikoError {
  return new KumikoError(
    "disk_moved",
    `${path} is not what it was on disk. Read it again and repeat the change.`,
    { path },
  );
}

function openFolder(handle: FolderHandle): number {
  return openSync(handle.at("."), constants.O_RDONLY | constants.O_DIRECTORY);
}

async function syncOne(descriptor: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  fsync(descriptor, (error) => (error === null ? resolve() : reject(error)));
  try {
    await promise;
  } catch (error) {
    // Some network file systems have nothing to sync in a folder and say so.
    if (!hasCode(error, "EINVAL", "ENOTSUP")) throw error;
  } finally {
    closeSync(descriptor);
  }
}
