// `npm start -- <arguments>`: the `kumiko` command of this clone.

import { realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { run } from "./children.mjs";
import { afterSetup, projectNode, root } from "./setup.mjs";

const command = join(root, "bin", "kumiko");
const args = process.argv.slice(2);

await afterSetup(async () => {
  if (realpathSync(process.execPath) !== realpathSync(projectNode)) {
    return (await run(projectNode, [command, ...args], { attached: true })).code;
  }
  // npm already found the project's Node first on PATH: no second process, so signals go straight
  // to the command.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.removeAllListeners(signal);
  process.argv = [process.execPath, command, ...args];
  createRequire(import.meta.url)(command);
  return process.exitCode;
});
