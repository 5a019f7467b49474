// `npm run docs`: writes docs/tools, and what the command line knows of tools, from the definitions of the tools. A test
// says when they differ.

import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "./children.mjs";
import { afterSetup, projectNode, root } from "./setup.mjs";

if (process.argv[2] === "--write") {
  const tools = await import("../src/tools/index.ts");
  const { fileTools } = await import("../src/files/index.ts");
  const all = [...tools.blockTools, ...fileTools, ...tools.blockStreams];
  const pages = tools.referencePages(all);
  const folder = join(root, "docs", "tools");
  mkdirSync(folder, { recursive: true });
  for (const name of readdirSync(folder)) if (!pages.has(name)) rmSync(join(folder, name));
  for (const [name, text] of pages) writeFileSync(join(folder, name), text);
  const forms = JSON.stringify(tools.toolForms(all), undefined, 1);
  writeFileSync(join(root, "src", "cli", "home", "tools.json"), `${forms}\n`);
  process.stdout.write(`${pages.size} pages written.\n`);
} else {
  // The definitions are TypeScript, which only the project's own Node reads.
  await afterSetup(
    async () => (await run(projectNode, [import.meta.filename, "--write"], { cwd: root })).code,
  );
}
