import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { connect } from "node:net";
import { dirname, join } from "node:path";
import { setTimeout as passing } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { Deadline } from "../src/app/deadline.ts";
import { kernelOfFolder } from "../src/app/folders.ts";
import { HomeFolder } from "../src/app/index.ts";
import { openLog } from "../src/app/log.ts";
import { findServer, lockHome } from "../src/app/running.ts";
import { startServer } from "../src/app/server.ts";
import { KumikoError } from "../src/base/index.ts";
import { connect as connectClient } from "../src/client/index.ts";
import { checkScope, invocationOf } from "../src/doors/principal.ts";
import { openHall } from "./support/hall.ts";
import { ask } from "./support/http.ts";
import { command, type Home, temporaryHome } from "./support/kumiko.ts";
import { FakeTime } from "./support/kernel-workshop.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

interface Serving extends AsyncDisposable {
  readonly child: ChildProcess;
  /** What `--json` printed. */
  readonly told: {
    url: string;
    kernel: string;
    folder: string;
    link: string;
    joined: boolean;
    pid: number;
    mcp: string[];
  };
  readonly output: () => string;
  readonly ended: Promise<{ code: number | null; signal: string | null }>;
}

/** `kumiko serve` as a program of its own, on any port that is free. */
async function serving(home: Home, ...args: string[]): Promise<Serving> {
  return servingIn(home, home.folder.path, ...args);
}

async function servingIn(home: Home, folder: string, ...args: string[]): Promise<Serving> {
  const child = spawn(process.execPath, [command, "serve", "--port", "0", "--json", ...args], {
    cwd: folder,
    env: home.environment,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let out = "";
  let err = "";
  const first = Promise.withResolvers<string>();
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    out += chunk;
    if (out.includes("\n")) first.resolve(out.slice(0, out.indexOf("\n")));
  });
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => (err += chunk));
  const ended = Promise.withResolvers<{ code: number | null; signal: string | null }>();
  child.on("close", (code, signal) => {
    ended.resolve({ code, signal });
    first.reject(new Error(`it ended with ${code}: ${out}${err}`));
  });
  const told = JSON.parse(await first.promise) as Serving["told"];
  return {
    child,
    told,
    output: () => out + err,
    ended: ended.promise,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await ended.promise;
    },
  };
}

/** With numbers of its own for processes, and no longer than this one. */
const APART = ["--pid", "--fork", "--kill-child", "--mount-proc"];

function canBeApart(): boolean {
  return spawnSync("unshare", [...APART, "true"]).status === 0;
}

const portOf = (url: string): number => Number(new URL(url).port);
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const ownerOf = (home: Home): string =>
  readFileSync(join(home.environment["KUMIKO_HOME"]!, "owner.token"), "utf8").trim();

