/**
 * `npm run bench -- [names…] [--json]`. A bench is a file of this folder that exports `measures`;
 * its name is the file's.
 */

import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import { runBenches, type Bench } from "./harness.ts";

const folder = import.meta.dirname;
const notBenches = new Set(["harness.ts", "run.ts", "traces.ts"]);

const help = `Usage: npm run bench -- [names…] [--json]

Measures us and our peers in one run and shows each goal. Without names, all benches run. Of some
benches a part runs alone: files:search.

  --json     one JSON object per line: name, ours, peer, ratio, goal, pass
             (npm run -s bench -- --json keeps npm's own lines off the output)
  --help     this text

KUMIKO_TRACES names a folder of editing traces (*.json.gz); without it, synthetic ones are used.
The last results are also in bench/results/latest.json. A missed goal is shown and is no error; a
bench that breaks off is one.
`;

/** `files` of `files:search`. */
function benchOf(name: string): string {
  return name.split(":")[0]!;
}

async function load(name: string): Promise<Bench> {
  const bench = (await import(`./${benchOf(name)}.ts`)) as Bench;
  if (name === benchOf(name)) return bench;
  const part = name.slice(benchOf(name).length + 1);
  const measures = bench.parts?.[part];
  if (measures !== undefined) return { measures };
  const parts = Object.keys(bench.parts ?? {}).join(", ") || "none";
  throw new Error(`${benchOf(name)} has no part ${part}; it has: ${parts}.`);
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { json: { type: "boolean" }, help: { type: "boolean", short: "h" } },
  });
  if (values.help === true) {
    process.stdout.write(help);
    return 0;
  }
  const known = readdirSync(folder)
    .filter((file) => file.endsWith(".ts") && !notBenches.has(file))
    .map((file) => basename(file, ".ts"))
    .toSorted();
  const unknown = positionals.filter((name) => !known.includes(benchOf(name)));
  if (unknown.length > 0) {
    const choice = known.length === 0 ? "There are none yet" : `There are: ${known.join(", ")}`;
    process.stderr.write(`There is no bench named ${unknown.join(", ")}. ${choice}.\n`);
    return 2;
  }
  const chosen = positionals.length === 0 ? known : [...new Set(positionals)];
  const benches = new Map(chosen.map((name) => [name, () => load(name)]));
  const { rows, broken } = await runBenches(benches, values.json === true, {
    out: (text) => process.stdout.write(text),
    note: (text) => process.stderr.write(text),
  });
  const results = join(folder, "results");
  mkdirSync(results, { recursive: true });
  const machine = { node: process.version, cpu: cpus()[0]?.model ?? "unknown" };
  writeFileSync(
    join(results, "latest.json"),
    `${JSON.stringify({ at: new Date().toISOString(), ...machine, benches: chosen, broken, rows }, null, 2)}\n`,
  );
  return broken.length === 0 ? 0 : 1;
}

let code = 2;
try {
  code = await main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
}
// A peer's client may hold on to its connection for ever.
process.stdout.write("", () => process.exit(code));
