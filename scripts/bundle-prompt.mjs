// `node scripts/bundle-prompt.mjs <dist>`: puts `kumiko/prompt` and `kumiko/prompt/schema` into a few files, over what the
// compiler wrote. Whoever imports the library alone would otherwise wait for three dozen files.
//
// Invariant: what lies outside src/prompt stays where it is, so that its classes are the same for all libraries.

import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { build } from "esbuild";
import { root } from "./setup.mjs";

const [folder] = process.argv.slice(2);
const source = join(root, "src");
const own = join(source, "prompt") + sep;

const OUTSIDE = "outside:";
const outside = {
  name: "outside",
  setup({ onResolve }) {
    onResolve({ filter: /^\.\.?\// }, ({ path, resolveDir }) => {
      const file = join(resolveDir, path);
      if (file.startsWith(own)) return undefined;
      return {
        path: `${OUTSIDE}${relative(source, file).replace(/\.ts$/, ".js")}`,
        external: true,
      };
    });
  },
};

for (const name of readdirSync(join(folder, "prompt"), { recursive: true }))
  if (name.endsWith(".js")) rmSync(join(folder, "prompt", name));
await build({
  absWorkingDir: root,
  entryPoints: [join(own, "index.ts"), join(own, "schema", "index.ts")],
  outbase: source,
  outdir: folder,
  bundle: true,
  splitting: true,
  chunkNames: "prompt/parts/[hash]",
  format: "esm",
  target: "esnext",
  external: ["zod"],
  plugins: [outside],
  logLevel: "warning",
});
for (const name of readdirSync(join(folder, "prompt"), { recursive: true })) {
  if (!name.endsWith(".js")) continue;
  const file = join(folder, "prompt", name);
  const up = relative(dirname(file), folder).replaceAll(sep, "/");
  writeFileSync(file, readFileSync(file, "utf8").replaceAll(`"${OUTSIDE}`, `"${up}/`));
}
