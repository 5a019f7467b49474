import { once } from "node:events";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openLog } from "../src/app/log.ts";
import { findServer, lockHome, writeNote } from "../src/app/running.ts";
import { startServer, USUAL_PORT } from "../src/app/server.ts";
import { Clients } from "../src/doors/clients.ts";
import type { Status } from "../src/doors/http/index.ts";
import { openHall } from "./support/hall.ts";
import { FakeTime } from "./support/kernel-workshop.ts";
import { modern, modernHeaders } from "./support/mcp.ts";
import { type Home, temporaryHome } from "./support/kumiko.ts";
import { Pipe } from "./support/pipe.ts";

const placeOf = (home: Home): string => home.environment["KUMIKO_HOME"]!;
const ownerOf = (home: Home): string =>
  readFileSync(join(placeOf(home), "owner.token"), "utf8").trim();
const running = (home: Home) => startServer({ home: placeOf(home), folder: home.folder.path });

function below(home: Home): string {
  const folder = join(home.folder.path, "sources", "deep");
  mkdirSync(folder, { recursive: true });
  return folder;
}

describe("below a folder that has a kernel", { timeout: 30_000 }, () => {
  for (const joins of [true, false]) {
    test(`an agent uses that kernel (${joins ? "with" : "without"} a server)`, async () => {
      using home = temporaryHome();
      await using held = new AsyncDisposableStack();
      const server = await running(home);
      if (joins) held.use(server);
      else await server.close();
      const pipe = held.use(new Pipe(placeOf(home), below(home)));
      await pipe.begin();
      await pipe.call("block_create", { role: "user", kind: "text", content: "mine" });
      const { kernels } = (await home.json(["status"])) as unknown as Status;
      expect(kernels).toMatchObject([{ kernel: server.kernel, contexts: ["main"] }]);
    });
  }

  test("serve joins it, and says which folder it has", async () => {
    using home = temporaryHome();
    await using server = await running(home);
    const folder = below(home);
    const { kernel } = server;
    const served = { kernel, folder: home.folder.path };
    expect(await home.json(["serve"], { folder })).toMatchObject(served);
    const { out } = await home.run(["serve"], { folder });
    expect(out).toContain(`folder  ${home.folder.path}  kernel ${kernel}`);
  });
});

describe("who uses MCP", { timeout: 30_000 }, () => {
  test("is shown: sessions for as long as they last, others for a minute", async () => {
    using home = temporaryHome();
    await using server = await running(home);
    const pipe = new Pipe(placeOf(home), home.folder.path);
    await pipe.begin();
    const shown = async (): Promise<Status["clients"]> =>
      ((await home.json(["status"])) as unknown as Status).clients;
    expect(await shown()).toMatchObject([
      { name: "Pipe", actor: "pipe", kind: "agent", last_call: null, session: true },
    ]);
    await pipe.call("block_list", {});
    const params = { name: "block_list", arguments: {} };
    const answered = await fetch(`${server.url}/mcp`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${ownerOf(home)}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "kumiko-actor": "claude",
        ...modernHeaders("tools/call", params),
      },
      body: JSON.stringify(modern(1, "tools/call", params)),
    });
    expect(answered.status).toBe(200);
    await answered.text();
    expect(await shown()).toMatchObject([
      { name: "Pipe", last_call: expect.any(Number), session: true },
      { name: null, actor: "claude", last_call: expect.any(Number), session: false },
    ]);
    const { out } = await home.run(["status"]);
    expect(out).toMatch(/^pipe \(agent\) {4}mcp {2}Pipe, since .*, last call \d s ago$/m);
    expect(out).toMatch(/^claude \(agent\) {2}mcp {2}last call \d s ago$/m);
    const reader = await server.hall.tokens.mint(
      await server.hall.tokens.authenticate(ownerOf(home)),
      { scopes: ["read"] },
    );
    const seen = await fetch(`${server.url}/status.json`, {
      headers: { authorization: `Bearer ${reader.token}` },
    });
    expect(((await seen.json()) as Status).clients).toEqual([]);
    await pipe.leave();
    expect(await shown()).toMatchObject([{ actor: "claude" }]);
  });

  test("is bounded, forgotten, and shown by no name that it may not have", async () => {
    await using at = await openHall();
    const time = new FakeTime();
    const clients = new Clients(time.clock);
    const plain = await at.mint({ actor: "codex", scopes: ["read"] });
    clients.called(plain.principal, "ann");
    expect(clients.list()).toMatchObject([{ actor: "codex", session: false }]);
    const stay = clients.begin(at.owner.principal, "Not A Name", "two\nlines\u001b[31m");
    expect(clients.list()[0]).toMatchObject({ actor: "ann", name: "two lines [31m" });
    time.pass(30_000);
    clients.called(plain.principal, "codex");
    expect(clients.list()[1]!.lastCall! - clients.list()[1]!.since).toBe(30_000);
    time.pass(60_000);
    expect(clients.list()).toMatchObject([{ session: true }]);
    stay[Symbol.dispose]();
    for (let each = 0; each < 1000; each++) clients.called(at.owner.principal, `a-${each}`);
    const actors = clients.list().map(({ actor }) => actor);
    expect(actors).toHaveLength(256);
    expect(actors.at(-1)).toBe("a-999");
    await at.hall.tokens.revoke(at.owner.principal, plain.principal.token);
    clients.called(plain.principal, "codex");
    expect(clients.list().map(({ actor }) => actor)).not.toContain("codex");
  });
});

