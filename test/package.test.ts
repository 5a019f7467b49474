import { spawn } from "node:child_process";
import { cpSync, existsSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Ended, root, runProgram } from "./support/process.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const folder = temporaryFolder();
const installed = join(folder.path, "installed");
const command = join(installed, "node_modules", ".bin", "kumiko");
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly version: string;
  readonly exports: { readonly [name: string]: unknown };
};
const environment = {
  ...process.env,
  KUMIKO_HOME: join(folder.path, "home"),
  KUMIKO_ACTOR: "ann",
  NO_COLOR: "1",
};

/** Where npm and an older Node are looked for: not among what this project brings along. */
const path = (process.env["PATH"] ?? "")
  .split(delimiter)
  .filter((entry) => entry !== "" && !entry.includes("node_modules"));

function kumiko(...args: string[]): Promise<Ended> {
  return runProgram(process.execPath, [command, ...args], { cwd: installed, env: environment });
}

async function npm(cwd: string, ...args: string[]): Promise<void> {
  const env = { ...process.env, PATH: path.join(delimiter) };
  const ended = await runProgram("npm", [...args, "--no-audit", "--no-fund"], { cwd, env });
  if (ended.code !== 0) throw new Error(`npm ${args.join(" ")}: ${ended.stdout}${ended.stderr}`);
}

beforeAll(async () => {
  const published = join(folder.path, "published");
  for (const name of ["package.json", "bin", "README.md", "LICENSE"])
    cpSync(join(root, name), join(published, name), { recursive: true });
  const build = join(root, "scripts", "build.mjs");
  const built = await runProgram(process.execPath, [build, join(published, "dist")]);
  if (built.code !== 0) throw new Error(`it was not built: ${built.stdout}${built.stderr}`);
  await npm(published, "pack", "--ignore-scripts", "--pack-destination", folder.path);
  folder.write("installed/package.json", '{ "private": true, "type": "module" }\n');
  const tarball = join(folder.path, `kumiko-${manifest.version}.tgz`);
  await npm(installed, "install", "--prefer-offline", tarball);
}, 300_000);

afterAll(() => folder[Symbol.dispose]());

describe("the package, installed in an empty folder", () => {
  test("shows its help and its version", async () => {
    const { code, stdout, stderr } = await kumiko("--help");
    expect([code, stderr]).toEqual([0, ""]);
    for (const verb of ["serve", "mcp", "watch", "connect", "context", "block"])
      expect(stdout).toMatch(new RegExp(`^ {2}${verb}\\b`, "m"));
    expect(await kumiko("--version")).toMatchObject({ stdout: `${manifest.version}\n` });
  });

  test("keeps conversations, without a server and with one", async () => {
    expect(await kumiko("context", "new", "main")).toMatchObject({ code: 0, stderr: "" });
    const create = "block create --context main --role user --kind text --content hello";
    expect(await kumiko(...create.split(" "))).toMatchObject({ code: 0, stderr: "" });

    const server = spawn(process.execPath, [command, "serve", "--port", "0", "--json"], {
      cwd: installed,
      env: environment,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let out = "";
    const first = Promise.withResolvers<string>();
    server.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      out += chunk;
      if (out.includes("\n")) first.resolve(out.slice(0, out.indexOf("\n")));
    });
    const ended = Promise.withResolvers<number | null>();
    server.on("close", (code) => {
      ended.resolve(code);
      first.reject(new Error(`it ended with ${code}: ${out}`));
    });
    await using stack = new AsyncDisposableStack();
    stack.defer(async () => {
      server.kill("SIGKILL");
      await ended.promise;
    });
    const { url } = JSON.parse(await first.promise) as { url: string };
    const health = await fetch(`${url}/healthz`);
    expect(health.status).toBe(200);
    await health.text();
    const listed = await kumiko("context", "list", "--kernel", "main", "--json");
    expect(JSON.parse(listed.stdout)).toMatchObject({ contexts: [{ context: "main" }] });
    const read = await kumiko("block", "read", "main~ann~1", "--kernel", "main");
    expect([read.code, read.stdout]).toEqual([0, expect.stringContaining("hello")]);
    server.kill("SIGINT");
    expect(await ended.promise).toBe(0);
  });

  test("serves MCP on standard input and output", async () => {
    const messages = [
      {
        jsonrpc: "2.0",
        id: 1,
        method: "initialize",
        params: {
          protocolVersion: "2025-11-25",
          capabilities: {},
          clientInfo: { name: "package-test", version: "1" },
        },
      },
      { jsonrpc: "2.0", method: "notifications/initialized" },
      { jsonrpc: "2.0", id: 2, method: "tools/list" },
    ];
    const { code, stdout, stderr } = await runProgram(process.execPath, [command, "mcp"], {
      cwd: installed,
      env: environment,
      input: messages.map((message) => `${JSON.stringify(message)}\n`).join(""),
    });
    expect([code, stderr]).toEqual([0, ""]);
    const answers = stdout
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line) as { id?: number; result?: { tools?: { name: string }[] } });
    expect(answers.find(({ id }) => id === 1)?.result).toMatchObject({
      protocolVersion: "2025-11-25",
    });
    const names = answers.find(({ id }) => id === 2)?.result?.tools?.map(({ name }) => name);
    expect(names).toContain("block_edit");
  });

  test("gives its libraries to a plain module", async () => {
    const names = Object.keys(manifest.exports).filter((name) => !name.endsWith(".json"));
    expect(names).toEqual(expect.arrayContaining(["./blocks", "./client", "./protocol"]));
    const module = folder.write(
      "installed/libraries.js",
      `
        import { BlockDocument } from "kumiko/blocks";
        import { connect, KumikoError } from "kumiko/client";
        import { PROTOCOL_VERSION } from "kumiko/protocol";
        for (const name of ${JSON.stringify(names)}) {
          const library = await import(name.replace(".", "kumiko"));
          if (Object.keys(library).length === 0) throw new Error(name);
        }
        await using client = connect({ url: "http://127.0.0.1:1", patience: 50 });
        const refused = await client.world.whoami().catch((error) => error);
        if (!(refused instanceof KumikoError)) throw refused;
        console.log(typeof BlockDocument, PROTOCOL_VERSION, refused.code);
      `,
    );
    const { code, stdout, stderr } = await runProgram(process.execPath, [module]);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/^function \d+ offline\n$/);
  });

  test("is started by an older Node with the one it brings along", async () => {
    const nodes = path.map((entry) => join(entry, "node")).filter((file) => existsSync(file));
    const versions = await Promise.all(nodes.map((node) => runProgram(node, ["--version"])));
    const older = nodes.find((_, at) => Number(/\d+/.exec(versions[at]!.stdout)?.[0]) < 24);
    if (older === undefined) return;
    const { code, stdout, stderr } = await runProgram(
      older,
      [command, "context", "list", "--json"],
      {
        cwd: installed,
        env: { ...environment, KUMIKO_KERNEL: "main" },
      },
    );
    expect([code, stderr]).toEqual([0, ""]);
    expect(JSON.parse(stdout)).toMatchObject({ contexts: [{ context: "main" }] });
  });
});
