// `npm run build`: what is published, in dist/ (or the folder that is named): the command and
// `kumiko/prompt` in few files, the other libraries file by file.

import { rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { run } from "./children.mjs";
import { afterSetup, projectNode, root } from "./setup.mjs";

const compiler = join(root, "node_modules", "typescript", "bin", "tsc");
const bundler = join(root, "scripts", "bundle.mjs");
const promptBundler = join(root, "scripts", "bundle-prompt.mjs");
const command = join(root, "src", "cli", "main.ts");
const folder = process.argv[2] === undefined ? join(root, "dist") : resolve(process.argv[2]);

const steps = [
  // The bundler takes types away without looking at them.
  [compiler, "-p", "tsconfig.command.json"],
  [compiler, "-p", "tsconfig.build.json", "--outDir", folder],
  [bundler, command, join(folder, "cli")],
  [promptBundler, folder],
];

await afterSetup(async () => {
  // Files whose source is gone must not be published.
  rmSync(folder, { recursive: true, force: true });
  for (const args of steps) {
    const { code } = await run(projectNode, args, { cwd: root });
    if (code !== 0) return code;
  }
  return 0;
});
