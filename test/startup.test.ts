import { existsSync, readFileSync } from "node:fs";
import { relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { startServer } from "../src/app/server.ts";
import { command, type Home, temporaryHome } from "./support/kumiko.ts";
import { root, runProgram } from "./support/process.ts";

const LISTING = `
  import { registerHooks } from "node:module";
  import { writeFileSync } from "node:fs";
  const loaded = [];
  registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
  process.once("exit", () => {
    const own = process.moduleLoadList.map((name) => name.replace("NativeModule ", "file:///node/"));
    writeFileSync(process.env.LISTED, JSON.stringify([...loaded, ...own]));
  });
`;

/** The files and packages that a verb loads, as paths below the project, and modules of Node itself. */
async function loadedBy(home: Home, args: readonly string[], input = ""): Promise<string[]> {
  const { folder, environment } = home;
  const hook = pathToFileURL(folder.write("listing.mjs", LISTING)).href;
  const listed = folder.write("listed.json", "[]");
  const env = { ...environment, LISTED: listed };
  const words = ["--import", hook, command, ...args];
  const ended = await runProgram(process.execPath, words, { env, input });
  expect(ended).toMatchObject({ code: 0, stderr: "" });
  const urls = JSON.parse(readFileSync(listed, "utf8")) as string[];
  return urls
    .filter((url) => url.startsWith("file:"))
    .map((url) => relative(root, fileURLToPath(url)));
}

const native = { hook_event_name: "PreToolUse", tool_input: { file_path: "/a.txt" } };
const TOOLS = /^src\/tools\/|^src\/protocol\/(?!rpc-version|replica-frame|frame-fields)|\/zod\//;
const KERNEL = /^src\/(kernel|blocks)\/|\/loro-crdt\//;
const STORE = /^src\/store\/(?!sqlite\/lock)/;
const DATABASE = /^src\/store\/|\/better-sqlite3\//;
const DOORS = /^src\/doors\/(?!locked-file)|\/(ws|capnweb|pino|hono)\//;
const APP = /^src\/app\//;
const CLIENT = /^src\/client\//;
/** What Node has for `fetch`, which takes as long to load as all else that a verb needs of a server. */
const FETCH = /\/undici$/;
/** Without a server a verb is its own server; what only some verbs need is still left out. */
const OTHERS = [
  CLIENT,
  FETCH,
  /\/(loro-crdt|hono|ws|pino)\/|\/@parcel\/watcher\//,
  /^src\/doors\/(http\/(?!outflow|text-frame)|mcp|replica)/,
  /^src\/(tools|files)\//,
];
/** Where the system says who holds a lock, no database is opened to find the server. */
const LOCK = existsSync("/proc/locks") ? DATABASE : STORE;
const SERVING =
  /^src\/doors\/(?!locked-file)|^src\/kernel\/|^src\/blocks\/|\/(loro-crdt|pino|hono)\//;

describe("a verb loads what it needs and nothing else", () => {
  test.each([
    { args: ["--version"], spared: [TOOLS, KERNEL, DATABASE, DOORS, CLIENT, APP, /commander/] },
    { args: ["--help"], spared: [TOOLS, KERNEL, DATABASE, DOORS, CLIENT, APP] },
    { args: ["kernel", "list"], spared: [TOOLS, DATABASE, DOORS, CLIENT] },
    { args: ["block", "read", "--help"], spared: [TOOLS, KERNEL, DATABASE, DOORS, CLIENT] },
    { args: ["context", "list"], spared: OTHERS },
    { args: ["du"], spared: OTHERS },
  ])("kumiko $args", async ({ args, spared }) => {
    using home = temporaryHome();
    expect(await home.run(["context", "new", "main"])).toMatchObject({ code: 0, err: "" });
    const files = await loadedBy(home, args);
    expect(files).toContain("src/cli/main.ts");
    for (const rooms of spared) expect(files.filter((file) => rooms.test(file))).toEqual([]);
  });

  test.each([
    { args: ["context", "list"] },
    { args: ["block", "read", "main~ann~1"] },
    {
      args: [
        "block",
        "edit",
        "main~ann~1",
        "--base-version",
        "1",
        "--operations",
        '[{"op":"insert","line":0,"content":"x"}]',
      ],
    },
    { args: ["history", "main~ann~1"] },
    { args: ["search", "Hello"] },
    { args: ["mounts"] },
    // Run twice for every edit of an agent's.
    {
      args: ["hook", "claude-code", "--kernel", "main"],
      input: JSON.stringify(native),
      spared: [/commander/, /^src\/cli\/(verbs|files\/|home\/verbs)/],
    },
  ])("kumiko $args with a server", async ({ args, input = "", spared = [] }) => {
    using home = temporaryHome();
    await home.run(["context", "new", "main"]);
    const block = ["--context", "main", "--role", "user", "--kind", "text", "--content", "Hello"];
    await home.run(["block", "create", ...block]);
    await using server = await startServer({ home: home.environment["KUMIKO_HOME"]! });
    const files = await loadedBy(home, args, input);
    expect(server.hall.callsUnderWay).toBe(0);
    expect(files).toContain("src/client/client.ts");
    for (const rooms of [TOOLS, SERVING, STORE, LOCK, FETCH, ...spared])
      expect(files.filter((file) => rooms.test(file))).toEqual([]);
  });
});
