/** Five hundred connections that follow one kernel while somebody edits it. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { row, type Row } from "../../harness.ts";
import { calledNow } from "./arrivals.ts";
import { ServerProcess } from "./server-process.ts";

const SUBSCRIBERS = 500;
/** One process that parses what all are told would be measured instead of the server. */
const PROCESSES = 4;
const EDITS_PER_SECOND = 50;
const SECONDS = 60;
const WARM_UP_SECONDS = 5;

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
  const followers = await Promise.all(
    Array.from({ length: PROCESSES }, () => startFollowers(server, SUBSCRIBERS / PROCESSES)),
  );
  let number = 0;
  const edit = async (): Promise<void> => {
    number += 1;
    const operation = { op: "insert", line: 0, content: calledNow(number) };
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
  for (const follower of followers) follower.send({});
  await edits(seconds);
  const told = await Promise.all(followers.map((each) => arrivedAt(each, number)));
  const growth = (await server.megabytes()) - before;
  const missing = told.reduce((sum, each) => sum + each.missing, 0);
  if (missing > 0) throw new Error(`${missing} subscribers were not told everything`);
  const latencies = Float64Array.from(told.flatMap((each) => [...each.latencies])).toSorted();
  return { p99: latencies[Math.floor(latencies.length * 0.99)]!, growth };
}

async function startFollowers(server: ServerProcess, count: number): Promise<ChildProcess> {
  const script = fileURLToPath(new URL("./subscriber-process.ts", import.meta.url));
  const child = fork(script, [server.url, server.token, String(count)], {
    serialization: "advanced",
    stdio: "inherit",
  });
  await answerOf(child);
  return child;
}

interface Told {
  readonly latencies: Float64Array;
  /** Subscribers that did not get the last edit in time. */
  readonly missing: number;
}

async function arrivedAt(follower: ChildProcess, last: number): Promise<Told> {
  follower.send({ last });
  const told = (await answerOf(follower)) as Told;
  const gone = once(follower, "exit");
  follower.disconnect();
  await gone;
  return told;
}

async function answerOf(child: ChildProcess): Promise<unknown> {
  const gone = once(child, "exit").then(() => {
    throw new Error("a process of subscribers ended by itself");
  });
  const [answer] = (await Promise.race([once(child, "message"), gone])) as [unknown];
  gone.catch(() => undefined);
  return answer;
}
