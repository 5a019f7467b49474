/**
 * Some connections that follow one kernel, each with a client of its own, in a process of their own. Says when all are
 * connected; asked, forgets what it measured, or waits for the last edit and tells.
 */
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "../../../src/client/index.ts";
import { Arrivals, LATE } from "./arrivals.ts";

const [url, token, count] = process.argv.slice(2);
const arrivals: Arrivals[] = [];
await using clients = new AsyncDisposableStack();
for (let made = 0; made < Number(count); made++) {
  const client = clients.use(connect({ url: url!, token: token! }));
  const own = new Arrivals();
  arrivals.push(own);
  client.kernel("bench").feed((news) => {
    if (news.kind === "blocks") own.take(news.events);
  });
  await client.connected();
}
process.on("message", (asked: { last?: number }) => {
  if (asked.last === undefined) for (const own of arrivals) own.forget();
  else void tell(asked.last);
});
process.send!("ready");
await once(process, "disconnect");

async function tell(last: number): Promise<void> {
  const all = Promise.all(arrivals.map((own) => own.all(last)));
  await Promise.race([all, sleep(LATE, undefined, { ref: false })]);
  const missing = arrivals.filter((own) => own.last !== last).length;
  const latencies = Float64Array.from(arrivals.flatMap((own) => own.latencies));
  process.send!({ latencies, missing });
}
