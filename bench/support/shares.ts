/** Where the time goes while something runs, by sampling the main thread. */
import type { Profiler } from "node:inspector";
import { Session } from "node:inspector/promises";

/** The first that fits the file of a sample, or of whoever called it. */
const rooms: readonly [name: string, file: RegExp][] = [
  ["validation", /\/node_modules\/zod\//],
  ["tools", /\/src\/(tools|protocol)\//],
  ["Loro", /\/node_modules\/loro-crdt\//],
  ["text", /\/src\/(blocks|base)\//],
  ["fan-out", /\/src\/kernel\/flow\//],
  ["commit door", /\/src\/kernel\//],
  ["SQLite from here", /\/src\/store\/|\/node_modules\/better-sqlite3\//],
];

const REST = "the rest";

/** What V8 says of time that is spent in no function. */
const others = new Map([
  ["(idle)", "waiting for SQLite's thread"],
  ["(garbage collector)", "garbage"],
]);

/**
 * One line: the share of each room in the time that a run takes on the main thread, and what the other threads
 * (SQLite's writer above all) need of a core meanwhile. Sampling makes the run itself slower.
 */
export async function sharesOf(run: () => Promise<void>): Promise<string> {
  const session = new Session();
  session.connect();
  try {
    await session.post("Profiler.enable");
    await session.post("Profiler.setSamplingInterval", { interval: 250 });
    await session.post("Profiler.start");
    const [begun, whole, main] = [performance.now(), process.cpuUsage(), process.threadCpuUsage()];
    await run();
    const elapsed = (performance.now() - begun) * 1000;
    const [all, own] = [process.cpuUsage(whole), process.threadCpuUsage(main)];
    const { profile } = await session.post("Profiler.stop");
    const elsewhere = (all.user + all.system - own.user - own.system) / elapsed;
    const shares = [...sumByRoom(profile)].toSorted(([, a], [, b]) => b - a);
    const total = shares.reduce((sum, [, time]) => sum + time, 0);
    const parts = shares.map(([name, time]) => `${name} ${percent(time / total)}`);
    return `${parts.join(", ")}; other threads use ${percent(elsewhere)} of a core`;
  } finally {
    session.disconnect();
  }
}

function sumByRoom({
  nodes,
  samples = [],
  timeDeltas = [],
}: Profiler.Profile): Map<string, number> {
  const roomOf = new Map<number, string>();
  const visit = ({ id, callFrame, children = [] }: Profiler.ProfileNode, caller: string): void => {
    const { url, functionName } = callFrame;
    // What Node and V8 do themselves, they do for whoever called them.
    const own = url === "" || url.startsWith("node:") ? others.get(functionName) : nameOf(url);
    const room = own ?? caller;
    roomOf.set(id, room);
    for (const child of children) visit(byId.get(child)!, room);
  };
  const byId = new Map(nodes.map((node) => [node.id, node]));
  visit(nodes[0]!, REST);
  const sums = new Map<string, number>();
  for (const [index, sample] of samples.entries()) {
    const room = roomOf.get(sample)!;
    sums.set(room, (sums.get(room) ?? 0) + (timeDeltas[index] ?? 0));
  }
  return sums;
}

function nameOf(url: string): string {
  return rooms.find(([, file]) => file.test(url))?.[0] ?? REST;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
}
