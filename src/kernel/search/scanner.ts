import { Worker } from "node:worker_threads";
import {
  KumikoError,
  type SearchCall,
  SearchThreads,
  type Timers,
  WorkerThread,
} from "../../base/index.ts";
import {
  type FoundLine,
  type PatternReplacement,
  type Replacement,
  type ScanLimits,
  type TextQuery,
  unitsOf,
} from "../../base/search/index.ts";
import type { ScanAnswer, SearchedText } from "../ports.ts";
import type { FromScan, ScanTask } from "./scan-messages.ts";

export interface ScanRequest extends SearchCall {
  readonly query: TextQuery;
  readonly limits: ScanLimits;
  /** How long a pattern may take in one text. */
  readonly slice: number;
  /** Units that were found elsewhere for the same answer. */
  readonly shown?: number;
}

/** Runs other people's patterns where they can be ended. Owns its threads. */
export class Scanner implements AsyncDisposable {
  readonly #threads: SearchThreads;

  constructor(timers: Timers) {
    this.#threads = new SearchThreads(timers, () => new WorkerThread(startWorker()));
  }

  /** Looks through texts in their order, until a limit is reached or time is up. */
  async scan(request: ScanRequest, texts: readonly SearchedText[]): Promise<ScanAnswer> {
    const { query, limits, slice } = request;
    const found = new Map<string, FoundLine[]>();
    const more = new Set<string>();
    const slow: string[] = [];
    let shown = request.shown ?? 0;
    const end = await this.#threads.search(request, {
      slice,
      slow,
      task: (part): ScanTask => {
        const begin = texts.findIndex(({ block }) => block === part.behind) + 1;
        const left = { ...limits, texts: limits.texts - found.size, shown };
        return { scan: { query, limits: left, part, texts: texts.slice(begin) } };
      },
      receive: (received) => {
        const message = received as FromScan;
        if ("found" in message) {
          for (const { block, line } of message.found) {
            shown += unitsOf(line);
            const lines = found.get(block);
            if (lines === undefined) found.set(block, [line]);
            else lines.push(line);
          }
        }
        if ("more" in message) more.add(message.more);
        if ("slow" in message) slow.push(message.slow);
        checkNotRefused(message);
        return "done" in message ? message.done : undefined;
      },
    });
    const { truncated = false, timedOut = true } = end ?? {};
    return { found, more, truncated, timedOut, slow };
  }

  /** What a pattern matches in a text and what is to stand there; throws `timed_out` when it takes too long. */
  async replacements(
    request: SearchCall,
    text: string,
    wanted: PatternReplacement,
  ): Promise<readonly Replacement[]> {
    const task: ScanTask = { replace: { text, wanted } };
    const found = await this.#threads.run(request, task, (received) => {
      const message = received as FromScan;
      checkNotRefused(message);
      return "replacements" in message ? message.replacements : undefined;
    });
    if (found !== undefined) return found;
    throw new KumikoError(
      "timed_out",
      `"${wanted.pattern}" ran for ${request.milliseconds} ms without an end, and nothing was replaced. Nested repetitions such as (a+)+ take for ever: write it without, or name the text with old.`,
      { pattern: wanted.pattern, milliseconds: request.milliseconds },
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#threads[Symbol.asyncDispose]();
  }
}

function checkNotRefused(message: FromScan): void {
  if (!("refused" in message)) return;
  const { code, sentence, facts } = message.refused;
  throw new KumikoError(code, sentence, facts);
}

function startWorker(): Worker {
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
  const script = new URL(`./scan-worker.${extension}`, import.meta.url);
  // What a pattern needs beyond this ends the thread, not the process.
  const resourceLimits = { maxOldGenerationSizeMb: 512 };
  return new Worker(script, { execArgv: [], name: "kumiko-scan", resourceLimits });
}