test("a server inside an agent says so, and takes another port when the usual one is taken", async () => {
  using home = temporaryHome();
  const taken = createServer();
  const listening = Promise.withResolvers<void>();
  // Whoever else has it will do as well.
  taken.once("error", () => listening.resolve());
  taken.listen(USUAL_PORT, "127.0.0.1", () => listening.resolve());
  await listening.promise;
  const pipe = new Pipe(placeOf(home), home.folder.path);
  try {
    await pipe.begin();
    const { pid } = pipe.process;
    expect(await findServer(placeOf(home))).toMatchObject({ pid, in_agent: true });
    expect(await home.json(["serve"])).toMatchObject({ joined: true, pid, in_agent: true });
    expect((await home.run(["serve", "--port", "1"])).err).toContain(
      `It runs inside an agent (process ${pid}) and ends with it`,
    );
    expect(await home.json(["status"])).toMatchObject({
      server: { pid, in_agent: true },
      clients: [{ name: "Pipe", session: true }],
    });
    for (const verb of ["serve", "status"])
      expect((await home.run([verb])).out).toContain(
        `It runs inside an agent (process ${pid}) and ends with it`,
      );
    expect(await pipe.leave()).toBe(0);
    expect(pipe.complaints()).toBe("");
  } finally {
    await pipe[Symbol.asyncDispose]();
    taken.close();
  }
}, 30_000);

describe("a server that has gone, and whose address is another home's by now", () => {
  /** Its own server goes while the other's is asked. */
  async function moved() {
    await using making = new AsyncDisposableStack();
    const home = making.use(temporaryHome());
    const other = making.use(temporaryHome());
    await home.json(["context", "new", "mine"]);
    await home.json(["token", "list"]);
    const { url, hall } = making.use(await running(other));
    const own = making.use(await lockHome(placeOf(home), "kumiko serve"));
    await writeNote(placeOf(home), { pid: process.pid, url, since: 1, version: "1" });
    const authenticate = hall.tokens.authenticate.bind(hall.tokens);
    let asked = 0;
    hall.tokens.authenticate = (token) => {
      asked += 1;
      own[Symbol.dispose]();
      return authenticate(token);
    };
    const held = making.move();
    return { home, asked: () => asked, [Symbol.asyncDispose]: () => held.disposeAsync() };
  }

  test("is not taken at its word: a command goes on without it", async () => {
    await using at = await moved();
    expect(await at.home.json(["context", "list"])).toMatchObject({
      contexts: [{ context: "mine" }],
    });
    expect(at.asked()).toBeGreaterThan(0);
  });

  test("is said to be gone, and the owner's token stays", async () => {
    await using at = await moved();
    const token = ownerOf(at.home);
    expect(await at.home.json(["status"])).toMatchObject({ error: { code: "unreachable" } });
    expect(at.asked()).toBe(1);
    expect(ownerOf(at.home)).toBe(token);
  });
});

