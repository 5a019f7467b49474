// `npm run try:agents`: real coding agents work on a file through Kumiko, and what came of it is checked.
//
// The agents are the ones that people install. Only the model is not: a server on this machine streams
// what a model might say, so that no account is needed and every run is the same.

import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterSetup } from "./setup.mjs";
import { agents } from "./try-agents/agents.mjs";
import { install } from "./try-agents/install.mjs";
import { help, optionsOf } from "./try-agents/options.mjs";
import { heading, lines, passed, summary } from "./try-agents/report.mjs";
import { tryAgent } from "./try-agents/trial.mjs";

const options = optionsOf(process.argv.slice(2), agents);
if (options.problem !== undefined) {
  process.stderr.write(`${options.problem}\n\n${help(agents)}`);
  process.exitCode = 2;
} else if (options.help) process.stdout.write(help(agents));
else await afterSetup(tryThem);

async function tryThem() {
  const say = (text) => (options.json ? process.stderr : process.stdout).write(text);
  // As the agents know it: some of them trust a folder by its real path only.
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "kumiko-agents-")));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  const chosen = agents.filter(({ name }) => options.only.includes(name));
  const place = options.keep ?? join(folder, "installation");
  const trouble = await install(chosen, { place, latest: options.latest, say });
  if (trouble !== null) {
    process.stderr.write(trouble);
    return 1;
  }
  const reports = [];
  for (const agent of chosen) {
    const report = await tryAgent(agent, { folder: join(folder, agent.name), place });
    reports.push(report);
    say(`\n${heading(report)}\n${lines(report)}`);
  }
  if (options.json) process.stdout.write(`${JSON.stringify({ agents: reports })}\n`);
  say(`\n${summary(reports)}\n`);
  return reports.every(passed) ? 0 : 1;
}
