// `npm run build`: what is published, in dist/: the command in few files, the libraries file by file.

import { rmSync } from "node:fs";
import { join } from "node:path";
import { run } from "./children.mjs";
import { afterSetup, projectNode, root } from "./setup.mjs";

const compiler = join(root, "node_modules", "typescript", "bin", "tsc");
const bundler = join(root, "scripts", "bundle.mjs");
const command = join(root, "src", "cli", "main.ts");

const steps = [
  // The bundler takes types away without looking at them.
  [compiler, "--noEmit"],
  [compiler, "-p", "tsconfig.build.json"],
  [bundler, command, join(root, "dist", "cli")],
];

await afterSetup(async () => {
  // Files whose source is gone must not be published.
  rmSync(join(root, "dist"), { recursive: true, force: true });
  for (const args of steps) {
    const { code } = await run(projectNode, args, { cwd: root });
    if (code !== 0) return code;
  }
  return 0;
});
