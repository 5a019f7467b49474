/** Tokens streamed into blocks by tool calls: how fast they are taken in, and what they take up at rest. */
import { setImmediate } from "node:timers/promises";
import { median, row, type Row } from "../harness.ts";
import { benchKernel, fileBytes, rawTransactions } from "./bench-kernel.ts";
import { Words } from "./words.ts";

const TOKENS = 30_000;
/** As many come with one packet from a provider: between two packets others have their turn. */
const TOKENS_TOGETHER = 4;
const RAW = 1_500;
const SUBSCRIBERS = 10;
const ROUNDS = 5;
/** For the bytes at rest: streams at once, and tokens in each. */
const STREAMS = 16;
const TOKENS_IN_EACH = 15_000;
/** A provider gives about so many between two flushes: more than 50 characters. */
const TOKENS_PER_FLUSH = 8;

export async function* streamingMeasures(): AsyncGenerator<Row> {
  const ours: number[] = [];
  const raw: number[] = [];
  for (let round = -1; round < ROUNDS; round++) {
    globalThis.gc?.();
    const rate = await tokensPerSecond(round + 2);
    const words = new Words(3);
    const peer = rawTransactions(RAW, () => words.token());
    if (round < 0) continue;
    ours.push(rate);
    raw.push(peer);
  }
  yield row({
    name: `tokens/s appended by tool call, durable, to ${SUBSCRIBERS} subscribers, peer one raw FULL transaction each`,
    ours: median(ours),
    peer: median(raw),
    goal: ">= 20",
  });
  const { state, index, commits } = await bytesAtRest();
  yield row({
    name:
      `stored bytes per character of streamed text at rest, a commit for every ${commits} characters ` +
      `(search index apart: ${index.toFixed(2)})`,
    ours: state,
    goal: "<= 1.3 bytes",
  });
}

async function tokensPerSecond(seed: number): Promise<number> {
  await using bench = await benchKernel();
  const words = new Words(seed);
  const tokens = Array.from({ length: TOKENS }, () => words.token());
  const all = tokens.join("");
  const block_id = await bench.create("", "claude");
  const received = Array.from({ length: SUBSCRIBERS }, () => "");
  const readers = received.map(async (_, reader) => {
    for await (const events of bench.kernel.feed.subscribe()) {
      for (const { change } of events) {
        if (change.kind === "text") received[reader] += change.splices[0]!.insert;
      }
      if (received[reader]!.length >= all.length) return;
    }
  });
  const begun = performance.now();
  for (const [index, text] of tokens.entries()) {
    await bench.call("block_append", { block_id, text }, "claude");
    if (index % TOKENS_TOGETHER === TOKENS_TOGETHER - 1) await setImmediate();
  }
  await bench.call("block_status", { block_id, status: "done" }, "claude");
  await Promise.all(readers);
  const seconds = (performance.now() - begun) / 1000;
  if (received.some((text) => text !== all)) throw new Error("a subscriber got another text");
  return TOKENS / seconds;
}

/** Slow streams, as they are in a day's work: every flush is a commit of its own. */
async function bytesAtRest(): Promise<{ state: number; index: number; commits: number }> {
  await using bench = await benchKernel();
  let characters = 0;
  await Promise.all(
    Array.from({ length: STREAMS }, async (_, stream) => {
      const words = new Words(stream);
      const actor = `agent-${stream}`;
      const block_id = await bench.create("", actor);
      for (let count = 0; count < TOKENS_IN_EACH; count += TOKENS_PER_FLUSH) {
        const text = Array.from({ length: TOKENS_PER_FLUSH }, () => words.token()).join("");
        characters += text.length;
        await bench.call("block_append", { block_id, text, flush: true }, actor);
      }
      await bench.call("block_status", { block_id, status: "done" }, actor);
    }),
  );
  const commits = Math.round(characters / bench.kernel.feed.head);
  await bench.rest();
  const bytes = (name: string): number => fileBytes(bench, name) + fileBytes(bench, `${name}-wal`);
  return {
    state: bytes("state.db") / characters,
    index: bytes("search.db") / characters,
    commits,
  };
}
