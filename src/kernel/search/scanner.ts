import { Worker } from "node:worker_threads";
import { KumikoError, ThreadPool, type Timers, WorkerThread } from "../../base/index.ts";
import type {
  FoundLine,
  PatternReplacement,
  Replacement,
  ScanLimits,
  TextQuery,
} from "../../base/search/index.ts";
import type { ScanAnswer, SearchedText } from "../ports.ts";
import type { FromScan, ScanTask } from "./scan-messages.ts";

const THREADS = 4;
const THREADS_PER_CALLER = 2;

export interface ScanRequest {
  readonly query: TextQuery;
  readonly limits: ScanLimits;
  readonly caller: string;
  readonly milliseconds: number;
  readonly signal: AbortSignal | undefined;
}

/** Runs other people's patterns where they can be ended. Owns its threads. */
export class Scanner implements AsyncDisposable {
  readonly #timers: Timers;
  readonly #pool = new ThreadPool({
    threads: THREADS,
    perCaller: THREADS_PER_CALLER,
    start: () => new WorkerThread(startWorker()),
  });

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /** Looks through texts in their order, until a limit is reached or time is up. */
  async scan(request: ScanRequest, texts: readonly SearchedText[]): Promise<ScanAnswer> {
    const { query, limits, milliseconds } = request;
    const found = new Map<string, FoundLine[]>();
    const more = new Set<string>();
    const task: ScanTask = { scan: { query, limits, milliseconds, texts } };
    const end = await this.#run(request, task, (message) => {
      if ("found" in message) {
        for (const { block, line } of message.found) {
          const lines = found.get(block);
          if (lines === undefined) found.set(block, [line]);
          else lines.push(line);
        }
      }
      if ("more" in message) more.add(message.more);
      return "done" in message ? message.done : undefined;
    });
    return { found, more, truncated: end?.truncated ?? false, timedOut: end?.timedOut ?? true };
  }

  /** What a pattern matches in a text and what is to stand there; throws `timed_out` when it takes too long. */
  async replacements(
    request: Omit<ScanRequest, "query" | "limits">,
    text: string,
    wanted: PatternReplacement,
  ): Promise<readonly Replacement[]> {
    const task: ScanTask = { replace: { text, wanted } };
    const found = await this.#run(request, task, (message) =>
      "replacements" in message ? message.replacements : undefined,
    );
    if (found !== undefined) return found;
    throw new KumikoError(
      "timed_out",
      `"${wanted.pattern}" ran for ${request.milliseconds} ms without an end, and nothing was replaced. Nested repetitions such as (a+)+ take for ever: write it without, or name the text with old.`,
      { pattern: wanted.pattern, milliseconds: request.milliseconds },
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool[Symbol.asyncDispose]();
  }

  #run<Result>(
    { caller, milliseconds, signal }: Omit<ScanRequest, "query" | "limits">,
    task: ScanTask,
    receive: (message: FromScan) => Result | undefined,
  ): Promise<Result | undefined> {
    return this.#pool.run(caller, (thread) =>
      thread.converse(task, {
        milliseconds,
        timers: this.#timers,
        signal,
        receive: (message) => {
          const received = message as FromScan;
          if (!("refused" in received)) return receive(received);
          const { code, sentence, facts } = received.refused;
          throw new KumikoError(code, sentence, facts);
        },
      }),
    );
  }
}

function startWorker(): Worker {
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
  const script = new URL(`./scan-worker.${extension}`, import.meta.url);
  // What a pattern needs beyond this ends the thread, not the process.
  const resourceLimits = { maxOldGenerationSizeMb: 512 };
  return new Worker(script, { execArgv: [], name: "kumiko-scan", resourceLimits });
}