describe("kumiko serve", () => {
  test("runs one server per home; another call registers its folder there", async () => {
    using home = temporaryHome();
    const folder = join(home.folder.path, "one");
    mkdirSync(folder);
    await using one = await servingIn(home, folder);
    expect(one.told).toMatchObject({ joined: false, folder });
    const place = home.environment["KUMIKO_HOME"]!;
    for (const file of ["server.json", "tokens.json", "owner.token", "folders.json"])
      expect(statSync(join(place, file)).mode & 0o777, file).toBe(0o600);
    const other = join(home.folder.path, "another folder");
    mkdirSync(other);
    symlinkSync(other, join(home.folder.path, "link"));
    const again = async (at: string, ...args: string[]): Promise<Serving["told"]> => {
      const { code, out } = await home.run(["serve", "--json", ...args], { folder: at });
      expect(code).toBe(args.length === 0 ? 0 : 2);
      return JSON.parse(out) as Serving["told"];
    };
    expect(await again(other)).toMatchObject({
      joined: true,
      url: one.told.url,
      folder: other,
      kernel: "another-folder",
      link: expect.stringContaining(`${one.told.url}/#token=kumiko_`),
    });
    expect(await again(join(home.folder.path, "link"))).toMatchObject({ kernel: "another-folder" });
    expect(await again(folder)).toMatchObject({ kernel: one.told.kernel });
    expect(await again(other, "--port", "1")).toMatchObject({ error: { code: "in_use" } });
    const status = await home.json(["status"]);
    expect(status).toMatchObject({
      running: true,
      url: one.told.url,
      server: { pid: one.child.pid },
      kernels: [
        { kernel: "another-folder", folder: other, contexts: [] },
        { kernel: one.told.kernel, folder },
      ],
      connections: [],
    });
    const shown = await home.run(["status", "--link"]);
    expect(shown.out).toContain(`page  ${one.told.url}/#token=kumiko_`);
    expect(shown.out).toContain("nobody is connected");
  });

  test("starts when the one that was stopping is gone", async () => {
    using home = temporaryHome();
    const place = home.environment["KUMIKO_HOME"]!;
    mkdirSync(place, { recursive: true });
    const stopping = await lockHome(place, "kumiko mcp");
    const starting = servingIn(home, home.folder.path);
    // It finds that the home is taken, and by nobody who says where it is.
    await passing(1_500);
    stopping[Symbol.dispose]();
    await using server = await starting;
    expect(server.told).toMatchObject({ joined: false });
  });

  test("says what an agent needs, and how to reach it", async () => {
    using home = temporaryHome();
    await using server = await startServer({
      home: home.environment["KUMIKO_HOME"]!,
      folder: home.folder.path,
    });
    const { out } = await home.run(["serve"]);
    expect(out).toContain(`already runs at ${server.url}`);
    for (const agent of ["Claude Code", "Codex", "opencode", "Cursor"])
      expect(out).toContain(agent);
    // One line to each that can be typed as it is; this home is not where an agent would look by itself.
    expect(out).toMatch(/^ {2}Codex {8}\S+ connect codex --write --absolute$/m);
    await home.run(["connect", "codex", "--write", "--absolute"]);
    const place = home.environment["KUMIKO_HOME"]!;
    expect(readFileSync(join(home.folder.path, ".codex/config.toml"), "utf8")).toContain(place);
  });

  test("starts again where a killed one left its files, and trusts none of them", async () => {
    using home = temporaryHome();
    const place = home.environment["KUMIKO_HOME"]!;
    let port: number;
    {
      await using one = await serving(home);
      port = portOf(one.told.url);
      expect(await findServer(place)).toMatchObject({ pid: one.child.pid, url: one.told.url });
      one.child.kill("SIGKILL");
      expect(await one.ended).toMatchObject({ signal: "SIGKILL" });
    }
    expect(readFileSync(join(place, "server.json"), "utf8")).toContain(String(port));
    // Somebody else may have got the port: it must not be sent the owner's token.
    const asked: string[] = [];
    await using thief = createServer((request, response) => {
      asked.push(String(request.headers.authorization));
      response.end("{}");
    });
    const listening = Promise.withResolvers<void>();
    thief.listen(port, "127.0.0.1", () => listening.resolve());
    await listening.promise;
    expect((await home.json(["status"]))["running"]).toBe(false);
    expect((await home.run(["status"])).code).toBe(1);
    const owner = ownerOf(home);
    await using two = await serving(home);
    expect(two.told.joined).toBe(false);
    expect(asked).toEqual([]);
    expect(ownerOf(home)).toBe(owner);
    const answered = await ask(portOf(two.told.url), {
      path: "/status.json",
      headers: bearer(owner),
    });
    expect(answered.status).toBe(200);
  });

  test.skipIf(!canBeApart())(
    "is found although the system gives it another number here, as in a container",
    async () => {
      using home = temporaryHome();
      const serve = [process.execPath, command, "serve", "--port", "0", "--json"];
      const child = spawn("unshare", [...APART, ...serve], {
        cwd: home.folder.path,
        env: home.environment,
        stdio: ["ignore", "pipe", "inherit"],
      });
      const ended = once(child, "close");
      try {
        const [said] = (await once(child.stdout, "data")) as [Buffer];
        const { url, pid } = JSON.parse(said.toString()) as Serving["told"];
        expect(pid).toBe(1);
        const found = await findServer(home.environment["KUMIKO_HOME"]!);
        expect(found).toMatchObject({ pid, url });
      } finally {
        child.kill("SIGKILL");
        await ended;
      }
    },
  );

  test("Ctrl-C ends what listens, with a reason, and exits with 0", async () => {
    using home = temporaryHome();
    await using one = await serving(home);
    const port = portOf(one.told.url);
    const socket = new WebSocket(`ws://127.0.0.1:${port}/rpc`, { headers: bearer(ownerOf(home)) });
    const open = Promise.withResolvers<void>();
    const closed = Promise.withResolvers<number>();
    socket.on("open", () => open.resolve());
    socket.on("error", open.reject);
    socket.on("close", (code) => closed.resolve(code));
    await open.promise;
    one.child.kill("SIGINT");
    expect(await closed.promise).toBe(1001);
    expect(await one.ended).toEqual({ code: 0, signal: null });
    expect((await home.json(["status"]))["running"]).toBe(false);
  });

  test("Ctrl-C does not wait until it is forgotten who was here", async () => {
    using home = temporaryHome();
    await using one = await serving(home);
    const { url, kernel } = one.told;
    await using client = connectClient({ url, token: ownerOf(home) });
    const attached = client.kernel(kernel);
    await attached.createContext({ context: "talk" });
    const made = await attached.executeTool({
      name: "block_create",
      context: "talk",
      arguments: { role: "user", kind: "text", content: "text" },
    });
    const replica = attached.replica((made as { block_id: string }).block_id);
    await replica.ready();
    // What an agent was last seen doing is shown for half a minute.
    await attached.executeTool({ name: "block_read", arguments: { block_id: replica.block } });
    const began = performance.now();
    one.child.kill("SIGINT");
    expect(await one.ended).toEqual({ code: 0, signal: null });
    expect(performance.now() - began).toBeLessThan(15_000);
  });

  test("a second Ctrl-C does not wait", async () => {
    using home = temporaryHome();
    await using one = await serving(home);
    const port = portOf(one.told.url);
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => undefined);
    socket.write(
      `POST /tokens HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${ownerOf(home)}\r\n` +
        "Content-Type: application/json\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n",
    );
    const heard = Promise.withResolvers<void>();
    socket.once("data", () => heard.resolve());
    await heard.promise;
    one.child.kill("SIGINT");
    const stopping = Promise.withResolvers<void>();
    socket.once("close", () => stopping.resolve());
    // It drains as soon as it takes nobody in any more.
    for (;;) {
      const refused = await ask(port, { path: "/readyz" }).then(
        () => false,
        () => true,
      );
      if (refused) break;
    }
    const began = performance.now();
    one.child.kill("SIGINT");
    // A shell says 130 of that.
    expect(await one.ended).toEqual({ code: null, signal: "SIGINT" });
    expect(performance.now() - began).toBeLessThan(2000);
  });

  test.runIf(process.platform === "linux")(
    "opens a browser without showing the link to everyone on the machine",
    async () => {
      using home = temporaryHome();
      const seen = join(home.folder.path, "seen");
      execFileSync("mkfifo", [seen]);
      const opener = home.folder.write(
        "bin/xdg-open",
        `#!/bin/sh\n{ stat -c %a "$1"; echo "$@"; } > ${seen}\n`,
      );
      chmodSync(opener, 0o755);
      home.environment["PATH"] = `${dirname(opener)}:${process.env["PATH"]}`;
      const opened = readFile(seen, "utf8");
      await using one = await serving(home, "--open");
      const [mode, file] = (await opened).split("\n");
      expect(mode).toBe("600");
      expect(file).toBe(join(home.environment["KUMIKO_HOME"]!, "open.html"));
      expect(readFileSync(file!, "utf8")).toContain(one.told.link);
      one.child.kill("SIGINT");
      expect(await one.ended).toEqual({ code: 0, signal: null });
      expect(existsSync(file!)).toBe(false);
    },
  );

  test("no secret is in what it logs, counts or refuses, however much it says", async () => {
    using home = temporaryHome();
    await using one = await serving(home, "--log", "trace");
    const port = portOf(one.told.url);
    const owner = ownerOf(home);
    const made = await home.json([
      "token",
      "new",
      "--for",
      "claude",
      "--scopes",
      "read,write,mint",
    ]);
    const agent = String(made["token"]);
    const link = one.told.link.split("#token=")[1]!;
    const secrets = [owner, agent, link];
    const seen: string[] = [];
    const json = { "content-type": "application/json" };
    for (const headers of [
      {},
      ...secrets.flatMap((token) => [
        bearer(token),
        bearer(`${token.slice(0, -1)}!`),
        bearer(token.slice(0, 40)),
        { cookie: `kumiko_session=${token}` },
        { "sec-websocket-protocol": `kumiko, bearer.${token}` },
        { host: `${token}.example` },
        { origin: `http://${token}` },
        { traceparent: token },
      ]),
    ]) {
      for (const [method, path, body] of [
        ["GET", "/status.json", undefined],
        ["GET", `/none?token=${agent}`, undefined],
        ["GET", "/metrics", undefined],
        ["POST", "/tokens", `{"label":"x","${agent}":1}`],
        ["POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"${agent}"}`],
        ["POST", "/kernels", `{"folder":"/none"}`],
        ["POST", "/session", `{"token":"${agent.slice(0, -2)}zz"}`],
      ] as const) {
        const answered = await ask(port, {
          method,
          path,
          headers: { ...headers, ...(body && json) },
          ...(body && { body }),
        });
        // What a caller itself sent may come back to it; nothing else.
        const own = JSON.stringify([headers, path, body]);
        seen.push(
          ...secrets.filter(
            (each) => !own.includes(each) && answered.body.includes(each.slice(20)),
          ),
        );
      }
    }
    const metrics = await ask(port, { path: "/metrics", headers: bearer(owner) });
    expect(metrics.status).toBe(200);
    await home.json(["token", "revoke", String(made["id"])]);
    one.child.kill("SIGINT");
    await one.ended;
    expect(seen).toEqual([]);
    const printed = one.output().replace(one.told.link, "");
    const title = `${one.told.mcp.join(" ")} ${metrics.body}`;
    for (const secret of secrets) {
      expect(printed).not.toContain(secret.slice(20));
      expect(title).not.toContain(secret.slice(20));
    }
    expect(printed).toContain('"level":"debug"');
    expect(metrics.body).not.toContain(home.folder.path);
  });
});

