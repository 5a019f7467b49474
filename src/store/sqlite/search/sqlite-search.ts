import { statSync } from "node:fs";
import { Worker } from "node:worker_threads";
import {
  KumikoError,
  realTimers,
  SearchThreads,
  type Timers,
  WorkerThread,
} from "../../../base/index.ts";
import { type FoundLine, unitsOf } from "../../../base/search/index.ts";
import type {
  FoundBlock,
  SearchAnswer,
  SearchHelp,
  SearchIndex,
  SearchRequest,
} from "../../../kernel/ports.ts";
import { closedStore } from "../../contract.ts";
import { NativeGate } from "../native-gate.ts";
import { deleteIndex, indexFileOf } from "./index-file.ts";
import { IndexThread } from "./index-thread.ts";
import type { FoundInBlock, FromSearcher, ToSearcher } from "./search-messages.ts";

/** So much new text is indexed although nobody has searched. */
const UNITS_WAITING = 1024 * 1024;

export interface SqliteSearchOptions {
  readonly file: string;
  /** Told when the index had to be given up; it is built again. */
  warn(sentence: string): void;
  readonly timers?: Timers | undefined;
}

/** Search over the embedded store: threads that look through texts, one that keeps the index. Owns them. */
export class SqliteSearch implements SearchIndex, AsyncDisposable {
  readonly #options: SqliteSearchOptions;
  readonly #threads: SearchThreads;
  #indexer: IndexThread | undefined;
  /** Blocks whose keyframes were put since the indexer was last told, each with its length, and that of all. */
  #put = new Map<string, number>();
  #units = 0;
  #rewriting = 0;
  #rebuilding: Promise<void> | undefined;
  #closed = false;

  constructor(options: SqliteSearchOptions) {
    this.#options = options;
    const timers = options.timers ?? realTimers;
    this.#threads = new SearchThreads(timers, () => startSearcher(options.file));
  }

  async search(request: SearchRequest, help: SearchHelp): Promise<SearchAnswer> {
    if (this.#closed) throw closedStore();
    this.#tell();
    const collected = new Collected();
    const { signal: _, caller: __, milliseconds: ___, slice, ...wanted } = request;
    const end = await this.#threads.search(request, {
      slice,
      slow: collected.slow,
      task: (part): ToSearcher => {
        const { shown, blocks } = collected;
        return { search: { ...wanted, texts: request.texts - blocks, shown, part } };
      },
      receive: (message, thread) => {
        const received = message as FromSearcher;
        if ("need" in received) void supply(thread, received.need, help);
        if ("unusable" in received) this.#rebuild(received.unusable);
        return collected.receive(received);
      },
    });
    // The first one has it checked, too.
    if (this.#indexer === undefined || (end?.unindexed ?? 0) > 0) void this.#index();
    return collected.answer(end);
  }

