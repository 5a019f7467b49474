import { nameOf, parentOf } from "./ignored.ts";
import { type Stamp, stampOf } from "./look.ts";

/** A folder as it was when it was last listed. */
export interface KnownFolder {
  inode: bigint;
  /** When a name in it last came or went; zero when it must be listed again to know. */
  nanoseconds: bigint;
  readonly files: Map<string, Stamp>;
  readonly folders: Set<string>;
}

/** What was last told of every file of a tree: what differs from it has not been told yet. */
export class Known {
  readonly #folders = new Map<string, KnownFolder>();

  constructor() {
    this.putFolder("", 0n);
  }

  file(path: string): Stamp | undefined {
    return this.#folders.get(parentOf(path))?.files.get(nameOf(path));
  }

  folder(path: string): KnownFolder | undefined {
    return this.#folders.get(path);
  }

  putFile(path: string, stamp: Stamp): void {
    const parent = parentOf(path);
    const folder = this.#folders.get(parent) ?? this.putFolder(parent, 0n);
    folder.files.set(nameOf(path), stampOf(stamp));
  }

  putFolder(path: string, inode: bigint): KnownFolder {
    const known = this.#folders.get(path);
    if (known !== undefined) {
      known.inode = inode;
      return known;
    }
    const folder = { inode, nanoseconds: 0n, files: new Map(), folders: new Set<string>() };
    this.#folders.set(path, folder);
    if (path !== "") {
      const parent = parentOf(path);
      (this.#folders.get(parent) ?? this.putFolder(parent, 0n)).folders.add(nameOf(path));
    }
    return folder;
  }

  dropFile(path: string): void {
    this.#folders.get(parentOf(path))?.files.delete(nameOf(path));
  }

  /** With everything below it. */
  dropFolder(path: string): void {
    for (const name of this.#folders.get(path)?.folders ?? []) this.dropFolder(below(path, name));
    this.#folders.delete(path);
    if (path !== "") this.#folders.get(parentOf(path))?.folders.delete(nameOf(path));
  }

  /** All files below a folder. */
  *files(folder = ""): Generator<[path: string, stamp: Stamp]> {
    const known = this.#folders.get(folder);
    if (known === undefined) return;
    for (const [name, stamp] of known.files) yield [below(folder, name), stamp];
    for (const name of known.folders) yield* this.files(below(folder, name));
  }

  /** All folders below a folder, the inner ones first. */
  *folders(folder: string): Generator<string> {
    for (const name of this.#folders.get(folder)?.folders ?? []) {
      const path = below(folder, name);
      yield* this.folders(path);
      yield path;
    }
  }
}

export function below(folder: string, name: string): string {
  return folder === "" ? name : `${folder}/${name}`;
}
