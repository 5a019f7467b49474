// `node scripts/bundle.mjs <entry> <folder>`: puts what an entry needs into few files. Node takes about half a
// millisecond to find, read and link each file, and from source there are hundreds.
//
// Invariants: all files lie in one folder, so that a thread's script is found beside whatever part starts it;
// for the command it lies two below package.json, as src/cli does.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { build } from "esbuild";
import { root } from "./setup.mjs";

// Taken in because nearly every start needs them, in hundreds of files. All other packages stay outside, where
// native code, WebAssembly and threads find their own files.
const taken = ["@noble/hashes", "commander", "fast-myers-diff", "fractional-indexing", "zod"];

const [entry, folder] = process.argv.slice(2);
const { dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
// What a thread needs is taken in a second time: what it shares with the command would be cut into many small parts.
const parts = [[entry], threadScripts(join(root, "src"))].map((entryPoints) =>
  build({
    absWorkingDir: root,
    entryPoints,
    entryNames: "[name]",
    outdir: folder,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "esnext",
    external: Object.keys(dependencies).filter((name) => !taken.includes(name)),
    plugins: [{ name: "no programs", setup: withoutPrograms }],
    metafile: true,
    write: false,
    logLevel: "warning",
  }),
);
const built = await Promise.all(parts);
mkdirSync(folder, { recursive: true });
for (const { path, text } of built.flatMap(({ outputFiles }) => outputFiles))
  writeFileSync(path, builtinsAsTheyAre(text));
writeFileSync(
  join(folder, "LICENSES"),
  licences(built.flatMap(({ metafile }) => Object.keys(metafile.inputs))),
);

/** commander can run other programs as verbs. There are none, and what runs programs takes time to load. */
function withoutPrograms({ onResolve, onLoad }) {
  onResolve({ filter: /^node:child_process$/ }, ({ importer }) =>
    /[\\/]commander[\\/]/.test(importer) ? { path: "none", namespace: "programs" } : undefined,
  );
  onLoad({ filter: /^none$/, namespace: "programs" }, () => ({
    contents: "export default undefined;",
  }));
}

/**
 * Node's own modules, without a copy of all that they export: to import one reads every export of it, and some of
 * those load something large when they are read (`fetch` with `node:http`, `crypto.subtle`, standard input).
 */
function builtinsAsTheyAre(text) {
  return text.replaceAll(
    /^import (?:\* as )?(\w+|\{[^}]*\}) from ("node:[\w/]+");$/gm,
    (_, names, module) =>
      `const ${names.replaceAll(" as ", ": ")} = globalThis.process.getBuiltinModule(${module});`,
  );
}

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
