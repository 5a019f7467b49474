/**
 * A process that opens a kernel and reads its last blocks, as a person's first look does; prints how many
 * milliseconds after its start it had them, and how much memory it took.
 */
import { HomeFolder } from "../../src/app/index.ts";
import { openWorld } from "../../src/app/world.ts";
import { blockTools, ToolRegistry } from "../../src/tools/index.ts";

const LAST = 50;
const [home] = process.argv.slice(2);
await using world = openWorld(new HomeFolder(home!, "bench"), (report) => {
  throw new Error(JSON.stringify(report));
});
const kernel = await world.open("bench");
const registry = new ToolRegistry(blockTools);
const last = await kernel.children({
  context: "main",
  parent: null,
  limit: LAST,
  newestFirst: true,
});
let characters = 0;
for (const { block } of last) {
  const invocation = { actor: "ann", context: "main" };
  const { content } = (await registry.execute(kernel, "block_read", invocation, {
    block_id: block,
  })) as { content: string };
  characters += content.length;
}
process.stdout.write(
  JSON.stringify({
    milliseconds: performance.now(),
    megabytes: process.memoryUsage().rss / 1e6,
    blocks: last.length,
    characters,
  }),
);
