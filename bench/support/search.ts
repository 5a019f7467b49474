/** kernel_search against ripgrep over the same text in files. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { KeyedQueue, Random, realTimers } from "../../src/base/index.ts";
import { Kernel } from "../../src/kernel/index.ts";
import type { Store } from "../../src/kernel/ports.ts";
import { openSqliteStore } from "../../src/store/index.ts";
import { blockTools, ToolRegistry } from "../../src/tools/index.ts";
import { row, type Row } from "../harness.ts";
import { interleave } from "./rounds.ts";
import { hasRipgrep, ripgrep } from "./ripgrep.ts";

/** One word may be lucky; of several the slowest is what is told. */
const NEEDLES = 5;
const ROUNDS = 3;
const AT_ONCE = 32;
const sources = join(import.meta.dirname, "..", "..", "src");

interface Corpus extends AsyncDisposable {
  readonly kernel: Kernel;
  readonly store: Store;
  readonly files: string;
  /** Words with tens to hundreds of occurrences. */
  readonly needles: readonly string[];
}

/** Literals and regular expressions with a literal, second run, in small blocks and in 200 MB. */
export async function* searchMeasures(): AsyncGenerator<Row> {
  hasRipgrep();
  for (const { name, blocks, units } of [
    { name: "10k blocks, 5 MB", blocks: 10_000, units: 500 },
    { name: "4k blocks, 200 MB", blocks: 4_000, units: 50_000 },
  ]) {
    await using corpus = await makeCorpus(blocks, units);
    const { needles } = corpus;
    yield await worst(corpus, `kernel_search of a literal, ${name}, ms`, needles);
    const regexes = needles.map((needle) => `\\w+ ${needle.slice(0, -1)}\\w\\b`);
    yield await worst(corpus, `kernel_search of a regex with a literal, ${name}, ms`, regexes);
  }
}

/** The one of several queries that is slowest against ripgrep. */
async function worst(corpus: Corpus, name: string, queries: readonly string[]): Promise<Row> {
  const rows: Row[] = [];
  for (const query of queries) rows.push(await against(corpus, name, query));
  return rows.toSorted((a, b) => b.ratio - a.ratio)[0]!;
}

async function against({ kernel, files }: Corpus, name: string, query: string): Promise<Row> {
  const registry = new ToolRegistry(blockTools);
  const input = { query, kinds: ["text"], max_blocks: 1000, max_matches_per_block: 1000 };
  let ours = 0;
  let theirs = 0;
  const times = await interleave(ROUNDS, {
    ours: async () => {
      const answer = await registry.execute(kernel, "kernel_search", { actor: "bench" }, input);
      const { blocks, truncated } = answer as {
        blocks: { matches: unknown[] }[];
        truncated: boolean;
      };
      if (truncated) throw new Error(`"${query}" is found too often to be compared`);
      ours = blocks.reduce((sum, block) => sum + block.matches.length, 0);
    },
    ripgrep: () => {
      theirs = ripgrep(query, files);
    },
  });
  if (ours !== theirs || ours < 20)
    throw new Error(`"${query}": ${ours} lines here, ${theirs} there`);
  return row({ name, ours: times.ours, peer: times.ripgrep, goal: "<= 1" });
}

async function makeCorpus(count: number, units: number): Promise<Corpus> {
  await using making = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), "kumiko-bench-"));
  making.defer(() => rmSync(folder, { recursive: true, force: true }));
  const files = join(folder, "files");
  mkdirSync(files);
  const store = await openSqliteStore(join(folder, "state.db"));
  let peers = 1;
  const kernel = making.use(
    await Kernel.open({
      id: "bench",
      store,
      clock: { now: () => Date.now() },
      timers: realTimers,
      newPeer: () => String((peers += 1)),
    }),
  );
  await kernel.contexts.create("main", "bench");
  const writer = new Writer();
  const lanes = new KeyedQueue();
  const created: Promise<string>[] = [];
  for (let number = 0; number < count; number += 1) {
    const text = writer.text(units);
    writeFileSync(join(files, `${number}.txt`), text);
    created.push(
      lanes.run([String(number % AT_ONCE)], () =>
        kernel.createBlock(
          { actor: "bench" },
          { context: "main", role: "user", kind: "text", content: text },
          { answer: ({ changes }) => changes[0]!.block },
        ),
      ),
    );
    if (number % (AT_ONCE * 4) === 0) await Promise.all(created);
  }
  const blocks = await Promise.all(created);
  await firstRun(kernel, store, blocks);
  return {
    kernel,
    store,
    files,
    needles: writer.needles(),
    [Symbol.asyncDispose]: (
      (owned) => () =>
        owned.disposeAsync()
    )(making.move()),
  };
}

/** A search makes the kernel keep texts whole, and those are indexed behind everyone's back. */
async function firstRun(kernel: Kernel, store: Store, blocks: readonly string[]): Promise<void> {
  const query = { query: "not there \\d", literal: false, ignoreCase: false };
  const wanted = { query, kinds: ["text"], context: undefined, pathPrefix: undefined };
  const limits = { contextLines: 0, linesPerText: 1, texts: 1 };
  let waiting = [...blocks];
  while (waiting.length > 0) {
    await kernel.search.everywhere({ actor: "bench" }, { ...wanted, ...limits });
    await sleep(200);
    const kept = await Promise.all(waiting.map((block) => store.keyframe(block)));
    waiting = waiting.filter((_, index) => kept[index] === undefined);
  }
  await store.search.settled();
}

/** Writes with the words of this project's own sources, as often as they stand there. */
class Writer {
  readonly #words: readonly string[];
  readonly #used = new Map<string, number>();
  readonly #random = new Random(11);

  constructor() {
    const all = readdirSync(sources, { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts"))
      .toSorted()
      .map((name) => readFileSync(join(sources, name), "utf8"))
      .join("\n");
    this.#words = all.match(/[A-Za-z]{2,}/g) ?? [];
  }

  text(units: number): string {
    let text = "";
    let column = 0;
    while (text.length < units) {
      const word = this.#random.pick(this.#words);
      this.#used.set(word, (this.#used.get(word) ?? 0) + 1);
      column += word.length + 1;
      text += word + (column > 70 ? "\n" : " ");
      if (column > 70) column = 0;
    }
    return `${text.trimEnd()}\n`;
  }

  /** Words of eight or more letters that are there between 60 and 300 times, and in no other word. */
  needles(): string[] {
    const words = [...this.#used];
    const fitting = words.filter(
      ([word, times]) =>
        word.length >= 8 &&
        times >= 60 &&
        times <= 300 &&
        words.filter(([other]) => other.includes(word)).length === 1,
    );
    if (fitting.length < NEEDLES) throw new Error("too few words are as rare as a search needs");
    const last = fitting.length - 1;
    return Array.from(
      { length: NEEDLES },
      (_, at) => fitting[Math.round((at * last) / (NEEDLES - 1))]![0],
    );
  }
}
