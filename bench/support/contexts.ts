/** The goals of contexts: what a long conversation costs, against a short one. */
import { row, type Row } from "../harness.ts";
import { interleave } from "./rounds.ts";
import { type BenchKernel, benchKernel } from "./bench-kernel.ts";

const SHORT = 1_000;
const LONG = 100_000;
/** Calls whose time is taken together: one alone is too short to compare. */
const CALLS = 200;
const ROUNDS = 5;
/** Blocks that are created at once, to fill a conversation. */
const TOGETHER = 500;
const SAID = "What was said.\n";

interface Conversation extends AsyncDisposable {
  readonly bench: BenchKernel;
  /** A block ten levels down. */
  readonly deep: string;
}

export async function* contextMeasures(): AsyncGenerator<Row> {
  await using short = await conversation(SHORT);
  await using long = await conversation(LONG);
  const measured: [string, (each: Conversation) => Promise<unknown>][] = [
    ["append a block, durable", ({ bench }) => bench.create(SAID)],
    [
      "list the last 50 blocks",
      ({ bench }) => bench.call("block_list", { limit: 50, newest_first: true }),
    ],
    [
      "50 children of the context",
      ({ bench }) => bench.kernel.children({ context: "main", parent: null, limit: 50 }),
    ],
    ["ancestors of a block ten levels down", ({ bench, deep }) => bench.kernel.ancestors(deep)],
  ];
  for (const [name, run] of measured) {
    const times = await interleave(ROUNDS, {
      long: () => repeat(run, long),
      short: () => repeat(run, short),
    });
    yield row({
      name: `${name}: ${LONG} blocks, µs, peer ${SHORT} blocks`,
      ours: (times.long * 1000) / CALLS,
      peer: (times.short * 1000) / CALLS,
      goal: "<= 2",
    });
  }
}

async function repeat(
  run: (each: Conversation) => Promise<unknown>,
  each: Conversation,
): Promise<void> {
  for (let call = 0; call < CALLS; call++) await run(each);
}

async function conversation(blocks: number): Promise<Conversation> {
  const bench = await benchKernel();
  for (let made = 0; made < blocks; made += TOGETHER)
    await Promise.all(Array.from({ length: TOGETHER }, () => bench.create(SAID)));
  let deep = await bench.create(SAID);
  for (let level = 1; level <= 10; level++) deep = await below(bench, deep);
  return { bench, deep, [Symbol.asyncDispose]: () => bench[Symbol.asyncDispose]() };
}

async function below(bench: BenchKernel, parent_id: string): Promise<string> {
  const input = { role: "user", kind: "text", content: SAID, parent_id };
  return (await bench.call<{ block_id: string }>("block_create", input)).block_id;
}
