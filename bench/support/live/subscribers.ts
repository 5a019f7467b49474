/** Five hundred connections that follow one kernel while somebody edits it. */
import { setTimeout as sleep } from "node:timers/promises";
import { row, type Row } from "../../harness.ts";
import { ServerProcess } from "./server-process.ts";

const SUBSCRIBERS = 500;
const EDITS_PER_SECOND = 50;
const SECONDS = 60;
const WARM_UP_SECONDS = 5;
/** Milliseconds after which what was not delivered is missing. */
const LATE = 30_000;

export async function* subscriberMeasures(): AsyncGenerator<Row> {
  const { p99, growth } = await follow(SECONDS);
  const name = `${SUBSCRIBERS} feed subscribers over sockets, ${EDITS_PER_SECOND} durable edits/s, ${SECONDS} s`;
  yield row({ name: `${name}: call to delivery, p99, ms`, ours: p99, goal: "<= 100 ms" });
  yield row({ name: `${name}: growth of the server, MB`, ours: growth, goal: "<= 64 MB" });
}

async function follow(seconds: number): Promise<{ p99: number; growth: number }> {
  await using server = await ServerProcess.start();
  await using clients = new AsyncDisposableStack();
  const writer = clients.use(server.connect()).kernel("bench");
  const { block_id: block } = (await writer.executeTool({
    name: "block_create",
    context: "main",
    arguments: { role: "model", kind: "text", content: "A line of ordinary length.\n".repeat(50) },
  })) as { block_id: string };
  const called = new Map<number, number>();
  const latencies: number[] = [];
  const all = Promise.withResolvers<void>();
  let delivered = 0;
  let wanted = Infinity;
  for (let count = 0; count < SUBSCRIBERS; count++) {
    const client = clients.use(server.connect());
    client.kernel("bench").feed((news) => {
      if (news.kind !== "blocks") return;
      const now = performance.now();
      for (const { change } of news.events) {
        if (change.kind !== "text") continue;
        delivered++;
        if (delivered === wanted) all.resolve();
        const number = Number(/^(\d+) /.exec(change.splices[0]?.insert ?? "")?.[1]);
        const begun = called.get(number);
        if (begun !== undefined) latencies.push(now - begun);
      }
    });
    await client.connected();
  }
  let number = 0;
  const edit = async (): Promise<void> => {
    number += 1;
    called.set(number, performance.now());
    const operation = {
      op: "insert",
      line: 0,
      content: `${number} is what this line begins with.`,
    };
    await writer.executeTool({
      name: "block_edit",
      arguments: { block_id: block, operations: [operation], base_version: 1 },
    });
  };
  const edits = async (howLong: number): Promise<void> => {
    const begun = performance.now();
    const running: Promise<void>[] = [];
    for (let count = 0; count < howLong * EDITS_PER_SECOND; count++) {
      const due = begun + (count * 1000) / EDITS_PER_SECOND;
      const wait = due - performance.now();
      if (wait > 0) await sleep(wait);
      running.push(edit());
    }
    await Promise.all(running);
  };
  await edits(WARM_UP_SECONDS);
  const before = await server.megabytes();
  latencies.length = 0;
  called.clear();
  await edits(seconds);
  wanted = number * SUBSCRIBERS;
  if (delivered === wanted) all.resolve();
  await Promise.race([all.promise, sleep(LATE)]);
  if (delivered !== wanted) throw new Error(`${delivered} of ${wanted} events were delivered`);
  const growth = (await server.megabytes()) - before;
  latencies.sort((a, b) => a - b);
  return { p99: latencies[Math.floor(latencies.length * 0.99)]!, growth };
}
