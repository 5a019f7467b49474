import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { RpcSession, RpcTarget } from "capnweb";
import { describe, expect, test } from "vitest";
import { WebSocketServer } from "ws";
import { HomeFolder } from "../src/app/index.ts";
import { lockHome, writeNote } from "../src/app/running.ts";
import { startServer } from "../src/app/server.ts";
import { command, type Home, temporaryHome } from "./support/kumiko.ts";
import { runProgram } from "./support/process.ts";
import { serving } from "./support/serving.ts";

const placeOf = (home: Home): string => home.environment["KUMIKO_HOME"]!;

type Json = { [name: string]: unknown };

/** What is never the same twice. */
function steady(value: unknown, home: Home): unknown {
  const text = JSON.stringify(value)
    .replaceAll(home.folder.path, "/here")
    .replaceAll(/"(time|created|since|bytes|total|history|journal|scratch)":\d+/g, '"$1":0')
    .replaceAll(/"(time|created)":\[\d+\]/g, '"$1":0')
    .replaceAll(/"bytes":\{[^}]*\}/g, '"bytes":0')
    .replaceAll(/"call":"[^"]*",?/g, "")
    // With a server each call has an id, so that it can be made again.
    .replaceAll(/"calls":\d+/g, '"calls":0')
    .replaceAll(/"edit":"[^"]*"/g, '"edit":"e"')
    .replaceAll(/"flipped":"[^"]*"/g, '"flipped":"e"');
  return JSON.parse(text);
}

const BLOCK = "main~ann~1";
const patch = `--- a/${BLOCK}\n+++ b/${BLOCK}\n@@ -1,2 +1,2 @@\n one\n-two\n+zwei\n`;

/** One session with every verb that there is; each by its own process, as far as the kernel can tell. */
const session: readonly { readonly args: readonly string[]; readonly input?: string }[] = [
  { args: ["context", "new", "main"] },
  { args: ["context", "new", "main"] },
  { args: ["context", "new", "side", "--actor", "ben"] },
  { args: ["context", "list"] },
  { args: ["context", "join", "main", "--instance", "desk"] },
  {
    args: [
      "block",
      "create",
      "--context",
      "main",
      "--role",
      "user",
      "--kind",
      "text",
      "--content",
      "-",
    ],
    input: "one\ntwo\nthree\n",
  },
  { args: ["block", "read", BLOCK] },
  { args: ["block", "read", BLOCK, "--range", "2:3"] },
  {
    args: ["block", "edit", BLOCK, "--operations", '[{"op":"delete","start_line":0,"end_line":1}]'],
  },
  { args: ["block", "replace", BLOCK, "--old", "three", "--new", "drei", "--actor", "ben"] },
  { args: ["block", "apply-patch", "--patch", "-"], input: patch },
  { args: ["block", "append", BLOCK, "--text", "four\n", "--call-id", "c1"] },
  { args: ["block", "append", BLOCK, "--text", "four\n", "--call-id", "c1"] },
  { args: ["block", "append", BLOCK, "--text", "five\n", "--call-id", "c1"] },
  { args: ["undo", "--actor", "ben"] },
  { args: ["redo", "--actor", "ben"] },
  { args: ["rollback", BLOCK, "1"] },
  { args: ["history", BLOCK] },
  { args: ["blame", BLOCK] },
  { args: ["diff", BLOCK, "1", "2"] },
  { args: ["diff", BLOCK, "1", "now"] },
  { args: ["search", "two"] },
  { args: ["search", BLOCK, "two"] },
  { args: ["block", "list", "--context", "main"] },
  { args: ["block", "list", "--context", "nowhere"] },
  { args: ["block", "status", BLOCK, "running"] },
  { args: ["context", "show", "main"] },
  { args: ["context", "show", "nowhere"] },
  { args: ["context", "leave", "main", "--instance", "desk"] },
  { args: ["kernel", "new", "other"] },
  { args: ["kernel", "new", "other"] },
  { args: ["kernel", "list"] },
  { args: ["context", "list", "--kernel", "other"] },
  { args: ["context", "list", "--kernel", "nowhere"] },
  { args: ["du"] },
  { args: ["retention", "set", "--answered-calls", "7"] },
  { args: ["retention", "show"] },
  { args: ["retention", "apply"] },
  { args: ["purge", "text", "four", "--dry-run"] },
  { args: ["purge", "text", "four", "--yes", "--message", "a secret"] },
  { args: ["purge", "text", "four"] },
  { args: ["export", "out"] },
  { args: ["export", "out"] },
  { args: ["export", "out", "--force", "--at-position", "3"] },
  { args: ["export", "out2", "--context", "nowhere"] },
  { args: ["doctor"] },
];

