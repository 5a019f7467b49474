import { Worker } from "node:worker_threads";
import { AskedThread, type Timers } from "../../../base/index.ts";
import type { TextQuery } from "../../../base/search/index.ts";
import type { FileFinding, FileIndex, FileReading, IdentifiedFile } from "../../../kernel/ports.ts";
import type { FileIndexQuestion } from "./file-indexer.ts";

export interface SqliteFileIndexOptions {
  readonly file: string;
  readonly timers: Timers;
  /** A module with `readFiles`, which the thread loads. */
  readonly reader: URL;
}

/** Milliseconds without a question after which the thread ends. */
const PATIENCE = 10_000;
/** One that took in many files has grown and stays as large: it ends sooner, and searches start a small one. */
const PATIENCE_WHEN_LARGE = 1000;
const MANY = 1000;

/** An index of files in a database of its own, kept by a thread. Owns the thread. */
export class SqliteFileIndex implements FileIndex {
  readonly #thread: AskedThread;
  /** By the thread that is at work. */
  #taken = 0;

  /** Nothing is opened or made before it is asked for something. */
  constructor(options: SqliteFileIndexOptions) {
    const start = (): Worker => {
      this.#taken = 0;
      return startIndexer(options);
    };
    this.#thread = new AskedThread(start, options.timers, () =>
      this.#taken < MANY ? PATIENCE : PATIENCE_WHEN_LARGE,
    );
  }

  async compare(
    folder: string,
    files: AsyncIterable<readonly IdentifiedFile[]>,
  ): Promise<string[]> {
    const other: string[] = [];
    await this.#ask({ compare: folder });
    for await (const page of files) other.push(...(await this.#ask<string[]>({ page, folder })));
    await this.#ask({ compared: folder });
    return other;
  }

  take(reading: FileReading): Promise<{ path: string; unreadable: boolean }[]> {
    const taking = this.#ask<{ path: string; unreadable: boolean }[]>({ take: reading });
    this.#taken += reading.paths.length;
    return taking;
  }

  read(reading: FileReading): Promise<FileFinding[]> {
    return this.#ask({ read: reading });
  }

  async forget(folder: string, paths?: readonly string[]): Promise<void> {
    await this.#ask({ forget: paths, folder });
  }

  candidates(folder: string, query: TextQuery): Promise<string[]> {
    return this.#ask({ candidates: query, folder });
  }

  async clear(): Promise<void> {
    await this.#ask({ clear: true });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#thread[Symbol.asyncDispose]();
  }

  #ask<Answer>(question: FileIndexQuestion): Promise<Answer> {
    return this.#thread.ask<Answer>(question);
  }
}

function startIndexer({ file, reader }: SqliteFileIndexOptions): Worker {
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
  const script = new URL(`./file-indexer.${extension}`, import.meta.url);
  return new Worker(script, {
    workerData: { file, reader: reader.href },
    execArgv: [],
    name: "kumiko-files",
    // Measured: with less, texts outlive it and fill the heap; with more, it keeps what it grew to.
    resourceLimits: { maxYoungGenerationSizeMb: 4 },
  });
}
