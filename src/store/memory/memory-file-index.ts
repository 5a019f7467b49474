import type {
  FileFinding,
  FileIndex,
  FileReading,
  IdentifiedFile,
  ReadFiles,
} from "../../kernel/ports.ts";

interface Known {
  readonly identity: string;
  readonly hasText: boolean;
}

/** An index of files that only knows which have text: each of those may hold what is looked for. */
export class MemoryFileIndex implements FileIndex {
  readonly #readFiles: ReadFiles;
  readonly #folders = new Map<string, Map<string, Known>>();

  constructor(readFiles: ReadFiles) {
    this.#readFiles = readFiles;
  }

  async compare(
    folder: string,
    files: AsyncIterable<readonly IdentifiedFile[]>,
  ): Promise<string[]> {
    const before = this.#known(folder);
    const now = new Map<string, Known>();
    const other: string[] = [];
    for await (const page of files) {
      for (const { path, identity } of page) {
        const known = before.get(path);
        if (known !== undefined) now.set(path, known);
        if (known?.identity !== identity) other.push(path);
      }
    }
    this.#folders.set(folder, now);
    return other;
  }

  async take(reading: FileReading): Promise<{ path: string; unreadable: boolean }[]> {
    const known = this.#known(reading.folder);
    const found = await this.#readFiles(reading);
    for (const file of found) {
      if ("absent" in file) known.delete(file.path);
      if ("identity" in file)
        known.set(file.path, { identity: file.identity, hasText: "text" in file });
    }
    return found.map((file) => ({ path: file.path, unreadable: "unreadable" in file }));
  }

  read(reading: FileReading): Promise<FileFinding[]> {
    return this.#readFiles(reading);
  }

  async forget(folder: string, paths?: readonly string[]): Promise<void> {
    if (paths === undefined) this.#folders.delete(folder);
    for (const path of paths ?? []) this.#known(folder).delete(path);
  }

  async candidates(folder: string): Promise<string[]> {
    return [...this.#known(folder)].filter(([, { hasText }]) => hasText).map(([path]) => path);
  }

  async clear(): Promise<void> {
    this.#folders.clear();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.clear();
  }

  #known(folder: string): Map<string, Known> {
    const known = this.#folders.get(folder) ?? new Map<string, Known>();
    this.#folders.set(folder, known);
    return known;
  }
}
