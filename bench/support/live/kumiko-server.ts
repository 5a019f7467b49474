/**
 * Our server as the product starts it, in a process of its own with a home of its own. Says where it is; asked for
 * `rss`, how many bytes it takes after a collection.
 */
import { startServer } from "../../../src/app/server.ts";

const [home] = process.argv.slice(2);
await using server = await startServer({
  home: home!,
  port: 0,
  actor: "ann",
  // Nobody is to be slowed down by limits that are for strangers.
  callsPerSecond: 1_000_000,
  limits: { perToken: 2_000 },
});
const kernel = await server.hall.world.openOrCreate("bench");
await kernel.contexts.create("main", "ann");
const end = Promise.withResolvers<void>();
process.on("message", (message) => {
  if (message === "end") end.resolve();
  globalThis.gc?.();
  process.send!({ rss: process.memoryUsage().rss, cpu: process.cpuUsage() });
});
process.send!({ url: server.url, token: server.ownerToken });
await end.promise;
process.disconnect();