describe("a server", () => {
  test("that stops writes what was appended, refuses new calls and gives its home back", async () => {
    using home = temporaryFolder();
    let block: string;
    {
      await using server = await startServer({ home: home.path, folder: home.path });
      const { hall } = server;
      const owner = await hall.tokens.authenticate(server.ownerToken);
      const kernel = await hall.kernelOf(owner, server.kernel!);
      await kernel.contexts.create("main", "ann");
      const call = (name: string, input: object) =>
        hall.callTool(owner, kernel, { name, input, given: { context: "main" } });
      const made = await call("block_create", { role: "user", kind: "text" });
      block = (made as { block_id: string }).block_id;
      await call("block_append", { block_id: block, text: "not yet flushed" });
      await expect(startServer({ home: home.path })).rejects.toMatchObject({ code: "in_use" });
      const closing = server.close();
      await expect(call("block_read", { block_id: block })).rejects.toMatchObject({
        code: "closing",
      });
      expect(await closing).toEqual([]);
      await expect(ask(server.port, { path: "/readyz" })).rejects.toThrow("ECONNREFUSED");
    }
    await using again = await startServer({ home: home.path, folder: home.path });
    const kernel = await again.hall.world.open(again.kernel!);
    expect((await kernel.read(block)).text).toBe("not yet flushed");
  });

  test("that cannot wait any longer says for what", async () => {
    using home = temporaryFolder();
    const lines: string[] = [];
    const log = await openLog({
      level: "warn",
      readable: false,
      write: (line) => lines.push(line),
    });
    const server = await startServer({ home: home.path, draining: 100, log });
    const socket = connect(server.port, "127.0.0.1");
    socket.on("error", () => undefined);
    socket.write(
      `POST /tokens HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${server.ownerToken}\r\n` +
        "Content-Type: application/json\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n",
    );
    const heard = Promise.withResolvers<void>();
    socket.once("data", () => heard.resolve());
    await heard.promise;
    expect(await server.close()).toEqual(["1 request"]);
    expect(lines.join("")).toContain("stopped without waiting");
    socket.destroy();
  });

  test("takes another port when its own is taken, if it may", async () => {
    using first = temporaryFolder();
    using second = temporaryFolder();
    await using one = await startServer({ home: first.path });
    const { port } = one;
    await expect(startServer({ home: second.path, port })).rejects.toMatchObject({
      code: "in_use",
      message: expect.stringContaining(`port ${port}`),
    });
    await using two = await startServer({ home: second.path, port, anyPort: true });
    expect(two.port).not.toBe(port);
  });

  test("answers to further names when it is told to", async () => {
    using home = temporaryFolder();
    await using server = await startServer({ home: home.path, allowHosts: ["Kumiko.Example"] });
    const askAs = async (host: string, origin?: string): Promise<number> => {
      const headers = { host, ...bearer(server.ownerToken), origin };
      return (await ask(server.port, { path: "/status.json", headers })).status;
    };
    expect(await askAs("kumiko.example")).toBe(200);
    expect(await askAs("kumiko.example", "https://kumiko.example")).toBe(200);
    expect(await askAs("kumiko.example", "https://evil.example")).toBe(403);
    expect(await askAs("other.example")).toBe(403);
  });

  test("counts calls by tool and outcome, whatever a caller names", async () => {
    using home = temporaryFolder();
    await using server = await startServer({ home: home.path, folder: home.path });
    const { hall } = server;
    const owner = await hall.tokens.authenticate(server.ownerToken);
    const kernel = await hall.kernelOf(owner, server.kernel!);
    const call = (name: string, input: object) => hall.callTool(owner, kernel, { name, input });
    await call("block_list", { context: "main" }).catch(() => undefined);
    for (const name of ["block_nothing", 'x"} 1\nevil 2'])
      await expect(call(name, {})).rejects.toMatchObject({ code: "unknown_tool" });
    const { body } = await ask(server.port, {
      path: "/metrics",
      headers: bearer(server.ownerToken),
    });
    expect(body).toContain('kumiko_calls_total{tool="unknown",outcome="unknown_tool"} 2');
    expect(body).toMatch(/kumiko_calls_total\{tool="block_list",outcome="\w+"\} 1/);
    expect(body).toMatch(/kumiko_call_seconds_bucket\{tool="unknown",le="\+Inf"\} 2/);
    expect(body).toContain(`kumiko_journal_position{kernel="${server.kernel}"} 0`);
    expect(body).not.toContain("evil");
    for (const line of body.trimEnd().split("\n"))
      expect(line).toMatch(/^(# (HELP|TYPE) \w+ .+|\w+(\{(\w+="[^"\n]*",?)+\})? [\d.e+-]+)$/);
  });
});

describe("a server of a large folder", () => {
  test("answers at once, and tells how far it is until everything was looked at", async () => {
    using home = temporaryFolder();
    using folder = temporaryFolder();
    const files = 12_000;
    for (let at = 0; at < files; at++) folder.write(`${at % 100}/${at}.txt`, "");
    await using server = await startServer({ home: home.path, folder: folder.path });
    const told: { done: number; state: string }[] = [];
    await server.watched((notice) => told.push(notice));
    expect(told.at(-1)).toMatchObject({ done: files, state: "done" });
    expect(told.map(({ done }) => done)).toEqual(
      told.map(({ done }) => done).toSorted((a, b) => a - b),
    );
    // Nobody waits for what is done.
    const before = told.length;
    await server.watched((notice) => told.push(notice));
    expect(told).toHaveLength(before);
  });
});

describe("the kernel of a folder", () => {
  test("is found by its real path, and no two share one", async () => {
    using at = temporaryFolder();
    const home = new HomeFolder(join(at.path, "home"), "a test");
    mkdirSync(join(at.path, "home"));
    const kernelOf = async (...path: string[]): Promise<string> => {
      const folder = join(at.path, ...path);
      mkdirSync(folder, { recursive: true });
      return (await kernelOfFolder(home, folder)).kernel;
    };
    expect(await kernelOf("a", "My Project!")).toBe("my-project");
    const second = await kernelOf("b", "my.project");
    expect(second).toMatch(/^my-project-[0-9a-f]{8}$/);
    expect(await kernelOf("b", "my.project")).toBe(second);
    expect(await kernelOf("a", "My Project!")).toBe("my-project");
    // The kernel of verbs that name none is no folder's.
    expect(await kernelOf("main")).toMatch(/^main-[0-9a-f]{8}$/);
    expect(await kernelOf("木組み")).toBe("folder");
    expect(await kernelOf("x".repeat(200))).toBe("x".repeat(32));
    expect(await kernelOf("c", "x".repeat(200))).toMatch(/^x{23}-[0-9a-f]{8}$/);
    await home.create("taken");
    expect(await kernelOf("taken")).toMatch(/^taken-/);
    const both = await Promise.all([kernelOf("d", "same"), kernelOf("e", "same")]);
    expect(new Set(both).size).toBe(2);
    const missing = join(at.path, "missing");
    await expect(kernelOfFolder(home, missing)).rejects.toMatchObject({ code: "invalid_argument" });
    await expect(kernelOfFolder(home, at.write("file", ""))).rejects.toMatchObject({
      code: "invalid_argument",
    });
    writeFileSync(join(at.path, "home", "folders.json"), "{}");
    await expect(kernelOf("a")).rejects.toMatchObject({ code: "damaged" });
  });
});

describe("a principal", () => {
  test("acts in its own name, or in another's if its token says so", async () => {
    await using at = await openHall();
    const plain = (await at.mint({ actor: "claude" })).principal;
    expect(invocationOf(plain, { call: "1" })).toMatchObject({ actor: "claude", call: "1" });
    expect(() => invocationOf(plain, { actor: "ann" })).toThrow(KumikoError);
    const may = (await at.mint({ actor: "claude", scopes: ["read", "act_as"] })).principal;
    expect(invocationOf(may, { actor: "ann" })).toMatchObject({ actor: "ann" });
    expect(() => invocationOf(may, { actor: "Not A Name" })).toThrow(KumikoError);
    expect(() => checkScope(may, "write")).toThrow(
      expect.objectContaining({
        code: "forbidden",
        facts: expect.objectContaining({ needed: "write" }),
      }),
    );
  });

  test("is given up with its call, and its call with it", async () => {
    await using at = await openHall();
    const { token, principal } = await at.mint({});
    const own = new AbortController();
    const { signal } = invocationOf(principal, { signal: own.signal });
    const alone = invocationOf(principal, {}).signal!;
    own.abort();
    expect([signal!.aborted, alone.aborted]).toEqual([true, false]);
    await at.hall.tokens.revoke(at.owner.principal, token.split("_")[1]!);
    expect(alone.reason).toMatchObject({ code: "unauthorised" });
    const kernel = await at.hall.world.open("main");
    await expect(
      at.hall.callTool(principal, kernel, { name: "block_list", input: { context: "main" } }),
    ).rejects.toMatchObject({ code: "unauthorised" });
  });

  test("needs write for what writes, and may read without", async () => {
    await using at = await openHall();
    const reader = (await at.mint({ scopes: ["read"] })).principal;
    const kernel = await at.hall.kernelOf(reader, "main");
    const call = (name: string, input: object) =>
      at.hall.callTool(reader, kernel, { name, input, given: { context: "main" } });
    expect(await call("block_list", {})).toMatchObject({ blocks: [] });
    for (const { name } of at.hall.registry.list().filter(({ writes }) => writes))
      await expect(call(name, {})).rejects.toMatchObject({ code: "forbidden" });
    expect(await at.hall.listKernels(reader)).toMatchObject([{ kernel: "main" }]);
  });
});

test("a deadline is for all that is waited for together", async () => {
  const time = new FakeTime();
  using deadline = new Deadline(100, time.timers);
  await deadline.wait(Promise.resolve(), () => "nothing");
  const never = new Promise(() => undefined);
  const first = deadline.wait(never, () => "the first");
  time.pass(100);
  await first;
  await deadline.wait(never, () => "the second");
  expect(deadline.gaveUp).toEqual(["the first", "the second"]);
});

test("the log is for people in a terminal, and JSON otherwise", async () => {
  for (const readable of [true, false]) {
    let text = "";
    const log = await openLog({ level: "info", readable, write: (line) => (text += line) });
    log.debug("not this");
    log.warn({ door: "/rpc", err: new Error(`kumiko_${"a".repeat(12)}_secret`) }, "it broke");
    expect(text).not.toContain("not this");
    expect(text).not.toContain("_secret");
    if (readable) expect(text).toMatch(/^\d\d:\d\d:\d\d warn  it broke {2}door=\/rpc\n {2}Error: /);
    else expect(JSON.parse(text)).toMatchObject({ level: "warn", msg: "it broke", door: "/rpc" });
  }
});

test("what others say stays on its line of the log", async () => {
  let text = "";
  const log = await openLog({ level: "info", readable: true, write: (line) => (text += line) });
  const said = "\u001b]0;owned\u0007\r\n12:00:00 info  a lie\u0085\u009b2J\u2028\u202e";
  const error = Object.assign(new Error(said), { stack: `Error: ${said}\n    at somewhere` });
  log.warn({ name: said, deep: { [said]: said }, [said]: 1, err: error }, said);
  expect(text).not.toMatch(/[^\n\x20-\x7e]/);
  const [first, ...below] = text.trimEnd().split("\n");
  expect(first).toMatch(/^\d\d:\d\d:\d\d warn  \\u001b]0;owned/);
  expect(below.length).toBeGreaterThan(1);
  for (const line of below) expect(line).toMatch(/^ {2}/);
});
