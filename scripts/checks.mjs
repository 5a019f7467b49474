// The fast checks: everything about the source that can be known without running it.

import { join } from "node:path";
import { run } from "./children.mjs";
import { projectNode, root } from "./setup.mjs";

const tool = (...path) => join(root, "node_modules", ...path);

const checks = [
  ["types", tool("typescript", "bin", "tsc"), "--noEmit"],
  ["lint", tool("oxlint", "bin", "oxlint")],
  ["format", tool("oxfmt", "bin", "oxfmt"), "--check"],
  ["layers", join(root, "scripts", "check-layers.mjs")],
  ["dead code", tool("knip", "bin", "knip.js"), "--no-progress"],
];

/** Runs all checks, shows each with the output of those that fail, and gives how many failed. */
export async function runChecks() {
  const begun = checks.map(([name, ...args]) => ({ name, result: timed(args) }));
  let failed = 0;
  for (const { name, result } of begun) {
    const { code, output, seconds } = await result;
    report(name, code === 0, seconds);
    if (code === 0) continue;
    failed += 1;
    process.stdout.write(output.endsWith("\n") ? output : `${output}\n`);
  }
  return failed;
}

/** One line per step: name, ok or failed, seconds. */
export function report(name, ok, seconds) {
  process.stdout.write(
    `${name.padEnd(10)} ${ok ? "ok    " : "failed"} ${seconds.toFixed(1).padStart(6)} s\n`,
  );
}

async function timed(args) {
  const begun = performance.now();
  const result = await run(projectNode, args, { capture: true, cwd: root });
  return { ...result, seconds: (performance.now() - begun) / 1000 };
}
