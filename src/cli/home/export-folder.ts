import { randomUUID } from "node:crypto";
import { mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { KumikoError } from "../../base/index.ts";
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
 * complete.
 */
export class ExportFolder {
  readonly path: string;
  readonly #earlier: readonly string[];

  private constructor(path: string, earlier: readonly string[]) {
    this.path = path;
    this.#earlier = earlier;
  }

  /** Refuses a folder with something in it unless `force` says to write over an earlier export. */
  static async prepare(terminal: Terminal, name: string, force: boolean): Promise<ExportFolder> {
    const path = resolve(terminal.folder, name);
    return writing(path, async () => {
      await mkdir(path, { recursive: true });
      const content = await readdir(path);
      if (content.length === 0) return new ExportFolder(path, []);
      if (!force) {
        throw new KumikoError(
          "already_exists",
          `${path} is not empty. Name another folder, or write over it with --force.`,
          { path },
        );
      }
      const earlier = await earlierFiles(path);
      await rm(join(path, INDEX), { force: true });
      return new ExportFolder(path, earlier);
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
      await writing(this.path, () => rm(join(this.path, old), { force: true }));
    const text = JSON.stringify({ format: FORMAT, ...index, files }, undefined, 2);
    await this.#replace(INDEX, `${text}\n`);
  }

  async #replace(name: string, text: string): Promise<void> {
    const file = join(this.path, name);
    const folder = join(file, "..");
    const temporary = join(folder, `.kumiko-${randomUUID()}.tmp`);
    await writing(file, async () => {
      await mkdir(folder, { recursive: true });
      try {
        await using handle = await open(temporary, "wx");
        await handle.writeFile(text);
        await handle.sync();
        await rename(temporary, file);
      } catch (error) {
        await rm(temporary, { force: true });
        throw error;
      }
    });
  }
}

/** What an earlier export wrote here, as its own index says; names that lead elsewhere are not ours. */
async function earlierFiles(path: string): Promise<string[]> {
  try {
    const index: unknown = JSON.parse(await readFile(join(path, INDEX), "utf8"));
    if (typeof index !== "object" || index === null || !("files" in index)) return [];
    if (!("format" in index) || index.format !== FORMAT || !Array.isArray(index.files)) return [];
    return index.files
      .map(String)
      .filter((name) => !relative(path, join(path, name)).startsWith(".."));
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
      `${path} cannot be written: ${error.code}.`,
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
