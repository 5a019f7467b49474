// The `kumiko` command of this clone, in a project and with a home folder of the trial's.

import { join } from "node:path";
import { run } from "../children.mjs";
import { projectNode, root } from "../setup.mjs";

const command = join(root, "bin", "kumiko");

/** Runs one verb; gives what it said with --json. */
export async function ask({ project, env }, ...words) {
  const args = [command, ...words, "--json"];
  const { code, output, printed } = await run(projectNode, args, {
    capture: true,
    cwd: project,
    env,
  });
  if (code !== 0) throw new Error(`kumiko ${words.join(" ")} ended with ${code}:\n${output}`);
  return JSON.parse(printed);
}

/** Starts a server for the project; `close` has it stop, and waits. */
export async function serve({ project, env }) {
  const stopping = new AbortController();
  const args = [command, "serve", "--port", "0", "--json", "--log", "warn"];
  let ended;
  await new Promise((resolve, reject) => {
    // It says where it is once it listens.
    const options = { capture: true, cwd: project, env, until: stopping.signal, heard: resolve };
    ended = run(projectNode, args, options);
    ended.then(({ output }) => reject(new Error(`kumiko serve ended at once:\n${output}`)), reject);
  });
  return {
    close: async () => {
      stopping.abort();
      await ended;
    },
  };
}
