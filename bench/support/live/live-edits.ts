/** Two people typing into one text at once: through our server, which fsyncs, and through two that do not. */
import { setImmediate as turn } from "node:timers/promises";
import { median, row, type Row } from "../../harness.ts";
import { type Contender, type Editor, together } from "./editor.ts";
import { kumiko } from "./kumiko.ts";
import { hocuspocus, yWebsocket } from "./yjs.ts";

/** By each of the two. */
const EDITS = 3_000;
const PINGS = 200;
const ROUNDS = 5;

export async function* liveMeasures(): AsyncGenerator<Row> {
  await using owned = new AsyncDisposableStack();
  const ours = owned.use(await kumiko());
  const peers = [owned.use(await hocuspocus()), owned.use(await yWebsocket())];
  const all = [ours, ...peers];
  const rates = new Map(all.map((each) => [each, [] as number[]]));
  const latencies = new Map(all.map((each) => [each, [] as number[]]));
  for (let round = -1; round < ROUNDS; round++) {
    for (const contender of all) {
      const { rate, p50 } = await measured(contender);
      if (round < 0) continue;
      rates.get(contender)!.push(rate);
      latencies.get(contender)!.push(p50);
    }
  }
  const middle = (of: typeof rates, who: Contender): number => median(of.get(who)!);
  for (const peer of peers) {
    yield row({
      name: `edits/s of two clients in one text, durable, peer ${peer.name} in memory`,
      ours: middle(rates, ours),
      peer: middle(rates, peer),
      goal: ">= 1.5",
    });
  }
  for (const peer of peers) {
    const theirs = middle(latencies, peer);
    yield row({
      name: `one edit until the other client has it, p50 ms above ${peer.name}'s ${theirs.toFixed(2)}`,
      ours: middle(latencies, ours) - theirs,
      goal: "<= 2 ms",
    });
  }
}

async function measured(contender: Contender): Promise<{ rate: number; p50: number }> {
  const pair = await contender.pair();
  const done = together(pair, 2 * EDITS);
  const begun = performance.now();
  await Promise.all([...pair.map(typed), done]);
  const rate = (2 * EDITS * 1000) / (performance.now() - begun);
  const p50 = median(await pings(pair));
  for (const editor of pair) await editor.close();
  return { rate, p50 };
}

/** A character at a time, at the end; whatever comes in is let in between. */
async function typed(editor: Editor): Promise<void> {
  for (let count = 0; count < EDITS; count++) {
    editor.insert(editor.length, "x");
    await turn();
  }
}

async function pings([from, to]: readonly [Editor, Editor]): Promise<number[]> {
  let heard = Promise.withResolvers<void>();
  to.onRemote(() => heard.resolve());
  const times: number[] = [];
  for (let count = 0; count < PINGS; count++) {
    heard = Promise.withResolvers<void>();
    const begun = performance.now();
    from.insert(0, "y");
    await heard.promise;
    times.push(performance.now() - begun);
  }
  return times;
}
