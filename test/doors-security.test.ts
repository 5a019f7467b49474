import {
  Agent,
  type IncomingMessage,
  request as sendRequest,
  type ServerResponse,
} from "node:http";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { Random } from "../src/base/index.ts";
import { type RunningServer, startServer } from "../src/app/server.ts";
import { HttpFront } from "../src/doors/http/index.ts";
import { scaled, seed } from "./support/counts.ts";
import { openHall } from "./support/hall.ts";
import { type Answered, ask, errorOf, sendRaw, upgrade } from "./support/http.ts";
import { command } from "./support/kumiko.ts";
import { runProgram } from "./support/process.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const folder = temporaryFolder();
let server: RunningServer;
const tokens: { [name: string]: string } = {};

beforeAll(async () => {
  server = await startServer({ home: folder.path, actor: "ann" });
  const store = server.hall.tokens;
  const owner = await store.authenticate(server.ownerToken);
  const mint = async (request: object) => (await store.mint(owner, request)).token;
  tokens["good"] = await mint({ actor: "claude" });
  const forPage = await store.mintLink(owner, "");
  tokens["session"] = (await store.exchange(forPage.token)).token;
  tokens["link"] = (await store.mintLink(owner, "")).token;
  tokens["revoked"] = await mint({});
  await store.revoke(owner, tokens["revoked"].split("_")[1]!);
  tokens["wrong"] = `${tokens["good"].slice(0, -4)}AAAA`;
  tokens["unknown"] = `kumiko_${"a".repeat(12)}_${"A".repeat(43)}`;
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const json = { "content-type": "application/json" };

const transports = {
  "GET /status.json": { method: "GET", path: "/status.json" },
  "POST /tokens": { method: "POST", path: "/tokens", headers: json, body: '{"no":1}' },
  "POST /mcp": {
    method: "POST",
    path: "/mcp",
    headers: { ...json, accept: "application/json, text/event-stream" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
  },
  "WebSocket /rpc": { method: "GET", path: "/rpc", headers: upgrade },
  "WebSocket /replica": { method: "GET", path: "/replica", headers: upgrade },
};

/** A host that rebinding or a careless proxy could bring, and whether it is one of ours. */
const hosts: [(port: number) => string, boolean][] = [
  [(port) => `127.0.0.1:${port}`, true],
  [(port) => `localhost:${port}`, true],
  [(port) => `LOCALHOST:${port}`, true],
  [(port) => `[::1]:${port}`, true],
  [() => "localhost", true],
  [(port) => `evil.example:${port}`, false],
  [(port) => `localhost.evil.example:${port}`, false],
  [(port) => `127.0.0.1.nip.io:${port}`, false],
  [(port) => `localhost.:${port}`, false],
  [(port) => `2130706433:${port}`, false],
  [(port) => `0x7f.1:${port}`, false],
  [(port) => `[::ffff:127.0.0.1]:${port}`, false],
  [(port) => `0.0.0.0:${port}`, false],
  [(port) => `evil@localhost:${port}`, false],
  [(port) => `localhost:${port}/evil`, false],
];

const origins: [(host: string) => string | string[] | undefined, boolean][] = [
  [() => undefined, true],
  [(host) => `http://${host.toLowerCase()}`, true],
  [(host) => `https://${host.toLowerCase()}`, true],
  [() => "null", false],
  [() => "", false],
  [() => "http://evil.example", false],
  [() => "http://localhost:1", false],
  [() => "http://127.0.0.1", false],
  [(host) => `http://${host}.evil.example`, false],
  [(host) => `http://evil.example@${host}`, false],
  [(host) => `http://${host}/path`, false],
  [(host) => `chrome-extension://${host}`, false],
  [() => "file://", false],
  [(host) => [`http://${host}`, "http://evil.example"], false],
];

type Outcome = "in" | 401 | 403;
interface Credential {
  readonly headers: (token: { [name: string]: string }) => { [name: string]: string };
  readonly outcome: (changes: boolean, origin: boolean) => Outcome;
}

const always = (outcome: Outcome) => (): Outcome => outcome;
const credentials: { [name: string]: Credential } = {
  none: { headers: () => ({}), outcome: always(401) },
  "good, in a header": { headers: ({ good }) => bearer(good!), outcome: always("in") },
  "good, in lower case": {
    headers: ({ good }) => ({ authorization: `bearer ${good!}` }),
    outcome: always("in"),
  },
  "good, in a cookie": {
    headers: ({ session }) => ({ cookie: `a=b; kumiko_session=${session!}` }),
    // A browser says where a request that changes something comes from.
    outcome: (changes, origin) => (changes && !origin ? 403 : "in"),
  },
  "good, as subprotocol": {
    headers: ({ good }) => ({ "sec-websocket-protocol": `kumiko, bearer.${good!}` }),
    outcome: always("in"),
  },
  "good, in the query": { headers: () => ({}), outcome: always(401) },
  "a cookie from another port's page": {
    headers: ({ session }) => ({
      cookie: `kumiko_session=${session!}`,
      "sec-fetch-site": "same-site",
    }),
    outcome: always(403),
  },
  "two tokens": {
    headers: ({ good, session }) => ({
      ...bearer(good!),
      "sec-websocket-protocol": `bearer.${session!}`,
    }),
    outcome: always(401),
  },
  "a wrong secret": { headers: ({ wrong }) => bearer(wrong!), outcome: always(401) },
  "an unknown id": { headers: ({ unknown }) => bearer(unknown!), outcome: always(401) },
  revoked: { headers: ({ revoked }) => bearer(revoked!), outcome: always(401) },
  "a link": { headers: ({ link }) => bearer(link!), outcome: always(401) },
  basic: { headers: () => ({ authorization: "Basic YTpi" }), outcome: always(401) },
  garbage: { headers: () => bearer("kumiko_"), outcome: always(401) },
};

interface Case {
  readonly name: string;
  readonly expected: Outcome;
  readonly run: () => Promise<Answered>;
}

function everyCase(): Case[] {
  const { port } = server;
  return Object.entries(transports).flatMap(([transport, request]) =>
    hosts.flatMap(([hostOf, hostFine]) =>
      origins.flatMap(([originOf, originFine]) =>
        Object.entries(credentials).map(([credential, { headers, outcome }]): Case => {
          const host = hostOf(port);
          const origin = originOf(host);
          const changes = request.method !== "GET" || transport.startsWith("WebSocket");
          const secret = credential === "good, in the query" ? `?token=${tokens["good"]!}` : "";
          return {
            name: `${transport}, host ${host}, origin ${String(origin)}, token ${credential}`,
            expected: hostFine && originFine ? outcome(changes, origin !== undefined) : 403,
            run: () =>
              ask(port, {
                ...request,
                path: request.path + secret,
                headers: {
                  ...("headers" in request && request.headers),
                  ...headers(tokens),
                  host,
                  origin,
                },
              }),
          };
        }),
      ),
    ),
  );
}

describe("who may come in", () => {
  test("depends on host, origin and token, whatever the transport", async () => {
    const random = new Random(seed());
    const all = everyCase();
    expect(all.length).toBeGreaterThan(10_000);
    // Most hosts and origins are refused alike: those that get as far as the token are all tried.
    const near = all.filter(({ expected, name }) => expected !== 403 || name.includes("cookie"));
    const some = Array.from({ length: scaled(8_000) }, () => random.pick(all));
    const wrong: string[] = [];
    for (const { name, expected, run } of [...near.filter(() => random.below(4) === 0), ...some]) {
      const answered = await run();
      const got: Outcome =
        answered.status === 401 || answered.status === 403 ? answered.status : "in";
      if (got !== expected) wrong.push(`${name}: ${answered.status}, expected ${expected}`);
      if (answered.status >= 500) wrong.push(`${name}: ${answered.status}`);
    }
    expect(wrong).toEqual([]);
  });

  test("a name that was made to point here is refused before the token is looked at", async () => {
    const answered = await ask(server.port, {
      path: "/status.json",
      headers: { host: "rebound.example", ...bearer(tokens["good"]!) },
    });
    expect(answered.status).toBe(403);
    expect(errorOf(answered)).toMatchObject({
      code: "forbidden",
      facts: { header: "host", value: "rebound.example" },
    });
    for (const path of ["/", "/healthz", "/readyz", "/page.js", "/session", "/none"])
      expect((await ask(server.port, { path, headers: { host: "rebound.example" } })).status).toBe(
        403,
      );
  });

  test("a request without a host, or with two, or to another server, gets nothing", async () => {
    const auth = `Authorization: Bearer ${tokens["good"]!}`;
    const lines = [
      `GET /status.json HTTP/1.0\r\n${auth}\r\n\r\n`,
      `GET /status.json HTTP/1.1\r\n${auth}\r\nConnection: close\r\n\r\n`,
      `GET /status.json HTTP/1.1\r\nHost:\r\n${auth}\r\nConnection: close\r\n\r\n`,
      `GET /status.json HTTP/1.1\r\nHost: evil.example\r\nHost: localhost\r\n${auth}\r\nConnection: close\r\n\r\n`,
      `GET http://evil.example/status.json HTTP/1.1\r\nHost: localhost\r\n${auth}\r\nConnection: close\r\n\r\n`,
      `GET //status.json HTTP/1.1\r\nHost: localhost\r\n${auth}\r\nConnection: close\r\n\r\n`,
      `CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n${auth}\r\n\r\n`,
    ];
    for (const bytes of lines) {
      const answer = await sendRaw(server.port, bytes);
      expect(answer, bytes).not.toMatch(/^HTTP\/1.1 2/);
      expect(answer, bytes).not.toContain('"kernels"');
    }
  });

  test("nothing but health and the page's files is given without a token", async () => {
    for (const path of ["/", "/healthz", "/readyz", "/page.js", "/page.css", "/icon.svg"]) {
      const answered = await ask(server.port, { path });
      expect(answered.status, path).toBe(200);
      expect(answered.headers).toMatchObject({
        "content-security-policy": expect.stringContaining("default-src 'none'; script-src 'self'"),
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "x-frame-options": "DENY",
      });
      expect(answered.body).not.toMatch(/<script>|style="|onclick|javascript:/);
      expect((await ask(server.port, { path, method: "PUT" })).status).toBe(405);
    }
    for (const path of ["/metrics", "/status.json", "/tokens", "/kernels", "/mcp", "/rpc", "/x"]) {
      const answered = await ask(server.port, { path });
      expect(answered.status, path).toBe(401);
      expect(answered.headers).toMatchObject({
        "www-authenticate": 'Bearer realm="kumiko"',
        "content-security-policy": expect.any(String),
      });
      expect(errorOf(answered).code).toBe("unauthorised");
    }
  });

  test("an upgrade is for known paths of WebSockets only", async () => {
    const headers = { ...upgrade, ...bearer(tokens["good"]!) };
    const unknown = await ask(server.port, { path: "/none", headers });
    expect([unknown.status, errorOf(unknown).code]).toEqual([404, "unknown_path"]);
    const request = await ask(server.port, { path: "/metrics", headers });
    expect([request.status, errorOf(request).code]).toEqual([400, "invalid_argument"]);
    const plain = await ask(server.port, { path: "/rpc", headers: bearer(tokens["good"]!) });
    expect([plain.status, errorOf(plain).code]).toEqual([400, "invalid_argument"]);
    const other = {
      ...bearer(tokens["good"]!),
      connection: "Upgrade, HTTP2-Settings",
      upgrade: "h2c",
    };
    expect((await ask(server.port, { path: "/status.json", headers: other })).status).toBe(200);
  });
});

describe("a page's session", () => {
  const post = (token: string, headers: object = {}) =>
    ask(server.port, {
      method: "POST",
      path: "/session",
      headers: { ...json, host: `localhost:${server.port}`, ...headers },
      body: JSON.stringify({ token }),
    });

  test("is exchanged once for a cookie that no script can read", async () => {
    const token = (await server.link()).split("#token=")[1]!;
    const [first, second] = await Promise.all([post(token), post(token)]);
    expect([first.status, second.status].toSorted((a, b) => a - b)).toEqual([200, 401]);
    const good = first.status === 200 ? first : second;
    const cookie = good.headers["set-cookie"]![0]!;
    expect(cookie).toMatch(
      /^kumiko_session=kumiko_\w+_[\w-]+; HttpOnly; SameSite=Strict; Path=\/; Max-Age=2591\d{3}$/,
    );
    expect(cookie).not.toContain(token);
    expect(good.body).not.toContain("kumiko_");
    const session = { cookie: cookie.split(";")[0]!, host: `localhost:${server.port}` };
    const shown = await ask(server.port, { path: "/status.json", headers: session });
    expect(shown.status).toBe(200);
    const origin = `http://localhost:${server.port}`;
    const ended = await ask(server.port, {
      method: "DELETE",
      path: "/session",
      headers: { ...session, origin },
    });
    expect(ended.status).toBe(200);
    expect(ended.headers["set-cookie"]![0]).toContain("Max-Age=0");
    const after = await ask(server.port, { path: "/status.json", headers: session });
    expect(after.status).toBe(401);
  });

  test("is not given to another page, nor for a wrong token", async () => {
    const token = (await server.link()).split("#token=")[1]!;
    for (const origin of ["null", "http://evil.example", "http://localhost:1"])
      expect((await post(token, { origin })).status).toBe(403);
    for (const other of ["wrong", "good", "session"])
      expect((await post(tokens[other]!)).status, other).toBe(401);
    expect((await post(token, { "content-type": "text/plain" })).status).toBe(400);
    expect((await post(token)).status).toBe(200);
  });
});

describe("what comes in is bounded", () => {
  const auth = () => bearer(tokens["good"]!);
  const post = (path: string, body: string, headers: object = {}) =>
    ask(server.port, { method: "POST", path, headers: { ...json, ...auth(), ...headers }, body });

  test("bodies, by what they say and by what they are", async () => {
    const large = await sendRaw(
      server.port,
      `POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${auth().authorization}\r\n` +
        "Content-Type: application/json\r\nContent-Length: 4194305\r\n\r\n",
    );
    expect(large).toMatch(/^HTTP\/1.1 413 /);
    expect(large).toContain('"too_large"');
    const chunk = "x".repeat(1 << 16);
    const chunks = `${(1 << 16).toString(16)}\r\n${chunk}\r\n`.repeat(80);
    const chunked = await sendRaw(
      server.port,
      `POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${auth().authorization}\r\n` +
        `Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`,
    );
    // The answer may be lost with the connection that was still being written to.
    expect(chunked === "" || chunked.includes("413")).toBe(true);
    expect((await post("/tokens", `{"label":"${"x".repeat(70_000)}"}`)).status).toBe(413);
  });

  test("headers", async () => {
    const many = `X: ${"y".repeat(17_000)}`;
    const answer = await sendRaw(
      server.port,
      `GET / HTTP/1.1\r\nHost: localhost\r\n${many}\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1.1 413 /);
    expect(answer).toContain('"too_large"');
    expect(await sendRaw(server.port, "nonsense\r\n\r\n")).toMatch(/^HTTP\/1.1 400 /);
  });

  test("JSON, in its depth and its form", async () => {
    const deep = (levels: number) => `${"[".repeat(levels)}${"]".repeat(levels)}`;
    for (const [body, code] of [
      [deep(100_000), "too_large"],
      [deep(65), "too_large"],
      [`{"label":${'{"a":'.repeat(64)}1${"}".repeat(64)}}`, "too_large"],
      [deep(64), "invalid_argument"],
      [`{"label":"${"[{".repeat(200)}\\"${"[".repeat(200)}"}`, "invalid_argument"],
      ["{", "invalid_argument"],
      ["", "invalid_argument"],
      ['{"scopes":["read"]', "invalid_argument"],
      ['{"__proto__":{"scopes":["admin"]}}', "invalid_argument"],
      ["\u0000", "invalid_argument"],
      ["[".repeat(60), "invalid_argument"],
    ] as const) {
      const answered = await post("/tokens", body);
      expect(errorOf(answered).code, body.slice(0, 40)).toBe(code);
    }
    const bytes = await ask(server.port, {
      method: "POST",
      path: "/tokens",
      headers: { ...json, ...auth() },
      body: Buffer.from([0x22, 0xff, 0x22]) as unknown as string,
    });
    expect(errorOf(bytes).message).toContain("UTF-8");
  });

  test("time to send a request", async () => {
    using home = temporaryFolder();
    await using slow = await startServer({
      home: home.path,
      limits: { headersTimeout: 200, requestTimeout: 400, checkEvery: 50 },
    });
    const started = performance.now();
    const [headers, body] = await Promise.all([
      sendRaw(slow.port, "GET / HTTP/1.1\r\nHost: localhost\r\nX-A: "),
      sendRaw(
        slow.port,
        `POST /session HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{`,
      ),
    ]);
    expect(headers).toMatch(/^HTTP\/1.1 408 /);
    // A request that broke off has nobody to be answered.
    expect(body === "" || body.startsWith("HTTP/1.1 4")).toBe(true);
    expect(performance.now() - started).toBeLessThan(10_000);
  });

  test("calls in a second and connections of a token, each token by itself", async () => {
    using home = temporaryFolder();
    await using tight = await startServer({
      home: home.path,
      limits: { perToken: 2 },
      callsPerSecond: 5,
    });
    const { tokens: store } = tight.hall;
    const owner = await store.authenticate(tight.ownerToken);
    const { token } = await store.mint(owner, {});
    const open = async (): Promise<number> => {
      const socket = new WebSocket(`ws://127.0.0.1:${tight.port}/rpc`, { headers: bearer(token) });
      const { promise, resolve } = Promise.withResolvers<number>();
      socket.on("open", () => resolve(101));
      socket.on("unexpected-response", (_, response) => resolve(response.statusCode!));
      socket.on("error", () => undefined);
      return promise;
    };
    expect([await open(), await open(), await open()]).toEqual([101, 101, 429]);
    const asked = Array.from({ length: 12 }, () =>
      ask(tight.port, { path: "/none", headers: bearer(token) }),
    );
    const refused = (await Promise.all(asked)).filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(3);
    expect(refused[0]!.headers["retry-after"]).toBe("1");
    expect(errorOf(refused[0]!)).toMatchObject({ code: "too_many", facts: { limit: 5 } });
    const other = await ask(tight.port, {
      path: "/status.json",
      headers: bearer(tight.ownerToken),
    });
    expect(other.status).toBe(200);
  });

  test("requests of a socket: one at a time", async () => {
    const health = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    const answers = (await sendRaw(server.port, health.repeat(100))).match(/HTTP\/1.1 200/g) ?? [];
    expect(answers.length).toBeLessThan(2);
    const shake = Object.entries(upgrade).map(([name, value]) => `${name}: ${value}\r\n`);
    const status = `GET /status.json HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${auth().authorization}\r\n`;
    const raised = status.replace("/status.json", "/rpc") + shake.join("");
    expect(await sendRaw(server.port, `${status}\r\n${raised}\r\n`)).not.toContain("HTTP/1.1 101");
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (let times = 0; times < 20; times++) {
      const { promise, resolve, reject } = Promise.withResolvers<boolean>();
      const { port } = server;
      const asked = sendRequest(
        { port, agent, path: "/status.json", headers: auth() },
        (response) => {
          response.resume().on("end", () => resolve(asked.reusedSocket));
        },
      );
      asked.on("error", reject).end();
      expect(await promise).toBe(times > 0);
    }
    agent.destroy();
  });

  describe("answers that nobody reads", () => {
    async function unread(limits: { readonly unread: number }) {
      await using opening = new AsyncDisposableStack();
      const at = opening.use(await openHall());
      const options = { host: "127.0.0.1", port: 0, limits: { ...limits, perToken: 1 } };
      const front = opening.use(await HttpFront.listen(at.hall, options));
      const written = Promise.withResolvers<void>();
      const door = {
        path: "/large",
        async serve(_: IncomingMessage, response: ServerResponse) {
          response.end(Buffer.alloc(64 << 20));
          setImmediate(written.resolve);
        },
      };
      front.add({ path: "/large", open: () => Promise.resolve(door) });
      const bob = await at.mint({ actor: "bob" });
      const socket = opening.adopt(connect(front.port, "127.0.0.1"), (it) => void it.destroy());
      socket.on("error", () => undefined).pause();
      const asking = `GET /large HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${bob.token}\r\n\r\n`;
      socket.write(asking);
      await written.promise;
      const owned = opening.move();
      return { ...at, front, bob, [Symbol.asyncDispose]: () => owned.disposeAsync() };
    }

    test("count for their token until they have left, and end with it", async () => {
      await using at = await unread({ unread: 600_000 });
      const { front, bob } = at;
      expect(front.connections.list()).toHaveLength(1);
      const headers = bearer(bob.token);
      expect((await ask(front.port, { path: "/large", headers })).status).toBe(429);
      await at.hall.tokens.revoke(at.owner.principal, bob.principal.token);
      await front.connections.none("request");
    });

    test("are not kept for long", async () => {
      await using at = await unread({ unread: 50 });
      expect(at.front.connections.list()).toHaveLength(1);
      await at.front.connections.none("request");
    });
  });

  test("messages of WebSockets", async () => {
    const socket = new WebSocket(`ws://127.0.0.1:${server.port}/rpc`, { headers: auth() });
    const { promise, resolve } = Promise.withResolvers<number>();
    socket.on("open", () => socket.send("x".repeat(4 * 1024 * 1024 + 1)));
    socket.on("error", () => undefined);
    socket.on("close", (code) => resolve(code));
    expect(await promise).toBe(1009);
  });
});

describe("out within a second", () => {
  async function connected(token: string): Promise<{ closed: Promise<[number, string]> }> {
    const socket = new WebSocket(`ws://127.0.0.1:${server.port}/rpc`, { headers: bearer(token) });
    const open = Promise.withResolvers<void>();
    const { promise, resolve, reject } = Promise.withResolvers<[number, string]>();
    socket.on("open", () => open.resolve());
    socket.on("error", (error) => (open.reject(error), reject(error)));
    socket.on("close", (code, reason) => resolve([code, reason.toString()]));
    await open.promise;
    return { closed: promise };
  }

  test("goes who is revoked by another process, with all it minted, and nobody else", async () => {
    const { tokens: store } = server.hall;
    const owner = await store.authenticate(server.ownerToken);
    const parent = await store.mint(owner, { scopes: ["read", "mint"] });
    const child = await store.mint(await store.authenticate(parent.token), { scopes: ["read"] });
    const one = await connected(parent.token);
    const two = await connected(child.token);
    const three = await connected(tokens["good"]!);
    let stays = true;
    void three.closed.then(() => (stays = false));
    const env = { ...process.env, KUMIKO_HOME: folder.path };
    const ended = await runProgram(
      process.execPath,
      [command, "token", "revoke", parent.info.id, "--json"],
      { env },
    );
    const revoked = performance.now();
    expect(JSON.parse(ended.stdout)).toEqual({
      ok: true,
      revoked: [parent.info.id, child.info.id],
    });
    for (const { closed } of [one, two]) expect((await closed)[0]).toBe(4401);
    expect(performance.now() - revoked).toBeLessThan(1000);
    expect(stays).toBe(true);
    for (const { token } of [parent, child])
      expect((await ask(server.port, { path: "/rpc", headers: bearer(token) })).status).toBe(401);
  });

  test("goes who expires", async () => {
    const { tokens: store } = server.hall;
    const owner = await store.authenticate(server.ownerToken);
    const expires = Date.now() + 600;
    const { token } = await store.mint(owner, { expires });
    const { closed } = await connected(token);
    expect((await closed)[0]).toBe(4401);
    expect(Date.now() - expires).toBeLessThan(1000);
  });
});

describe("scopes", () => {
  test("decide about metrics, tokens, folders and kernels", async () => {
    const { tokens: store, world } = server.hall;
    await world.create("own");
    await world.create("other");
    const owner = await store.authenticate(server.ownerToken);
    const mint = async (request: object) => bearer((await store.mint(owner, request)).token);
    const limited = await mint({ kernels: ["own"], scopes: ["read", "admin", "mint"] });
    const writer = await mint({ scopes: ["write"] });
    const status = await ask(server.port, { path: "/status.json", headers: limited });
    const { kernels } = JSON.parse(status.body) as { kernels: { kernel: string }[] };
    expect(kernels.map(({ kernel }) => kernel)).toEqual(["own"]);
    const listed = await ask(server.port, { path: "/tokens", headers: limited });
    expect((JSON.parse(listed.body) as { tokens: unknown[] }).tokens).toHaveLength(1);
    for (const [path, headers, method, body] of [
      ["/metrics", limited, "GET", undefined],
      ["/metrics", writer, "GET", undefined],
      ["/status.json", writer, "GET", undefined],
      ["/kernels", limited, "POST", { folder: folder.path }],
      ["/kernels", writer, "POST", { folder: folder.path }],
      ["/tokens", writer, "POST", {}],
      ["/tokens", limited, "POST", { kernels: ["other"] }],
      ["/tokens", limited, "POST", { scopes: ["write"] }],
      ["/tokens", limited, "POST", { actor: "ann2" }],
    ] as const) {
      const answered = await ask(server.port, {
        path,
        method,
        headers: { ...headers, ...(body && json) },
        ...(body && { body: JSON.stringify(body) }),
      });
      expect([answered.status, errorOf(answered).code], `${method} ${path}`).toEqual([
        403,
        "forbidden",
      ]);
    }
    const principal = await store.authenticate(limited.authorization.slice(7));
    await expect(async () => server.hall.kernelOf(principal, "other")).rejects.toMatchObject({
      code: "forbidden",
    });
    expect((await server.hall.kernelOf(principal, "own")).id).toBe("own");
    const revoke = (id: string) =>
      ask(server.port, {
        method: "DELETE",
        path: "/tokens",
        headers: { ...limited, ...json },
        body: JSON.stringify({ id }),
      });
    expect((await revoke(owner.token)).status).toBe(404);
    expect((await revoke(principal.token)).status).toBeLessThan(402);
  });
});
