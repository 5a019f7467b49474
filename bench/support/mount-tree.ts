/** Mounts a folder in a process of its own and says how long that took and what it costs. */
import { setTimeout as sleep } from "node:timers/promises";
import { kernelOfFolder } from "../../src/app/folders.ts";
import { HomeFolder } from "../../src/app/index.ts";
import { openWorld } from "../../src/app/world.ts";
import { boundHeapGrowth } from "../../src/app/heap-growth.ts";
import { fileTools } from "../../src/files/index.ts";
import { blockTools, ToolRegistry } from "../../src/tools/index.ts";

const [place, folder] = process.argv.slice(2);
const registry = new ToolRegistry([...blockTools, ...fileTools]);
const home = new HomeFolder(place!, "bench");
const damaged = (report: object): never => {
  throw new Error(`damage in a bench: ${JSON.stringify(report)}`);
};
using bounds = new DisposableStack();
// As the server does.
bounds.use(boundHeapGrowth());
globalThis.gc?.();
const before = process.memoryUsage().rss;
const begun = performance.now();
await using world = openWorld(home, damaged, { watch: true });
const kernel = await world.openOrCreate((await kernelOfFolder(home, folder!)).kernel);
const who = { actor: "ann", kind: "person", reader: "ann" } as const;
const read = (path: string): Promise<unknown> =>
  registry.execute(kernel, "block_read", who, { block_id: path });
const { files } = (await registry.execute(kernel, "file_list", who, { limit: 50 })) as {
  files: { path: string }[];
};
await read(files[0]!.path);
const usable = performance.now() - begun;
const { Mounts } = await import("../../src/files/index.ts");
await Mounts.of(kernel).watched();
const watched = performance.now() - begun;
await Mounts.of(kernel).indexed();
const indexed = performance.now() - begun;
// Until the thread of the index is given back.
await sleep(11_000);
globalThis.gc?.();
const megabytes = (process.memoryUsage().rss - before) / 1e6;
const peak = process.resourceUsage().maxRSS / 1e3 - before / 1e6;
process.stdout.write(`${JSON.stringify({ usable, watched, indexed, megabytes, peak })}\n`);
