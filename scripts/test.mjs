// `npm test [-- <vitest filters>]`: the fast checks, then the tests, then one line that counts.
// With --full (`npm run test:full`) properties and schedules run with their full counts.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "./children.mjs";
import { report, runChecks } from "./checks.mjs";
import { afterSetup, projectNode, root } from "./setup.mjs";

const given = process.argv.slice(2);
const full = given.includes("--full");
const filters = given.filter((argument) => argument !== "--full");

await afterSetup(async () => {
  const failedChecks = await runChecks();
  const counts = await runTests();
  const failed = counts.failed + failedChecks;
  const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : "";
  process.stdout.write(`${counts.passed} passed, ${failed} failed${skipped}\n`);
  return failed === 0 ? 0 : 1;
});

async function runTests() {
  const folder = mkdtempSync(join(tmpdir(), "kumiko-test-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  const results = join(folder, "results.json");
  const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${results}`];
  const env = full ? { ...process.env, KUMIKO_FULL: "1" } : process.env;
  const begun = performance.now();
  const { code } = await run(projectNode, [vitest, "run", ...reporters, ...filters], {
    cwd: root,
    env,
  });
  const counts = readCounts(results, code);
  report("tests", counts.failed === 0, (performance.now() - begun) / 1000);
  return counts;
}

function readCounts(file, code) {
  let passed = 0;
  let failed = 0;
  let skipped = 0;
  let testFiles = [];
  try {
    testFiles = JSON.parse(readFileSync(file, "utf8")).testResults;
  } catch (error) {
    process.stdout.write(`The tests left no readable results: ${error.message}\n`);
  }
  for (const { name, status, assertionResults } of testFiles) {
    const before = failed;
    for (const test of assertionResults) {
      if (test.status === "passed") passed += 1;
      else if (test.status === "failed") failed += 1;
      else skipped += 1;
    }
    // A file that could not be loaded has no test that failed, and must count all the same.
    if (status === "failed" && failed === before) {
      process.stdout.write(`${name} failed as a whole.\n`);
      failed += 1;
    }
  }
  if (code === 0 && passed + failed === 0) {
    process.stdout.write("No test was run, which counts as a failure.\n");
    failed += 1;
  }
  // Errors outside any test, such as an unhandled rejection.
  if (code !== 0 && failed === 0) failed += 1;
  return { passed, failed, skipped };
}
