// Puts the agents into a folder of their own: they are no part of this project.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "../children.mjs";

/** Installs what is not there; gives what went wrong, or null. */
export async function install(agents, { place, latest, say }) {
  const wanted = agents.filter((agent) => latest || versionIn(place, agent) === null);
  if (wanted.length === 0) {
    say(`The agents in ${place} are used as they are.\n`);
    return null;
  }
  const size = wanted.reduce((sum, { megabytes }) => sum + megabytes, 0);
  const titles = wanted.map(({ title }) => title).join(", ");
  say(`Installing ${titles} from npm into ${place}: about ${size} MB …\n`);
  mkdirSync(place, { recursive: true });
  const manifest = join(place, "package.json");
  if (!existsSync(manifest)) writeFileSync(manifest, `{ "private": true }\n`);
  const packages = wanted.map((each) => `${each.package}@${latest ? "latest" : each.version}`);
  // `npm run` tells its children about this project; --prefix says that another folder is meant.
  const args = ["install", "--prefix", place, "--no-audit", "--no-fund", "--loglevel=error"];
  const shell = process.platform === "win32";
  const made = await run("npm", [...args, ...packages], { capture: true, cwd: place, shell });
  return made.code === 0 ? null : `${made.output}npm install failed with exit code ${made.code}.\n`;
}

/** Which version of an agent is installed there, or null. */
export function versionIn(place, agent) {
  const manifest = join(place, "node_modules", agent.package, "package.json");
  return existsSync(manifest) ? JSON.parse(readFileSync(manifest, "utf8")).version : null;
}

export function programIn(place, { program }) {
  return join(place, "node_modules", ".bin", program);
}
