// `npm run build`: what is published, in dist/.

import { rmSync } from "node:fs";
import { join } from "node:path";
import { run } from "./children.mjs";
import { afterSetup, projectNode, root } from "./setup.mjs";

await afterSetup(async () => {
  // Files whose source is gone must not be published.
  rmSync(join(root, "dist"), { recursive: true, force: true });
  const compiler = join(root, "node_modules", "typescript", "bin", "tsc");
  return (await run(projectNode, [compiler, "-p", "tsconfig.build.json"], { cwd: root })).code;
});
