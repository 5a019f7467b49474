// One agent, from its connection to the blame of what it wrote.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "../children.mjs";
import { file, stepsOf, texts } from "./agents.mjs";
import { findings } from "./findings.mjs";
import { programIn, versionIn } from "./install.mjs";
import { ask, serve } from "./kumiko.mjs";
import { startProvider } from "./provider.mjs";
import { Script } from "./script.mjs";

/** Milliseconds after which an agent is stuck. */
const LIMIT = 180_000;
/** And in which a change on disk is noticed. */
const NOTICED = 10_000;

/** What became of it: `checks`, each with `ok` and what was found. */
export async function tryAgent(agent, { folder, place }) {
  const { name, title } = agent;
  const report = { agent: name, title, version: versionIn(place, agent) };
  try {
    return { ...report, checks: findings(agent, await carryOut(agent, folder, place)) };
  } catch (error) {
    return { ...report, checks: [{ name: "carried out", ok: false, found: error.message }] };
  }
}

async function carryOut(agent, folder, place) {
  const where = { project: join(folder, "project"), home: join(folder, "home") };
  mkdirSync(where.project, { recursive: true });
  mkdirSync(where.home);
  const env = { ...environment(), HOME: where.home, KUMIKO_HOME: join(folder, "kumiko") };
  const kumiko = { project: where.project, env };
  const path = join(where.project, file);
  writeFileSync(path, texts.before);
  const server = await serve(kumiko);
  try {
    const connected = await ask(kumiko, "connect", agent.name, "--write", "--absolute");
    const script = new Script({ wire: agent.wire, ...stepsOf(agent, where) });
    const ended = await drive(agent, { ...where, script, program: programIn(place, agent) });
    const disk = readFileSync(path, "utf8");
    const blame = await blameOf(kumiko, disk);
    const { versions } = await ask(kumiko, "history", file);
    return { connected, script, ended, disk, blame, versions };
  } finally {
    await server.close();
  }
}

/** Who wrote what, once the server has noticed all that is on disk; what it knows in the end if it never does. */
async function blameOf(kumiko, disk) {
  const begun = Date.now();
  for (;;) {
    const { runs } = await ask(kumiko, "blame", file);
    const isWhole = runs.map(({ text }) => text).join("") === disk;
    if (isWhole || Date.now() - begun > NOTICED) return runs;
  }
}

async function drive(agent, { project, home, script, program }) {
  const provider = await startProvider(agent.wire, script);
  try {
    const { args, env } = agent.start({ project, home, url: provider.url });
    const until = AbortSignal.timeout(LIMIT);
    // Nothing of Kumiko's: the agent has to find it by what `kumiko connect` wrote.
    const all = { ...environment(), HOME: home, ...env };
    return await run(program, args, { capture: true, cwd: project, env: all, until });
  } finally {
    await provider.close();
  }
}

/** Of this machine only what a program needs: keys, settings and proxies of the person's own stay out. */
function environment() {
  const { PATH, LANG = "C.UTF-8", TMPDIR } = process.env;
  return { PATH, LANG, ...(TMPDIR !== undefined && { TMPDIR }) };
}
