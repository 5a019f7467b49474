// `npm run format`: writes the one format.

import { join } from "node:path";
import { run } from "./children.mjs";
import { afterSetup, projectNode, root } from "./setup.mjs";

const formatter = join(root, "node_modules", "oxfmt", "bin", "oxfmt");
const paths = process.argv.slice(2);

await afterSetup(
  async () => (await run(projectNode, [formatter, "--write", ...paths], { cwd: root })).code,
);