describe("what cannot be is said in a sentence", () => {
  test("a home that cannot be made", async () => {
    using home = temporaryHome();
    const file = home.folder.write("file", "mine");
    for (const place of [file, join(file, "home")]) {
      for (const verb of [
        ["serve"],
        ["token", "new", "--for", "bot"],
        ["token", "list"],
        ["context", "new", "x"],
      ]) {
        const { code, out, err } = await home.run([...verb, "--home", place, "--json"]);
        expect([code, err, JSON.parse(out)], verb.join(" ")).toMatchObject([
          2,
          "",
          {
            error: {
              code: "file_unwritable",
              message: expect.stringContaining("cannot be used as Kumiko's home"),
            },
          },
        ]);
      }
      const agent = await home.run(["mcp", "--home", place]);
      expect([agent.code, agent.err]).toEqual([
        2,
        expect.stringMatching(/^kumiko: .* cannot be used as Kumiko's home \(\w+\)\..*\n$/),
      ]);
    }
  });

  test("an address of another machine, and what else a start fails by", async () => {
    using home = temporaryHome();
    const other = await home.run(["serve", "--host", "192.0.2.1", "--log", "silent"]);
    expect([other.code, other.err]).toEqual([
      2,
      expect.stringContaining("192.0.2.1 is no address of this machine"),
    ]);
    await using taken = createServer();
    taken.listen(0, "127.0.0.1");
    await once(taken, "listening");
    const { port } = taken.address() as AddressInfo;
    const busy = await home.run(["serve", "--port", String(port), "--log", "silent"]);
    expect([busy.code, busy.err]).toEqual([
      2,
      `kumiko: Another program listens on port ${port} of 127.0.0.1. Choose another with --port.\n`,
    ]);
    home.folder.write("home/server.lock", "not what belongs here\n".repeat(100));
    for (const level of ["silent", "debug"]) {
      const { code, err } = await home.run(["serve", "--port", "0", "--log", level]);
      expect(code).toBe(2);
      expect(err).toMatch(/^kumiko: The server could not start: .*\.$/m);
      // Where in the program, only the log says.
      expect(err.includes("    at ")).toBe(level === "debug");
    }
  });

  test("options that do not fit", async () => {
    using home = temporaryHome();
    const wrong: readonly (readonly [readonly string[], string])[] = [
      [["serve", "--port", "no"], '--port takes a number from 0 to 65535, not "no".'],
      [["serve", "--log", "loud"], 'info, debug, trace, not "loud".'],
      [["token", "new", "--expires", "never"], "Say in whose name it acts: --for <name>"],
      [
        ["token", "new", "--for", "Big Name"],
        '--for takes 1 to 32 lower-case letters, digits and hyphens, not "Big Name".',
      ],
      [
        ["token", "new", "--for", "tom", "--kind", "cat"],
        '--kind takes person, agent or service, not "cat".',
      ],
      [
        ["token", "new", "--for", "tom", "--scopes", "read,fly"],
        '--scopes takes one or more of read, write, admin, mint, act_as, with commas between, not "read,fly".',
      ],
      [
        ["token", "new", "--for", "tom", "--expires", "soon"],
        'takes 15m, 12h, 30d or never, not "soon".',
      ],
    ];
    for (const [args, sentence] of wrong) {
      const { code, err } = await home.run(args);
      expect([code, err]).toEqual([2, expect.stringContaining(sentence)]);
    }
  });
});

describe("kumiko token", () => {
  test("revoke returns when the running server has dropped it", async () => {
    using home = temporaryHome();
    await using server = await running(home);
    const made = await home.json(["token", "new", "--for", "claude", "--expires", "never"]);
    const principal = await server.hall.tokens.authenticate(String(made["token"]));
    expect(await home.json(["token", "revoke", String(made["id"])])).toEqual({
      ok: true,
      revoked: [made["id"]],
    });
    expect(principal.signal.aborted).toBe(true);
  });

  test("revoke says when a server did not tell that it has", async () => {
    using home = temporaryHome();
    const made = await home.json(["token", "new", "--for", "bot"]);
    using held = new DisposableStack();
    held.use(await lockHome(placeOf(home), "a test"));
    // Nobody listens there.
    const url = "http://127.0.0.1:1";
    await writeNote(placeOf(home), { pid: process.pid, url, since: 0, version: "0" });
    const { code, out, err } = await home.run(["token", "revoke", String(made["id"])]);
    expect([code, out]).toEqual([0, `${String(made["id"])}: revoked\n`]);
    expect(err).toContain(`The server at ${url} did not say within 2 s`);
  });

  test("the owner's own goes only by --yes, and the command line goes on", async () => {
    using home = temporaryHome();
    await using server = await running(home);
    const before = ownerOf(home);
    const id = before.split("_")[1]!;
    const made = await home.json(["token", "new", "--for", "bot"]);
    await using agent = new Pipe(placeOf(home), home.folder.path, "--kernel", server.kernel!);
    await agent.begin();
    const { code, err } = await home.run(["token", "revoke", id]);
    expect([code, err]).toEqual([
      2,
      expect.stringContaining(`${id} is the owner's own token, and 1 other token hangs on it`),
    ]);
    expect((await home.run(["status"])).code).toBe(0);
    const gone = await home.json(["token", "revoke", id, "--yes"]);
    expect(gone).toEqual({ ok: true, revoked: [id, made["id"]] });
    await expect(server.hall.tokens.authenticate(before)).rejects.toMatchObject({
      code: "unauthorised",
    });
    expect(ownerOf(home)).not.toBe(before);
    for (const verb of [["status"], ["serve"], ["context", "list"], ["token", "list"]])
      expect((await home.run(verb)).code, verb.join(" ")).toBe(0);
    // Also when it was another program that revoked it, or the file is lost.
    for (const again of [false, true]) {
      const owner = await server.hall.tokens.authenticate(ownerOf(home));
      await server.hall.tokens.revoke(owner, owner.token);
      // An agent that was there before goes on as well.
      if (!again)
        expect(await agent.ask("tools/list", {})).toMatchObject({ result: expect.anything() });
    }
    expect((await home.run(["status"])).code).toBe(0);
    rmSync(join(placeOf(home), "owner.token"));
    expect((await home.run(["serve"])).code).toBe(0);
  });

  test("new says what a client needs; list folds links", async () => {
    using home = temporaryHome();
    const alone = await home.run(["token", "new", "--for", "bot", "--kernels", "nosuch"]);
    expect(alone.code).toBe(0);
    expect(alone.err).toContain("there is no kernel nosuch yet");
    expect(alone.err).not.toContain("kumiko-kernel");
    await using server = await running(home);
    const made = await home.run(["token", "new", "--for", "bot"]);
    expect(made.out).toMatch(/^kumiko_[\w-]+\n$/);
    expect(made.err).toContain(`${server.url}/mcp\n`);
    expect(made.err).toContain("must send the header kumiko-kernel");
    for (let each = 0; each < 3; each++) await server.link();
    const { out } = await home.run(["token", "list"]);
    expect(out).toContain("3 links that nobody used, 3 of them still good; --json lists them\n");
    expect(out.trimEnd().split("\n")).toHaveLength(4);
    expect((await home.json(["token", "list"]))["tokens"]).toHaveLength(6);
  });
});

test("kumiko status stands in columns, and counts one as one", async () => {
  using home = temporaryHome();
  const [one, other] = ["one", "a-much-longer-name-of-a-folder"].map((name) => {
    const folder = join(home.folder.path, name);
    mkdirSync(folder);
    return folder;
  });
  await using server = await startServer({ home: placeOf(home), folder: one });
  await home.run(["serve"], { folder: other! });
  await (await server.hall.world.open(server.kernel!)).contexts.create("only", "ann");
  const { out } = await home.run(["status"]);
  const lines = out.split("\n").filter((line) => line.includes(", position "));
  expect(lines).toHaveLength(2);
  expect(new Set(lines.map((line) => line.indexOf(home.folder.path))).size).toBe(1);
  expect(new Set(lines.map((line) => line.search(/\S+ \S+, \d+ contexts?,/))).size).toBe(1);
  expect(out).toContain("1 context, ");
  expect(out).toContain("0 contexts, ");
});

test("a server that has stopped says so last", async () => {
  using home = temporaryHome();
  const lines: string[] = [];
  const write = (line: string): void => void lines.push(line);
  const log = await openLog({ level: "info", readable: false, write });
  const server = await startServer({ home: placeOf(home), log });
  await server.close();
  expect(JSON.parse(lines.at(-1)!)).toMatchObject({ level: "info", msg: "stopped" });
});
