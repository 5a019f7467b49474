import { closeSync, constants, existsSync, openSync, readlinkSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { KumikoError } from "../base/index.ts";

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
/** Linux's number on every processor Node runs on; Node does not name it. Such a handle needs no right to read. */
const O_PATH = 0o10000000;

/** Whether names can be looked up below an open folder, whatever its path leads to by now. */
export const hasHandles = process.platform === "linux" && existsSync("/proc/self/fd");

/**
 * An open folder below which names are looked up. On Linux `at` goes through the handle: a folder that is moved away or
 * swapped for a link afterwards does not change what it means.
 *
 * Elsewhere Node has no such way, and a path stands in. That is weaker: `stands` finds a folder that was swapped when it
 * is asked, before and after each use, but not one that was swapped and swapped back between the two.
 */
export class FolderHandle implements Disposable {
  readonly #path: string;
  readonly #descriptor: number | undefined;
  #closed = false;

  private constructor(path: string, descriptor: number | undefined) {
    this.#path = path;
    this.#descriptor = descriptor;
  }

  /** A real path. The caller owns the handle. */
  static open(path: string, handles: boolean): FolderHandle {
    if (!handles) {
      closeSync(openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
      return new FolderHandle(path, undefined);
    }
    return new FolderHandle(path, openSync(path, O_PATH | O_DIRECTORY | O_NOFOLLOW));
  }

  /** What stands at its path now, held in the same way. The caller owns the handle. */
  again(): FolderHandle {
    return FolderHandle.open(this.#path, this.#descriptor !== undefined);
  }

  /** A folder in this one, never through a link. The caller owns the handle. */
  open(name: string): FolderHandle {
    const path = join(this.#path, name);
    if (this.#descriptor === undefined) {
      closeSync(openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
      return new FolderHandle(path, undefined);
    }
    return new FolderHandle(path, openSync(this.at(name), O_PATH | O_DIRECTORY | O_NOFOLLOW));
  }

  /** What to call the system with for a name in this folder; "." is the folder itself. */
  at(name: string): string {
    // A closed descriptor's number may be another folder's by now.
    if (this.#closed) throw closed(this.#path);
    if (this.#descriptor === undefined) return join(this.#path, name);
    return `/proc/self/fd/${this.#descriptor}/${name}`;
  }

  /** Where it stands now. */
  whereabouts(): string {
    if (this.#descriptor === undefined) return realpathSync.native(this.#path);
    return readlinkSync(`/proc/self/fd/${this.#descriptor}`);
  }

  [Symbol.dispose](): void {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
  }
}

/** For whoever began before it was closed. */
function closed(path: string): KumikoError {
  return new KumikoError(
    "root_gone",
    `${path} was just unmounted, or mounted in another way: try again.`,
    { path },
  );
}
