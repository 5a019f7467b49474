// `node scripts/bundle.mjs <entry> <folder>`: puts what an entry needs into few files. Node takes about half a
// millisecond to find, read and link each file, and from source there are hundreds.
//
// Invariants: all files lie in one folder, so that a thread's script is found beside whatever part starts it;
// for the command it lies two below package.json, as src/cli does.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { build } from "esbuild";
import { root } from "./setup.mjs";

// Taken in because nearly every start needs them, in hundreds of files. All other packages stay outside, where
// native code, WebAssembly and threads find their own files.
const taken = ["@noble/hashes", "commander", "fast-myers-diff", "fractional-indexing", "zod"];

const [entry, folder] = process.argv.slice(2);
const { dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const { metafile } = await build({
  absWorkingDir: root,
  entryPoints: [entry, ...threadScripts(join(root, "src"))],
  entryNames: "[name]",
  outdir: folder,
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "esnext",
  external: Object.keys(dependencies).filter((name) => !taken.includes(name)),
  metafile: true,
  logLevel: "warning",
});
writeFileSync(join(folder, "LICENSES"), licences(Object.keys(metafile.inputs)));

/** What some source starts as a thread: `new URL(`./<name>.${extension}`, import.meta.url)`. */
function threadScripts(source) {
  const files = readdirSync(source, { recursive: true }).filter((file) =>
    /(?<!\.test)\.ts$/.test(file),
  );
  const scripts = files.flatMap((file) => {
    const text = readFileSync(join(source, file), "utf8");
    const named = [
      ...text.matchAll(/new URL\(\s*`\.\/([\w-]+)\.\$\{extension\}`,\s*import\.meta\.url/g),
    ];
    if (named.length === 0 && text.includes("new Worker(")) {
      throw new Error(`src/${file} starts a thread, but does not name its script as others do.`);
    }
    return named.map(([, name]) => join(source, dirname(file), `${name}.ts`));
  });
  const names = scripts.map((script) => basename(script));
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined)
    throw new Error(`Two threads are called ${twice} and would share a file.`);
  return scripts;
}

/** The packages that were taken in ask to be named wherever they go. */
function licences(inputs) {
  const folders = inputs.flatMap(
    (file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file)?.[0] ?? [],
  );
  const texts = [...new Set(folders)].map((place) => {
    const path = join(root, place);
    const { name, version } = JSON.parse(readFileSync(join(path, "package.json"), "utf8"));
    const file = readdirSync(path).find((each) => /^licen[cs]e/i.test(each));
    if (file === undefined)
      throw new Error(`${name} was taken in but has no licence to go with it.`);
    return `${name} ${version}\n\n${readFileSync(join(path, file), "utf8").trim()}\n`;
  });
  return texts.join("\n----\n\n");
}
