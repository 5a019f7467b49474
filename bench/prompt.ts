/** The goals of prompt trees: edits and lookups in large ones, streaming, and what the library weighs. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build, transform } from "esbuild";
import { Random } from "../src/base/index.ts";
import { PromptBlock, XmlParser } from "../src/prompt/index.ts";
import { median, row, type Row } from "./harness.ts";
import { interleave } from "./support/rounds.ts";
import {
  modelDocument,
  pieces,
  readHtmlparser2,
  readOurs,
  readSaxes,
  sameTree,
} from "./support/prompt-documents.ts";

const ROUNDS = 7;
const SMALL = 1_000;
const LARGE = 1_000_000;

export async function* measures(): AsyncGenerator<Row> {
  yield* appends();
  yield insertBeforePostfix();
  yield lookup();
  yield* streaming();
  yield await importTime();
  yield await size();
}

function appended(block: PromptBlock, count: number): number {
  const begun = performance.now();
  for (let index = 0; index < count; index++) block.append("token ", { logprob: -0.5 });
  return performance.now() - begun;
}

function* appends(): Generator<Row> {
  const whole: number[] = [];
  const late: number[] = [];
  const early: number[] = [];
  for (let round = -1; round < ROUNDS; round++) {
    globalThis.gc?.();
    const block = new PromptBlock();
    const all = appended(block, LARGE);
    const more = appended(block, 100 * SMALL) / (100 * SMALL);
    globalThis.gc?.();
    // As many appends, to trees that reach a thousand chunks.
    let few = 0;
    for (let tree = 0; tree < 100; tree++) few += appended(new PromptBlock(), SMALL);
    if (round < 0) continue;
    whole.push(all);
    late.push(more);
    early.push(few / (100 * SMALL));
  }
  yield row({ name: "1M appends with a chunk each, ms", ours: median(whole), goal: "< 1500 ms" });
  yield row({
    name: "append at 1M chunks, µs, peer the same at 1k",
    ours: median(late) * 1000,
    peer: median(early) * 1000,
    goal: "<= 2",
  });
}

/** A document of 10 MB in an element that is closed, cut into chunks of a line. */
function largeDocument(): PromptBlock {
  const root = new PromptBlock();
  const line = "A line of ordinary length that a model may have written once.\n";
  const section = root.open("document", { style: "xml" });
  for (let length = 0; length < 10_000_000; length += line.length) section.append(line);
  section.close();
  return root;
}

function insertBeforePostfix(): Row {
  const section = largeDocument().children[0]!;
  const times = Array.from({ length: 2_000 }, (_, index) => {
    const begun = performance.now();
    section.append(`late ${index} `);
    return performance.now() - begun;
  });
  if (!section.text.endsWith("late 1999 </document>")) throw new Error("inserted elsewhere");
  return row({
    name: "insert before a postfix in 10 MB, µs",
    ours: median(times) * 1000,
    goal: "< 20 µs",
  });
}

function lookup(): Row {
  const root = largeDocument();
  const { length } = root;
  const random = new Random(3);
  const times = Array.from({ length: 5_000 }, () => {
    const offset = random.below(length);
    const begun = performance.now();
    const block = root.blockAt(offset);
    const elapsed = performance.now() - begun;
    if (block === null) throw new Error("looked up nothing");
    return elapsed;
  });
  return row({ name: "offset to block in 10 MB, µs", ours: median(times) * 1000, goal: "< 10 µs" });
}

/** What the parse itself takes: on a machine that others use too, time on the clock is theirs as well. */
function processorTime(run: () => unknown): number {
  const begun = process.threadCpuUsage();
  run();
  const { user, system } = process.threadCpuUsage(begun);
  return (user + system) / 1000;
}

function openParser(fed: readonly string[]): XmlParser {
  const parser = new XmlParser();
  for (const piece of fed) parser.feed(piece);
  return parser;
}

async function* streaming(): AsyncGenerator<Row> {
  const text = modelDocument(4_000_000);
  const large = pieces(text, 65_536);
  const small = pieces(text, 4);
  if (
    !sameTree(readOurs(small), readSaxes(small)) ||
    !sameTree(readOurs(large), readHtmlparser2(large))
  ) {
    throw new Error("we and our peers read different trees");
  }
  // Engines forget what they compiled for objects of which none is left; a program that reads has always some.
  const sample = pieces(modelDocument(4_000), 50);
  const kept = [readOurs(sample), readSaxes(sample), readHtmlparser2(sample), openParser(sample)];
  const times = await interleave(ROUNDS, {
    large: () => processorTime(() => readOurs(large)),
    ours: () => processorTime(() => readOurs(small)),
    saxes: () => processorTime(() => readSaxes(small)),
    htmlparser2: () => processorTime(() => readHtmlparser2(small)),
  });
  yield row({
    name: "streaming XML in 64 KB chunks, MB/s of one core",
    ours: text.length / 1000 / times.large,
    goal: ">= 50 MB/s",
  });
  if (kept.length === 0) throw new Error("nothing was kept");
  for (const peer of ["saxes", "htmlparser2"] as const) {
    yield row({
      name: `the same tree from 4-character chunks, ms, peer ${peer}`,
      ours: times.ours,
      peer: times[peer],
      goal: "< 1",
    });
  }
}

/** As it is published. */
async function importTime(): Promise<Row> {
  const root = join(import.meta.dirname, "..");
  const folder = mkdtempSync(join(tmpdir(), "kumiko-prompt-"));
  try {
    writeFileSync(join(folder, "package.json"), '{"type":"module"}');
    for (const room of ["base", "prompt"]) mkdirSync(join(folder, room));
    for (const name of ["errors", "sum-tree"]) {
      const source = readFileSync(join(root, "src", "base", `${name}.ts`), "utf8");
      const { code } = await transform(source, { loader: "ts" });
      writeFileSync(join(folder, "base", `${name}.js`), code.replaceAll('.ts"', '.js"'));
    }
    execFileSync(process.execPath, [join(root, "scripts", "bundle-prompt.mjs"), folder]);
    const script = join(import.meta.dirname, "support", "import-prompt.ts");
    const entry = join(folder, "prompt", "index.js");
    const times = Array.from({ length: 9 }, () =>
      Number(execFileSync(process.execPath, [script, entry], { encoding: "utf8" })),
    );
    return row({ name: "import of kumiko/prompt, ms", ours: median(times), goal: "< 30 ms" });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function size(): Promise<Row> {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, "..", "src", "prompt", "index.ts")],
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    target: "esnext",
  });
  const bytes = gzipSync(outputFiles[0]!.contents).length;
  return row({
    name: "kumiko/prompt without the schema part, KB gzipped",
    ours: bytes / 1000,
    goal: "< 25 KB",
  });
}