async function play(home: Home): Promise<unknown[]> {
  const said: unknown[] = [];
  for (const { args, input } of session) {
    const setting = input === undefined ? {} : { input };
    const { code, out, err } = await home.run([...args, "--json"], setting);
    const people = /^(context list|history|blame)/.test(args.join(" "))
      ? (await home.run(args, setting)).out.replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/g, "then")
      : "";
    const answer = JSON.parse(out) as Json;
    delete answer["server"];
    said.push({ args, code, err, answer: steady(answer, home), lines: people.split("\n").length });
  }
  return said;
}

function exported(home: Home): { [name: string]: string } {
  const folder = join(home.folder.path, "out");
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((each) =>
    each.isFile(),
  );
  return Object.fromEntries(
    files.map(({ parentPath, name }) => {
      const text = readFileSync(join(parentPath, name), "utf8");
      return [name, JSON.stringify(steady(name === "index.json" ? JSON.parse(text) : text, home))];
    }),
  );
}

/** Runs `kumiko` as a program with these words, which serves meanwhile, and stops it as Ctrl-C does. */
async function whileServing(
  home: Home,
  words: readonly string[],
  meanwhile: (told: Json) => Promise<void>,
): Promise<void> {
  const args = [command, ...words, "--port", "0", "--json", "--log", "error"];
  const child = spawn(process.execPath, args, {
    cwd: home.folder.path,
    env: home.environment,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "close");
  try {
    const [line] = (await once(createInterface(child.stdout), "line")) as [string];
    await meanwhile(JSON.parse(line) as Json);
  } finally {
    child.kill("SIGINT");
    expect(await ended).toEqual([0, null]);
  }
}

describe("a verb with a server", () => {
  test("does and says what it does without one", async () => {
    using alone = temporaryHome();
    using served = temporaryHome();
    const without = await play(alone);
    await using server = await startServer({ home: placeOf(served) });
    const before = server.hall.metrics.render();
    expect(await play(served)).toEqual(without);
    expect(exported(served)).toEqual(exported(alone));
    // It was the server that did it, for each verb that asks.
    expect(server.hall.metrics.render()).not.toBe(before);
    expect(await server.hall.world.opened()).toHaveLength(2);
  });

  test("leaves what it made running for the next command", async () => {
    using home = temporaryHome();
    await using stack = new AsyncDisposableStack();
    stack.use(await startServer({ home: placeOf(home) }));
    await home.run(["context", "new", "main"]);
    const create = "block create --context main --role model --kind text".split(" ");
    expect(await home.program(create)).toMatchObject({ code: 0, stderr: "" });
    const append = ["block", "append", BLOCK, "--text", "Hel"];
    expect(await home.program(append)).toMatchObject({ code: 0, stderr: "" });
    expect(await home.json(["block", "read", BLOCK])).toMatchObject({ status: "running" });
    await home.program(["block", "append", BLOCK, "--text", "lo"]);
    expect(await home.json(["block", "status", BLOCK, "done"])).toMatchObject({ ok: true });
    expect(await home.json(["block", "read", BLOCK])).toMatchObject({ status: "done" });
    expect((await home.run(["block", "read", BLOCK, "--no-line-numbers"])).out).toBe("Hello");
  });

  test("uses the kernel of its folder, or of the nearest above it", async () => {
    using home = temporaryHome();
    const project = join(home.folder.path, "project");
    const inner = join(project, "src", "deep");
    const other = join(home.folder.path, "elsewhere");
    for (const folder of [inner, other]) mkdirSync(folder, { recursive: true });
    for (const withServer of [true, false]) {
      await using stack = new AsyncDisposableStack();
      if (withServer) stack.use(await startServer({ home: placeOf(home), folder: project }));
      const kernelIn = async (folder: string, ...args: string[]): Promise<unknown> => {
        const { out } = await home.run(["context", "new", "x", "--json", ...args], { folder });
        const { kernel, error } = JSON.parse(out) as { kernel?: string; error?: Json };
        return kernel ?? error?.["code"];
      };
      const known = withServer ? "" : "already_exists";
      expect(await kernelIn(inner)).toBe(known || "project");
      expect((await home.json(["context", "list"], { folder: inner }))["kernel"]).toBe("project");
      expect((await home.json(["context", "list"], { folder: project }))["kernel"]).toBe("project");
      expect(await kernelIn(other)).toBe(known || "main");
      expect(await kernelIn(inner, "--kernel", "nowhere")).toBe("unknown_kernel");
      const environment = { KUMIKO_KERNEL: "main" };
      expect((await home.json(["context", "list"], { folder: inner, environment }))["kernel"]).toBe(
        "main",
      );
    }
  });

  test("has read nothing yet, unless it shares a reader", async () => {
    using home = temporaryHome();
    await using stack = new AsyncDisposableStack();
    stack.use(await startServer({ home: placeOf(home) }));
    await home.run(["context", "new", "main"]);
    const content = ["--context", "main", "--role", "user", "--kind", "text", "--content", "a\nb"];
    await home.run(["block", "create", ...content]);
    const edit = [
      "block",
      "edit",
      BLOCK,
      "--operations",
      '[{"op":"insert","line":1,"content":"x"}]',
    ];
    await home.run(["block", "read", BLOCK]);
    expect(await home.json(edit)).toMatchObject({ error: { code: "base_required" } });
    const setting = { environment: { KUMIKO_READER: "mine" } };
    await home.run(["block", "read", BLOCK], setting);
    expect(await home.json(edit, setting)).toMatchObject({ ok: true, version: 2 });
  });

  test("follows blocks, and is told where to go on when the server stops", async () => {
    using home = temporaryHome();
    const child = await (async () => {
      await using server = await startServer({ home: placeOf(home), draining: 5_000 });
      await home.run(["context", "new", "main"]);
      const content = ["--context", "main", "--role", "user", "--kind", "text", "--content", "a"];
      const started = spawn(
        process.execPath,
        [command, "block", "subscribe", "--from", "0", "--json"],
        { cwd: home.folder.path, env: home.environment },
      );
      const lines: string[] = [];
      const two = Promise.withResolvers<void>();
      started.stdout.setEncoding("utf8").on("data", (chunk: string) => {
        lines.push(...chunk.split("\n").filter(Boolean));
        if (lines.length >= 2) two.resolve();
      });
      await home.run(["block", "create", ...content]);
      await home.run(["block", "append", BLOCK, "--text", "b"]);
      await two.promise;
      expect(lines.map((line) => (JSON.parse(line) as Json)["version"])).toEqual([1, 2]);
      expect(server.hall.callsUnderWay).toBe(0);
      const ended = Promise.withResolvers<number | null>();
      started.on("close", (code) => ended.resolve(code));
      return { lines, ended: ended.promise };
    })();
    expect(await child.ended).toBe(2);
    expect(JSON.parse(child.lines.at(-1)!)).toMatchObject({
      ok: false,
      error: { message: expect.stringContaining("--from 2"), facts: { position: 2 } },
    });
  });
});

describe("a server that is started with what is said of its folder", () => {
  test("mounts it so, and it stays so", async () => {
    using home = temporaryHome();
    home.folder.write("docs/a.md", "a\n");
    home.folder.write("deep/b.md", "b\n");
    const folder = home.folder.path;
    const rules = ["docs/**=read_only"];
    const mounts = async () => (await home.json(["mounts"]))["mounts"];
    const unreadable = await home.run(["serve", "--rule", "docs/**=nonsense", "--log", "silent"]);
    expect(unreadable.code).toBe(2);
    expect(unreadable.err).toContain('The rule "docs/**=nonsense" is not written pattern=level');
    expect(readdirSync(folder)).not.toContain("home");
    // Without a verb it is the same.
    await whileServing(home, ["--manual-save", "--rule", ...rules], async (told) => {
      expect(told).toMatchObject({ folder, manual: true, rules });
      expect(await mounts()).toMatchObject([{ folder, manual: true, rules }]);
      expect((await home.run(["rules", "test", "docs/a.md"])).out).toMatch(
        /^docs\/a\.md is read_only/,
      );
      for (const said of [
        ["--manual-save"],
        ["--no-manual-save"],
        ["--rule", "x=append"],
        ["--without-rules"],
      ]) {
        const refused = await home.run(["serve", ...said, "--log", "silent"]);
        expect(refused).toMatchObject({ code: 2, out: "" });
        expect(refused.err).toContain(`already runs at ${told["url"] as string}`);
        expect(refused.err).toContain("`kumiko mount .`");
      }
      const joined = await home.run(["serve", "--log", "silent"]);
      expect(joined.out).toContain(
        "          saved by hand\n          --rule 'docs/**=read_only'\n",
      );
    });
    await whileServing(home, ["serve"], async (told) => {
      expect(told).toMatchObject({ folder, manual: true, rules });
      expect(await mounts()).toMatchObject([{ folder, manual: true, rules }]);
    });
    const below = join(folder, "deep");
    const part = await home.run(["serve", "--without-rules", "--port", "0", "--log", "silent"], {
      folder: below,
    });
    expect(part.code).toBe(2);
    expect(part.err).toContain(`${below} is a part of ${folder}`);
    await whileServing(home, ["serve", "--no-manual-save", "--without-rules"], async () =>
      expect(await mounts()).toMatchObject([{ folder, manual: false, rules: [] }]),
    );
  });

  test("does not run when it cannot be mounted so", async () => {
    using home = temporaryHome();
    home.folder.write("kumiko.toml", "[[rule]\n");
    const said = ["serve", "--rule", "docs/**=read_only", "--port", "0", "--log", "silent"];
    const refused = await home.run(said);
    expect(refused).toMatchObject({ code: 2, out: "" });
    expect(refused.err).toContain("kumiko.toml line 1");
    expect(await home.run(["status"])).toMatchObject({ code: 1 });
    // A kernel that a command has is not left to the first visitor, who would find the files without the rule.
    home.folder.write("kumiko.toml", "");
    let kernel = "";
    await whileServing(home, ["serve"], async (told) => void (kernel = told["kernel"] as string));
    await using _ = await new HomeFolder(placeOf(home), "kumiko export").openStore(kernel);
    expect((await home.run(said)).err).toMatch(/in use|kumiko export/);
  });
});

describe("a server that cannot be used", () => {
  test("was killed: it is said, and the command works without it", async () => {
    using home = temporaryHome();
    await home.run(["context", "new", "main"]);
    {
      await using server = await serving(home);
      server.child.kill("SIGKILL");
    }
    const { code, out, err } = await home.run(["context", "list", "--kernel", "main"]);
    expect([code, err]).toEqual([0, expect.stringContaining("ended without stopping")]);
    expect(out).toContain("main");
    expect(await home.json(["context", "list", "--kernel", "main"])).toMatchObject({ ok: true });
  });

  test("hangs: nothing is written beside it, and it is said whom to stop", async () => {
    using home = temporaryHome();
    await using server = await serving(home);
    await home.run(["context", "new", "main"]);
    server.child.kill("SIGSTOP");
    const began = performance.now();
    const { code, out } = await home
      .program(["context", "new", "x", "--wait", "0", "--json"])
      .then(({ code: exit, stdout }) => ({ code: exit, out: stdout }));
    expect(code).toBe(2);
    expect(JSON.parse(out)).toMatchObject({
      error: {
        code: "unreachable",
        message: expect.stringContaining(`kill ${server.told.pid}`),
        facts: { pid: server.told.pid, url: server.told.url },
      },
    });
    expect(performance.now() - began).toBeLessThan(30_000);
    for (const verb of [["status"], ["serve", "--json"]])
      expect(await home.program(verb)).toMatchObject({
        code: 2,
        [verb.length === 1 ? "stderr" : "stdout"]: expect.stringContaining(
          `kill ${server.told.pid}`,
        ),
      });
    const ping = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
    const agent = await home.program(["mcp"], `${ping}\n`);
    expect(JSON.parse(agent.stdout)).toMatchObject({
      id: 1,
      error: { message: expect.stringContaining(`kill ${server.told.pid}`) },
    });
    // What the server does not have can be had.
    const other = await home.program(["kernel", "new", "other", "--wait", "0"]);
    expect([other.code, other.stderr]).toEqual([0, expect.stringContaining("does not answer")]);
    const own = ["context", "new", "x", "--kernel", "other", "--wait", "0"];
    expect(await home.program(own)).toMatchObject({ code: 0 });
    server.child.kill("SIGCONT");
    const after = await home.json(["context", "list"]);
    expect((after["contexts"] as Json[]).map(({ context }) => context)).toEqual(["main"]);
  });

  test("does not know the owner's token, or it is gone: there is a new one", async () => {
    using home = temporaryHome();
    await using stack = new AsyncDisposableStack();
    stack.use(await startServer({ home: placeOf(home) }));
    const file = join(placeOf(home), "owner.token");
    const token = readFileSync(file, "utf8").trim();
    const seen = new Set([token]);
    const losses = [
      () =>
        writeFileSync(
          file,
          token.replace(/.$/, (last) => (last === "A" ? "B" : "A")),
        ),
      () => writeFileSync(file, "nonsense\n"),
      () => rmSync(file),
    ];
    for (const [at, lose] of losses.entries()) {
      lose();
      expect(await home.json(["context", "new", `c${at}`])).toMatchObject({ ok: true });
      expect((await home.run(["context", "list"])).err).toBe("");
      seen.add(readFileSync(file, "utf8").trim());
    }
    expect(seen.size).toBe(4);
  });

  test("speaks another version of the protocol", async () => {
    using home = temporaryHome();
    mkdirSync(placeOf(home), { recursive: true });
    await startServer({ home: placeOf(home) }).then((server) => server.close());
    await using http = createServer();
    const sockets = new WebSocketServer({ server: http, handleProtocols: () => "kumiko" });
    class Other extends RpcTarget {
      whoami(): object {
        return { protocol: 99, server: "9.9.9" };
      }
    }
    sockets.on("connection", (socket) => {
      const waiting: string[] = [];
      let next: ((text: string) => void) | undefined;
      socket.on("message", (data: Buffer) => {
        for (const text of data.toString().split("\n").filter(Boolean)) {
          if (next === undefined) waiting.push(text);
          else next(text);
          next = undefined;
        }
      });
      void new RpcSession(
        {
          send: (text: string) => socket.send(text),
          receive: () => {
            const text = waiting.shift();
            if (text !== undefined) return Promise.resolve(text);
            const { promise, resolve } = Promise.withResolvers<string>();
            next = resolve;
            return promise;
          },
        },
        new Other(),
      );
    });
    const listening = Promise.withResolvers<void>();
    http.listen(0, "127.0.0.1", () => listening.resolve());
    await listening.promise;
    const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
    using held = new DisposableStack();
    held.use(await lockHome(placeOf(home), "kumiko serve"));
    await writeNote(placeOf(home), { pid: process.pid, url, since: 0, version: "9.9.9" });
    expect(await home.json(["context", "list"])).toMatchObject({
      error: { code: "protocol_mismatch", message: expect.stringContaining("Stop the server") },
    });
    for (const socket of sockets.clients) socket.terminate();
  });

  test("stops while commands come: each is done once, by the server or without", async () => {
    using home = temporaryHome();
    await home.run(["context", "new", "main"]);
    const content = ["--context", "main", "--role", "user", "--kind", "text", "--content="];
    await home.run(["block", "create", ...content, "--kernel", "main"]);
    const append = async (text: string): Promise<unknown> => {
      const args = [command, "block", "append", BLOCK, "--text", text, "--json", "--wait", "30"];
      const setting = { cwd: "/", env: home.environment };
      return JSON.parse((await runProgram(process.execPath, args, setting)).stdout);
    };
    await using server = await serving(home);
    const first = ["a\n", "b\n", "c\n"].map(append);
    server.child.kill("SIGINT");
    const second = ["d\n", "e\n"].map(append);
    for (const each of await Promise.all([...first, ...second]))
      expect(each).toMatchObject({ ok: true });
    expect(await server.ended).toMatchObject({ code: 0 });
    const { out } = await home.run([
      "block",
      "read",
      BLOCK,
      "--no-line-numbers",
      "--kernel",
      "main",
    ]);
    expect(out.split("\n").toSorted().join("")).toBe("abcde");
  });
});
