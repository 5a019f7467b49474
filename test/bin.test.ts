import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, symlinkSync } from "node:fs";
import { delimiter, join } from "node:path";
import { describe, expect, test } from "vitest";
import { root, runProgram } from "./support/process.ts";
import { temporaryFolder, type TemporaryFolder } from "./support/temporary-folder.ts";

const projectNode = join(root, "node_modules", "node", "bin", "node");

/** A Node below 24 on PATH, outside any node_modules; the machine may have none. */
function olderNode(): string | undefined {
  return (process.env["PATH"] ?? "")
    .split(delimiter)
    .filter((folder) => !folder.includes("node_modules"))
    .map((folder) => join(folder, "node"))
    .find((file) => {
      if (!existsSync(file)) return false;
      const version = execFileSync(file, ["--version"], { encoding: "utf8" });
      return Number(/^v(\d+)/.exec(version)?.[1]) < 24;
    });
}

const old = olderNode();

/** A stand-in for the CLI, which shows what reached it. */
function standIn(types: "" | ": string[]"): string {
  return `export async function main(argv${types}) {
    console.log(JSON.stringify({ from: import.meta.url.split("/").at(-1), argv, node: process.version }));
    if (argv[0] === "wait") await new Promise((resolve) => setTimeout(resolve, 120_000));
    if (argv[0] === "never") await new Promise(() => undefined);
    if (argv[0] === "throw") throw new Error("broken on purpose");
    return Number(argv[0] ?? 0);
  }`;
}

/** A copy of the command, beside a stand-in as source and as what is published. */
function copyOfCommand(folder: TemporaryFolder, place = ""): string {
  cpSync(join(root, "bin"), join(folder.path, place, "bin"), { recursive: true });
  folder.write(join(place, "package.json"), `{ "type": "module" }`);
  folder.write(join(place, "src", "cli", "main.ts"), standIn(": string[]"));
  folder.write(join(place, "dist", "cli", "main.js"), standIn(""));
  return join(folder.path, place, "bin", "kumiko");
}

function giveProjectNode(folder: TemporaryFolder): void {
  mkdirSync(join(folder.path, "node_modules"), { recursive: true });
  symlinkSync(join(root, "node_modules", "node"), join(folder.path, "node_modules", "node"));
}

test.each([["status"], ["ls", "--json"], ["block", "read", "a.txt"]])(
  "a folder that was deleted is told to whoever stands in it: kumiko %s",
  async (...args) => {
    using place = temporaryFolder();
    const folder = join(place.path, "gone");
    mkdirSync(folder);
    const script = 'cd "$1" && rmdir "$1" && shift && exec "$@"';
    const words = ["-c", script, "sh", folder, projectNode, join(root, "bin", "kumiko"), ...args];
    const env = { ...process.env, KUMIKO_HOME: join(place.path, "home") };
    const { code, stdout, stderr } = await runProgram("sh", words, { env });
    const sentence =
      "The folder that you stand in is not there any more: go to another one, and try again there.";
    expect(code).toBe(2);
    if (args.includes("--json"))
      expect(JSON.parse(stdout)).toEqual({
        ok: false,
        error: { code: "root_gone", message: sentence, facts: {} },
      });
    else expect([stdout, stderr]).toEqual(["", `kumiko: ${sentence}\n`]);
  },
);

describe("bin/kumiko on a Node that is new enough", () => {
  test("runs the source and gives its exit code", async () => {
    using folder = temporaryFolder();
    const ended = await runProgram(projectNode, [copyOfCommand(folder), "7", "a b", "--x"]);
    expect(ended).toMatchObject({ code: 7, stderr: "" });
    expect(JSON.parse(ended.stdout)).toMatchObject({ from: "main.ts", argv: ["7", "a b", "--x"] });
  });

  test("runs dist when it lies below node_modules", async () => {
    using folder = temporaryFolder();
    const command = copyOfCommand(folder, join("node_modules", "kumiko"));
    const ended = await runProgram(projectNode, [command]);
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(ended.stdout)).toMatchObject({ from: "main.js", argv: [] });
  });

  test("ends with 1 and the reason when the CLI throws", async () => {
    using folder = temporaryFolder();
    const ended = await runProgram(projectNode, [copyOfCommand(folder), "throw"]);
    expect(ended.stderr).toContain("broken on purpose");
    expect(ended.code).toBe(1);
  });

  test("does not end as if all were well when the CLI never answers", async () => {
    using folder = temporaryFolder();
    const ended = await runProgram(projectNode, [copyOfCommand(folder), "never"]);
    expect(ended.stderr).toBe(
      "kumiko ended before it was done: this is a fault of ours, please report it.\n",
    );
    expect(ended.code).toBe(1);
  });

  test("keeps what was compiled in a folder that is the person's own", async () => {
    using folder = temporaryFolder();
    const { NODE_COMPILE_CACHE: _, ...environment } = process.env;
    const env = { ...environment, XDG_CACHE_HOME: folder.path };
    expect((await runProgram(projectNode, [copyOfCommand(folder)], { env })).code).toBe(0);
    expect(existsSync(join(folder.path, "kumiko", "compiled"))).toBe(true);
  });

  test("says what to do when nothing is built", async () => {
    using folder = temporaryFolder();
    cpSync(join(root, "bin"), join(folder.path, "bin"), { recursive: true });
    const ended = await runProgram(projectNode, [join(folder.path, "bin", "kumiko")]);
    expect(ended).toMatchObject({ code: 1, stdout: "" });
    expect(ended.stderr).toMatch(/^kumiko is not built: .*npm run build.*\n$/);
  });
});

describe.skipIf(old === undefined)("bin/kumiko on an older Node", () => {
  const oldNode = old ?? "";

  test("runs itself again with the project's Node and gives its exit code", async () => {
    using folder = temporaryFolder();
    giveProjectNode(folder);
    const ended = await runProgram(oldNode, [copyOfCommand(folder), "5", "a b"]);
    expect(ended).toMatchObject({ code: 5, stderr: "" });
    const seen = JSON.parse(ended.stdout) as { node: string };
    expect(seen).toMatchObject({ from: "main.ts", argv: ["5", "a b"] });
    expect(seen.node).toMatch(/^v24\./);
  });

  test("finds the project's Node where npm hoists it", async () => {
    using folder = temporaryFolder();
    giveProjectNode(folder);
    const command = copyOfCommand(folder, join("node_modules", "kumiko"));
    const ended = await runProgram(oldNode, [command]);
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(ended.stdout)).toMatchObject({ from: "main.js" });
  });

  test("passes a signal on and ends by it", async () => {
    using folder = temporaryFolder();
    giveProjectNode(folder);
    const child = spawn(oldNode, [copyOfCommand(folder), "wait"], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(child.stdout, "data");
    child.kill("SIGTERM");
    // "close" comes only when the second process, which holds the output too, is gone as well.
    expect(await once(child, "close")).toEqual([null, "SIGTERM"]);
  }, 20_000);

  test.each([
    ["is not installed", undefined],
    ["is itself too old", "18.0.0"],
  ])("says in one sentence what to do when the project's Node %s", async (_, version) => {
    using folder = temporaryFolder();
    const command = copyOfCommand(folder);
    if (version !== undefined) {
      folder.write("node_modules/node/package.json", JSON.stringify({ version }));
      folder.write("node_modules/node/bin/node", "");
    }
    const ended = await runProgram(oldNode, [command, "--help"]);
    expect(ended).toMatchObject({ code: 1, stdout: "" });
    expect(ended.stderr).toMatch(/^kumiko needs Node 24 or later [^\n]*npm install[^\n]*\.\n$/);
  });
});
