// Makes sure that what package-lock.json names is installed, the project's own Node included.
//
// Runs on the system's Node (20 or later). npm's own record of what it installed
// (node_modules/.package-lock.json) is compared with the lockfile, so an install by hand counts too.
// Invariant: the file `.tmp/installing` is there from before an install begins until it has
// succeeded, so one that was cut off is repeated.

import * as fs from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { run } from "./children.mjs";

export const root = fileURLToPath(new URL("..", import.meta.url));

const modules = join(root, "node_modules");
const busyFile = join(root, ".tmp", "installing");

/** The project's own Node, as the package `node` installs it. */
export const projectNode = join(
  modules,
  "node",
  "bin",
  process.platform === "win32" ? "node.exe" : "node",
);

/** Installs if needed; afterwards `projectNode` can be run. */
export async function setup() {
  if (!fs.existsSync(busyFile) && whyInstall() === null) return;
  const { cutOff, done } = await takeTurn();
  const reason = cutOff ? "the last install was not finished" : whyInstall();
  if (reason !== null) await install(reason);
  done();
}

/** Why an install is needed, or null. Costs two small files and one stat for each package. */
function whyInstall() {
  if (!fs.existsSync(modules)) return "there is no node_modules";
  if (!fs.existsSync(projectNode)) return "the project's own Node is missing";
  const installed = packagesOf(join(modules, ".package-lock.json"));
  for (const [path, locked] of Object.entries(packagesOf(join(root, "package-lock.json")))) {
    if (path === "") continue;
    const found = fs.existsSync(join(root, path)) ? installed[path] : undefined;
    // What is optional may be for another kind of machine.
    if (found === undefined && (locked.optional || locked.devOptional)) continue;
    if (found?.version !== locked.version || found?.integrity !== locked.integrity) {
      return `${path} is not what package-lock.json names`;
    }
  }
  return null;
}

function packagesOf(file) {
  return JSON.parse(readOrNull(file) ?? "{}").packages ?? {};
}

async function install(reason) {
  process.stderr.write(`Installing with npm ci, because ${reason} …\n`);
  const begun = Date.now();
  // npm must not run on the Node that it is about to delete.
  const path = (process.env.PATH ?? "").split(delimiter);
  const env = {
    ...process.env,
    PATH: path.filter((entry) => !entry.endsWith(join("node_modules", ".bin"))).join(delimiter),
  };
  // Warnings are left out because each is about the Node that only installs, not the one that runs.
  const args = ["ci", "--include=dev", "--loglevel=error", "--no-audit", "--no-fund"];
  const shell = process.platform === "win32";
  const { code, output } = await run("npm", args, { capture: true, cwd: root, env, shell });
  if (code !== 0) {
    process.stderr.write(output);
    throw new SetupError(`npm ci failed with exit code ${code}; see its message above.`);
  }
  if (!fs.existsSync(projectNode)) {
    throw new SetupError(
      "npm ci did not install the project's Node: allow install scripts (npm config ignore-scripts=false) and try again.",
    );
  }
  process.stderr.write(`Installed in ${((Date.now() - begun) / 1000).toFixed(1)} s.\n`);
}

// Two commands started at once in a fresh clone would delete each other's half-made node_modules.
// The file stays behind when its owner fails or is stopped, and so tells the next that it was.
async function takeTurn() {
  fs.mkdirSync(join(root, ".tmp"), { recursive: true });
  let cutOff = false;
  for (let told = false; ;) {
    try {
      fs.writeFileSync(busyFile, String(process.pid), { flag: "wx" });
      return { cutOff, done: () => fs.rmSync(busyFile) };
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
    }
    const owner = Number(readOrNull(busyFile));
    if (owner > 0 && !isAlive(owner)) {
      cutOff = true;
      fs.rmSync(busyFile, { force: true });
      continue;
    }
    if (!told) process.stderr.write(`Waiting for the install that process ${owner} is making …\n`);
    told = true;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

function readOrNull(file) {
  try {
    return fs.readFileSync(file, "utf8");
  } catch (error) {
    if (error.code === "ENOENT") return null;
    throw error;
  }
}

class SetupError extends Error {}

/** Runs a script's body after set-up; what fails is said in one line, without a stack. */
export async function afterSetup(body) {
  try {
    await setup();
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
    return;
  }
  process.exitCode = await body();
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await afterSetup(() => 0);
