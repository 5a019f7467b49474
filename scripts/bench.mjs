// `npm run bench -- [names…] [--json]`: see bench/run.ts.

import { join } from "node:path";
import { run } from "./children.mjs";
import { afterSetup, projectNode, root } from "./setup.mjs";

const bench = join(root, "bench", "run.ts");

// Memory is measured too, and only a collector that can be called gives numbers worth comparing.
await afterSetup(
  async () => (await run(projectNode, ["--expose-gc", bench, ...process.argv.slice(2)])).code,
);
