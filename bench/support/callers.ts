/** Single durable edits by tool call from many callers at once, each in a block of its own. */
import { median, row, type Row } from "../harness.ts";
import { type BenchKernel, benchKernel, rawTransactions } from "./bench-kernel.ts";
import { sharesOf } from "./shares.ts";
import { Words } from "./words.ts";

const CALLERS = 16;
const EDITS = 150;
const RAW = 800;
/** A server runs all day: the first rounds only warm it up. */
const WARMING = 3;
const ROUNDS = 9;
const SMALL = 2_000;
const LARGE = 1_000_000;
/** So that there is somebody to tell while shares are taken. */
const SUBSCRIBERS = 10;

export async function* callerMeasures(): AsyncGenerator<Row> {
  const rates = { small: [] as number[], large: [] as number[], raw: [] as number[] };
  {
    await using smallKernel = await benchKernel();
    await using largeKernel = await benchKernel();
    const small = await prepared(smallKernel, SMALL);
    const large = await prepared(largeKernel, LARGE);
    for (let round = -WARMING; round < ROUNDS; round++) {
      const one = await editsPerSecond(small);
      const raw = rawTransactions(RAW, (index) => `edit ${index} of a line of some length`);
      const other = await editsPerSecond(large);
      if (round < 0) continue;
      rates.small.push(one);
      rates.large.push(other);
      rates.raw.push(raw);
    }
  }
  for (const [size, blocks] of [
    [SMALL, "2 KB"],
    [LARGE, "1 MB"],
  ] as const)
    process.stderr.write(`  shares of those edits in blocks of ${blocks}: ${await shares(size)}\n`);
  const name = `durable edits/s by tool call, ${CALLERS} callers on ${CALLERS} blocks`;
  yield row({
    name: `${name}, peer one raw FULL transaction each`,
    ours: median(rates.small),
    peer: median(rates.raw),
    goal: ">= 3",
  });
  yield row({
    name: `${name} of 2 KB, peer the same with blocks of 1 MB`,
    ours: median(rates.small),
    peer: median(rates.large),
    goal: "<= 1.5",
  });
}

async function editsPerSecond(edit: () => Promise<void>): Promise<number> {
  const begun = performance.now();
  await edit();
  const seconds = (performance.now() - begun) / 1000;
  return (CALLERS * EDITS) / seconds;
}

/** What the time of those edits goes into, with subscribers who are told of each. */
async function shares(size: number): Promise<string> {
  await using bench = await benchKernel();
  const edit = await prepared(bench, size);
  const last = bench.kernel.feed.head + CALLERS * EDITS;
  const listening = Array.from({ length: SUBSCRIBERS }, async () => {
    for await (const events of bench.kernel.feed.subscribe())
      if (events.at(-1)!.position === last) return;
  });
  return await sharesOf(async () => {
    await Promise.all([edit(), ...listening]);
  });
}

/** Makes the blocks; what it gives makes one round of edits. */
async function prepared(bench: BenchKernel, size: number): Promise<() => Promise<void>> {
  const words = new Words(5);
  const blocks: { id: string; version: number }[] = [];
  for (let caller = 0; caller < CALLERS; caller++) {
    const id = await bench.create(words.text(size), `agent-${caller}`);
    const { version } = await bench.call<{ version: number }>("block_read", {
      block_id: id,
      range: { start: 0, end: 1 },
    });
    blocks.push({ id, version });
  }
  const edit = (): Promise<unknown> =>
    Promise.all(
      blocks.map(async (block, caller) => {
        for (let count = 0; count < EDITS; count++) {
          const operation = {
            op: "replace",
            start_line: (count * 7) % 20,
            end_line: ((count * 7) % 20) + 1,
            content: `edit ${count} of caller ${caller}`,
          };
          const input = {
            block_id: block.id,
            operations: [operation],
            base_version: block.version,
          };
          const answer = await bench.call<{ version: number }>(
            "block_edit",
            input,
            `agent-${caller}`,
          );
          block.version = answer.version;
        }
      }),
    );
  return async () => void (await edit());
}
