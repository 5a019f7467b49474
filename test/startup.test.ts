import { readFileSync } from "node:fs";
import { relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { command } from "./support/kumiko.ts";
import { root, runProgram } from "./support/process.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const LISTING = `
  import { registerHooks } from "node:module";
  import { writeFileSync } from "node:fs";
  const loaded = [];
  registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
  process.once("exit", () => writeFileSync(process.env.LISTED, JSON.stringify(loaded)));
`;

/** The files and packages that a verb loads, as paths below the project. */
async function loadedBy(...args: string[]): Promise<string[]> {
  using folder = temporaryFolder();
  const hook = pathToFileURL(folder.write("listing.mjs", LISTING)).href;
  const listed = folder.write("listed.json", "[]");
  const env = { ...process.env, LISTED: listed, KUMIKO_HOME: `${folder.path}/home` };
  const made = await runProgram(process.execPath, [command, "context", "new", "main"], { env });
  expect(made).toMatchObject({ code: 0, stderr: "" });
  const ended = await runProgram(process.execPath, ["--import", hook, command, ...args], { env });
  expect(ended).toMatchObject({ code: 0, stderr: "" });
  const urls = JSON.parse(readFileSync(listed, "utf8")) as string[];
  return urls
    .filter((url) => url.startsWith("file:"))
    .map((url) => relative(root, fileURLToPath(url)));
}

const TOOLS = /^src\/tools\/|^src\/protocol\/|\/zod\//;
const KERNEL = /^src\/(kernel|store|blocks|app)\/|\/(better-sqlite3|loro-crdt)\//;
const DOORS = /^src\/doors\//;

describe("a verb loads what it needs and nothing else", () => {
  test.each([
    { args: ["--version"], spared: [TOOLS, KERNEL, DOORS, /commander/] },
    { args: ["--help"], spared: [TOOLS, KERNEL, DOORS] },
    { args: ["kernel", "list"], spared: [TOOLS, DOORS, /^src\/store\//, /better-sqlite3/] },
    { args: ["context", "list"], spared: [TOOLS, DOORS, /loro-crdt/] },
    { args: ["du"], spared: [TOOLS, DOORS, /loro-crdt/] },
  ])("kumiko $args", async ({ args, spared }) => {
    const files = await loadedBy(...args);
    expect(files).toContain("src/cli/main.ts");
    for (const rooms of spared) expect(files.filter((file) => rooms.test(file))).toEqual([]);
  });
});