  async settled(): Promise<void> {
    await this.#rebuilding;
    if (this.#closed) throw closedStore();
    const indexing = this.#index();
    if (this.#indexer === undefined) return;
    await this.#indexer.wait(indexing);
  }

  /** A keyframe was put: it will be indexed when there is enough, or when somebody searches. */
  noted(block: string, units: number): void {
    if (this.#closed) return;
    // Put again and again, it is still indexed once.
    this.#units += units - (this.#put.get(block) ?? 0);
    this.#put.set(block, units);
    if (this.#units >= UNITS_WAITING) {
      if (this.#indexer === undefined) void this.#index();
      else this.#tell();
    }
  }

  /**
   * Runs what takes text out of the journal. Before it the index is deleted, so that nothing of the text is
   * left whatever happens, and behind it no thread is left that has read it.
   */
  async without<Result>(task: () => Promise<Result>): Promise<Result> {
    this.#rewriting += 1;
    try {
      await this.#rebuilding;
      await this.#close();
      deleteIndex(this.#options.file);
      return await task();
    } finally {
      await this.#threads.retire();
      this.#rewriting -= 1;
    }
  }

  /** Bytes on disk. */
  size(): number {
    const file = indexFileOf(this.#options.file);
    return ["", "-wal"]
      .map((ending) => statSync(`${file}${ending}`, { throwIfNoEntry: false })?.size ?? 0)
      .reduce((sum, bytes) => sum + bytes, 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    await this.#rebuilding;
    await this.#close();
  }

  async #close(): Promise<void> {
    const indexer = this.#indexer;
    this.#indexer = undefined;
    await Promise.all([this.#threads.retire(), indexer?.[Symbol.asyncDispose]()]);
  }

  /** Compares all keyframes with the index. */
  #index(): Promise<void> {
    const waits = this.#rewriting > 0 || this.#rebuilding !== undefined;
    if (waits || this.#closed) return Promise.resolve();
    this.#forgetPut();
    if (this.#indexer === undefined || this.#indexer.ended) {
      this.#indexer = new IndexThread(this.#options.file, {
        dropped: (why) => {
          this.#warn(`could not be used and was deleted (${why})`);
          // They still look at the old one.
          void this.#threads.retire();
        },
        failed: (why) => this.#warn(`could not be written (${why})`),
      });
    }
    return this.#indexer.index(undefined);
  }

  /** Hands on what was put since. */
  #tell(): void {
    if (this.#indexer === undefined || this.#indexer.ended || this.#put.size === 0) return;
    const blocks = [...this.#put.keys()];
    this.#forgetPut();
    void this.#indexer.index(blocks);
  }

  #forgetPut(): void {
    this.#put = new Map();
    this.#units = 0;
  }

  /** A search met something in the index that its own checks do not find: away with it. */
  #rebuild(why: string): void {
    if (this.#rebuilding !== undefined || this.#rewriting > 0) return;
    this.#warn(`is damaged and is deleted (${why})`);
    this.#rebuilding = this.#startOver();
  }

  async #startOver(): Promise<void> {
    await this.#close();
    deleteIndex(this.#options.file);
    this.#rebuilding = undefined;
    void this.#index();
  }

  /** Loudly: an index that is lost again and again says something about the disk. */
  #warn(what: string): void {
    this.#options.warn(
      `The search index ${indexFileOf(this.#options.file)} ${what}. Searches are complete without it, only slower; it is built anew.`,
    );
  }
}

async function supply(thread: WorkerThread, block: string, help: SearchHelp): Promise<void> {
  let answer: ToSearcher;
  try {
    const { version, text } = await help.current(block);
    answer = { text: { version, text } };
  } catch (error) {
    answer = { unreadable: error instanceof Error ? error.message : String(error) };
  }
  if (!thread.ended) thread.post(answer);
}

/** What a searcher has told so far: also the answer when it has to be ended. */
class Collected {
  readonly #found = new Map<string, FoundInBlock & { lines: FoundLine[] }>();
  readonly #more = new Set<string>();
  /** By block: a part that goes on meets what the one before it met. */
  readonly #unreadable = new Map<string, string>();
  readonly slow: string[] = [];
  /** The units of all lines. */
  shown = 0;

  get blocks(): number {
    return this.#found.size;
  }

  receive(message: FromSearcher): Done | undefined {
    if ("found" in message) {
      for (const found of message.found) {
        this.shown += unitsOf(found.line);
        const known = this.#found.get(found.block);
        if (known === undefined) this.#found.set(found.block, { ...found, lines: [found.line] });
        else known.lines.push(found.line);
      }
    }
    if ("more" in message) this.#more.add(message.more);
    if ("slow" in message) this.slow.push(message.slow);
    if ("unreadable" in message) {
      this.#unreadable.set(message.unreadable.block, message.unreadable.why);
    }
    if ("refused" in message) {
      const { code, sentence, facts } = message.refused;
      throw new KumikoError(code, sentence, facts);
    }
    return "done" in message ? message.done : undefined;
  }

  answer(end: Done | undefined): SearchAnswer {
    const found = [...this.#found.values()].map(({ block, path, version, lines }): FoundBlock => ({
      block,
      path,
      version,
      lines,
      truncated: this.#more.has(block),
    }));
    return {
      found,
      truncated: end?.truncated ?? false,
      timedOut: end?.timedOut ?? true,
      slow: this.slow,
      unreadable: Array.from(this.#unreadable, ([block, why]) => ({ block, why })),
    };
  }
}

type Done = Extract<FromSearcher, { done: unknown }>["done"];

function startSearcher(file: string): WorkerThread {
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
  const script = new URL(`./searcher.${extension}`, import.meta.url);
  const gate = new NativeGate();
  const worker = new Worker(script, {
    workerData: { file, gate: gate.shared },
    execArgv: [],
    name: "kumiko-search",
    // What a pattern or a result needs beyond this ends the thread, not the process.
    resourceLimits: { maxOldGenerationSizeMb: 512 },
  });
  return new WorkerThread(worker, () => gate.stop());
}
