// What `npm run try:agents -- …` understands.

import { resolve } from "node:path";
import { parseArgs } from "node:util";

const known = {
  only: { type: "string", multiple: true },
  keep: { type: "string" },
  latest: { type: "boolean" },
  json: { type: "boolean" },
  help: { type: "boolean", short: "h" },
};

/** `problem` says what was wrong with the arguments. */
export function optionsOf(args, agents) {
  const names = agents.map(({ name }) => name);
  try {
    const { values } = parseArgs({ args, options: known });
    const only = (values.only ?? names).flatMap((each) => each.split(","));
    const unknown = only.find((name) => !names.includes(name));
    if (unknown !== undefined)
      return { problem: `No agent here is called ${unknown}; there are: ${names.join(", ")}.` };
    const { latest = false, json = false, help: asked = false, keep } = values;
    // npm changes to the project's folder; what is typed is meant from where the person stands.
    const stands = process.env.INIT_CWD ?? process.cwd();
    const kept = keep === undefined ? undefined : resolve(stands, keep);
    return { only, keep: kept, latest, json, help: asked };
  } catch (error) {
    if (!String(error.code).startsWith("ERR_PARSE_ARGS")) throw error;
    return { problem: error.message };
  }
}

export function help(agents) {
  const each = agents.map(
    ({ name, title, version }) => `  ${name.padEnd(12)} ${title} ${version}\n`,
  );
  return `npm run try:agents -- [options]

Installs coding agents from npm (about 1 GB for all of them) into a temporary folder, connects each to a
Kumiko server of its own, has it change a file with Kumiko's tools and with its own, and checks the file
and its blame. A server on this machine plays the model: no account is needed. Nothing else is written
but npm's cache. Ends with 0 when every check of every agent passed, else with 1.

  --only <agent>    only this one; may be repeated
  --keep <folder>   install there and leave it; what is installed there already is used
  --latest          the newest versions instead of those this was made with
  --json            one JSON value on standard output
  --help

${each.join("")}`;
}
