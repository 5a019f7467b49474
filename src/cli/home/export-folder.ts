import { randomUUID } from "node:crypto";
import { open, readdir, readFile, realpath, rename, rm } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { makeFolder } from "../../app/make-folder.ts";
import { KumikoError } from "../../base/index.ts";
import { containedFolder } from "../contained-path.ts";
import type { Terminal } from "../terminal.ts";
import { isMissing, isSystemError } from "../text-file.ts";

const INDEX = "index.json";
const FORMAT = "kumiko-export-1";
const AT_ONCE = 16;

export interface ExportFile {
  /** Below the folder. */
  readonly name: string;
  text(): Promise<string | undefined>;
}

/**
 * A folder of plain files and an index of them. The index is written last: a folder without one is not
 * complete. What is in the folder already may have been put there by anyone: nothing outside of it is written
 * or removed, whatever links it holds.
 */
export class ExportFolder {
  readonly path: string;
  /** The same with all links followed. */
  readonly #root: string;
  readonly #earlier: readonly string[];

  private constructor(path: string, root: string, earlier: readonly string[]) {
    this.path = path;
    this.#root = root;
    this.#earlier = earlier;
  }

  /** Refuses a folder with something in it unless `force` says to write over an earlier export. */
  static async prepare(terminal: Terminal, name: string, force: boolean): Promise<ExportFolder> {
    const path = resolve(terminal.folder, name);
    return writing(path, async () => {
      await makeFolder(path);
      const root = await realpath(path);
      const content = await readdir(root);
      if (content.length === 0) return new ExportFolder(path, root, []);
      if (!force) {
        throw new KumikoError(
          "already_exists",
          `${path} is not empty. Name another folder, or write over it with --force.`,
          { path },
        );
      }
      const earlier = await earlierFiles(root);
      await rm(join(root, INDEX), { force: true });
      return new ExportFolder(path, root, earlier);
    });
  }

  /** Each file appears whole or not at all. A text that is undefined gets no file. */
  async write(
    files: readonly ExportFile[],
    signal: AbortSignal,
    progress: (done: number) => Promise<void>,
  ): Promise<void> {
    const waiting = files.values();
    let done = 0;
    const worker = async (): Promise<void> => {
      for (const file of waiting) {
        if (signal.aborted) throw interrupted(this.path, done, files.length);
        const text = await file.text();
        if (text !== undefined) await this.#replace(file.name, text);
        done += 1;
        await progress(done);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
  }

  /** Files of an earlier export that are not part of this one go; nobody else's are touched. */
  async finish(files: readonly string[], index: object): Promise<void> {
    const kept = new Set(files);
    for (const old of this.#earlier.filter((name) => !kept.has(name)))
      await writing(this.path, () => this.#remove(old));
    const text = JSON.stringify({ format: FORMAT, ...index, files }, undefined, 2);
    await this.#replace(INDEX, `${text}\n`);
  }

  /** Takes back what was written, when something else is to be written in its place. */
  async withdraw(files: readonly string[]): Promise<void> {
    for (const name of files) await writing(this.path, () => this.#remove(name));
  }

  /** A name that leads elsewhere is not ours. */
  async #remove(name: string): Promise<void> {
    const folder = await containedFolder(this.#root, name).catch((error: unknown) => {
      if (error instanceof KumikoError) return undefined;
      throw error;
    });
    if (folder !== undefined) await rm(join(folder, basename(name)), { force: true });
  }

  /** Asked again before each step: someone may put a link in the place of a folder meanwhile. */
  async #folderOf(name: string): Promise<string> {
    const folder = await containedFolder(this.#root, name);
    if (folder !== undefined) return folder;
    const path = join(this.path, name);
    throw new KumikoError(
      "file_unwritable",
      `${path} leads out of ${this.path} through a link: remove the link, or export to another folder.`,
      { path, reason: "link" },
    );
  }

  async #replace(name: string, text: string): Promise<void> {
    await writing(join(this.path, name), async () => {
      await makeFolder(await this.#folderOf(name));
      const folder = await this.#folderOf(name);
      const temporary = join(folder, `.kumiko-${randomUUID()}.tmp`);
      try {
        await using handle = await open(temporary, "wx");
        await handle.writeFile(text);
        await handle.sync();
        await rename(temporary, join(await this.#folderOf(name), basename(name)));
      } catch (error) {
        await rm(temporary, { force: true });
        throw error;
      }
    });
  }
}

/** What an earlier export wrote here, as its own index says. */
async function earlierFiles(path: string): Promise<string[]> {
  try {
    const index: unknown = JSON.parse(await readFile(join(path, INDEX), "utf8"));
    if (typeof index !== "object" || index === null || !("files" in index)) return [];
    if (!("format" in index) || index.format !== FORMAT || !Array.isArray(index.files)) return [];
    return index.files.filter((name) => typeof name === "string");
  } catch (error) {
    if (isMissing(error) || error instanceof SyntaxError) return [];
    throw error;
  }
}

async function writing<Result>(path: string, run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    if (!isSystemError(error)) throw error;
    throw new KumikoError(
      "file_unwritable",
      `${path} cannot be written: ${error.message}. Name another folder, or remove what stands in the way.`,
      { path, reason: error.code },
      { cause: error },
    );
  }
}

function interrupted(path: string, done: number, of: number): KumikoError {
  return new KumikoError(
    "file_unwritable",
    `Interrupted: ${path} has ${done} of ${of} files and no index.`,
    { path, written: done, interrupted: true },
  );
}
