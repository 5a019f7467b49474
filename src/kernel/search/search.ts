import { realTimers, type Timers } from "../../base/index.ts";
import {
  compilePattern,
  type FoundLine,
  type Replacement,
  type ScanLimits,
  TextMatcher,
  type TextQuery,
  TextScan,
} from "../../base/search/index.ts";
import type { FileTextPage, FileTextQuery } from "../files-port.ts";
import type { Invocation } from "../invocation.ts";
import type { Keyframe, SearchAnswer, SearchHelp, Store } from "../ports.ts";
import { type EverywhereAnswer, searchFiles } from "./file-search.ts";
import { Scanner } from "./scanner.ts";

/** How long one search may take, in milliseconds. */
const DEADLINE = 2_000;
/** A pattern over many blocks may take this part of it in each. */
const SLICES = 8;
/** A literal in a shorter text is found sooner here than a thread is told about it. */
const SHORT_TEXT = 256 * 1024;

export interface SearchOptions {
  readonly deadline?: number | undefined;
  /** Real ones, unless a test has its own: what is waited for happens on another thread. */
  readonly timers?: Timers | undefined;
}

export interface SearchPorts {
  readonly store: Store;
  /** A block's durable text, now or at a version. */
  text(block: string, version?: number): Promise<Keyframe>;
  /** Puts on disk what still waits to be appended anywhere. */
  settle(): Promise<void>;
  /** A search had to ask for the block's text: kept whole, it could be indexed. */
  asked(block: string): void;
  /** Texts of files that have no blocks, for whoever may read them. */
  files(
    invocation: Invocation,
    wanted: FileTextQuery,
  ): Iterable<never> | AsyncIterable<FileTextPage>;
  /** Whether what is found in a block may be told to the caller. */
  mayShow(invocation: Invocation, block: string): boolean;
  /** All blocks of which nothing may be told. */
  withheld(invocation: Invocation): Promise<ReadonlySet<string>>;
}

/** What to look for in which blocks; every limit is the caller's. */
export interface KernelSearch extends ScanLimits {
  readonly query: TextQuery;
  readonly kinds: readonly string[] | undefined;
  readonly context: string | undefined;
  readonly pathPrefix: string | undefined;
}

export interface BlockSearch {
  readonly block: string;
  readonly version: number | undefined;
  readonly query: TextQuery;
  readonly contextLines: number;
  readonly lines: number;
}

export interface FoundInText {
  readonly version: number;
  readonly lines: readonly FoundLine[];
  readonly truncated: boolean;
  readonly timedOut: boolean;
}

export interface PatternInBlock {
  readonly block: string;
  readonly version: number | undefined;
  readonly pattern: string;
  readonly ignoreCase: boolean;
  readonly replacement: string;
  readonly most: number;
}

/** Finds text in blocks. Other people's patterns run on threads that are ended in time. */
export class Search implements AsyncDisposable {
  readonly #ports: SearchPorts;
  readonly #deadline: number;
  readonly #scanner: Scanner;

  constructor(ports: SearchPorts, options: SearchOptions = {}) {
    this.#ports = ports;
    this.#deadline = options.deadline ?? DEADLINE;
    this.#scanner = new Scanner(options.timers ?? realTimers);
  }

  async inBlock(invocation: Invocation, wanted: BlockSearch): Promise<FoundInText> {
    const { block, query, contextLines, lines: linesPerText } = wanted;
    const matcher = new TextMatcher(query);
    const { version, text } = await this.#ports.text(block, wanted.version);
    const limits: ScanLimits = { contextLines, linesPerText, texts: 1 };
    if (matcher.isLiteral && text.length <= SHORT_TEXT) {
      return { version, ...scanHere(matcher, limits, text) };
    }
    const request = { ...this.#call(invocation), slice: this.#deadline, query, limits };
    const scanned = await this.#scanner.scan(request, [{ block, text }]);
    const lines = scanned.found.get(block) ?? [];
    const truncated = scanned.truncated || scanned.more.has(block);
    return { version, lines, truncated, timedOut: scanned.timedOut || scanned.slow.length > 0 };
  }

  /** In blocks, and behind them in files that have none. */
  async everywhere(invocation: Invocation, wanted: KernelSearch): Promise<EverywhereAnswer> {
    // Refused here, before anyone is asked for anything.
    compilePattern(wanted.query);
    const { query, contextLines, linesPerText, texts, kinds } = wanted;
    const files = kinds?.includes("file") === false ? [] : this.#ports.files(invocation, wanted);
    const blocks = await this.#blocks(invocation, wanted);
    if (blocks.truncated || blocks.timedOut) return { ...blocks, files: [], indexing: undefined };
    const request = {
      ...this.#call(invocation),
      slice: this.#deadline / SLICES,
      query,
      limits: { contextLines, linesPerText, texts },
    };
    return searchFiles(this.#scanner, request, blocks, files);
  }

  async #blocks(invocation: Invocation, wanted: KernelSearch): Promise<SearchAnswer> {
    await this.#ports.settle();
    const help: SearchHelp = {
      current: async (block) => {
        const current = await this.#ports.text(block);
        this.#ports.asked(block);
        return current;
      },
      scan: ({ query, contextLines, linesPerText, texts, ...call }, searched) =>
        this.#scanner.scan(
          { ...call, query, limits: { contextLines, linesPerText, texts } },
          searched,
        ),
    };
    const slice = this.#deadline / SLICES;
    const search = (without?: ReadonlySet<string>): Promise<SearchAnswer> => {
      const request = { ...wanted, ...this.#call(invocation), slice, without };
      return this.#ports.store.search.search(request, help);
    };
    const answer = await search();
    const shown = this.#shown(invocation, answer);
    // What is withheld must not even take others' room: who counts what is left out could guess it.
    if (shown.found.length === answer.found.length && !answer.truncated) return shown;
    const withheld = await this.#ports.withheld(invocation);
    return withheld.size === 0 ? shown : this.#shown(invocation, await search(withheld));
  }

  #shown(invocation: Invocation, answer: SearchAnswer): SearchAnswer {
    const mayShow = (block: string): boolean => this.#ports.mayShow(invocation, block);
    return {
      ...answer,
      found: answer.found.filter(({ block }) => mayShow(block)),
      slow: answer.slow.filter(mayShow),
      unreadable: answer.unreadable.filter(({ block }) => mayShow(block)),
    };
  }

  /** What a pattern matches in a block at a version, each with what is to stand there. */
  async replacements(
    invocation: Invocation,
    { block, version, pattern, ignoreCase, replacement, most }: PatternInBlock,
  ): Promise<{ version: number; replacements: readonly Replacement[] }> {
    const found = await this.#ports.text(block, version);
    const replacements = await this.#scanner.replacements(this.#call(invocation), found.text, {
      pattern,
      ignoreCase,
      replacement,
      most,
    });
    return { version: found.version, replacements };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#scanner[Symbol.asyncDispose]();
  }

  #call({ actor, signal }: Invocation): {
    caller: string;
    milliseconds: number;
    signal: AbortSignal | undefined;
  } {
    return { caller: actor, milliseconds: this.#deadline, signal };
  }
}

function scanHere(
  matcher: TextMatcher,
  limits: ScanLimits,
  text: string,
): Omit<FoundInText, "version"> {
  const lines: FoundLine[] = [];
  let more = false;
  const scan = new TextScan(matcher, limits, {
    found: (_, line) => void lines.push(line),
    more: () => void (more = true),
    expired: () => false,
  });
  scan.scan("", text);
  return { lines, truncated: more || scan.truncated, timedOut: false };
}
