import { build } from "esbuild";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { Random } from "../src/base/index.ts";
import {
  type ClientState,
  connect,
  type ConnectOptions,
  type KumikoClient,
  KumikoError,
  type SocketClass,
} from "../src/client/index.ts";
import { scaled, seed } from "./support/counts.ts";
import { cuttableSockets } from "./support/cut-sockets.ts";
import { FakeTime } from "./support/kernel-workshop.ts";
import { instead, openRpcServer } from "./support/rpc.ts";

type Server = Awaited<ReturnType<typeof openRpcServer>>;

let stack: AsyncDisposableStack;
let server: Server;
beforeEach(async () => {
  stack = new AsyncDisposableStack();
  server = stack.use(await openRpcServer());
});
afterEach(() => stack.disposeAsync());

function client(options: Partial<ConnectOptions> = {}): KumikoClient {
  const random = new Random(seed());
  return stack.use(
    connect({
      url: server.url,
      token: server.owner.token,
      backoff: { first: 1, most: 5, random: () => random.next() },
      ...options,
    }),
  );
}

function entered(of: KumikoClient, state: ClientState): Promise<void> {
  if (of.state === state) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<void>();
  const listening = of.onState((now) => {
    if (now !== state) return;
    listening[Symbol.dispose]();
    resolve();
  });
  return promise;
}

async function refused(call: Promise<unknown>): Promise<KumikoError> {
  const error: unknown = await call.then(
    (answer) => new Error(`was not refused, but gave ${JSON.stringify(answer)}`),
    (reason: unknown) => reason,
  );
  if (error instanceof KumikoError) return error;
  throw error;
}

async function posted(of: KumikoClient, content = ""): Promise<string> {
  const context = of.kernel("main").context({ context: "main" });
  const made = await context.post({ role: "user", kind: "text", content });
  return (made as { block_id: string }).block_id;
}

describe("a connection", () => {
  for (const [name, given] of [
    ["Node's own WebSocket", undefined],
    ["the one of ws", WebSocket as unknown as SocketClass],
  ] as const) {
    test(`works with ${name}`, async () => {
      const own = client({ WebSocket: given });
      expect(own.state).toBe("connecting");
      await own.connected();
      expect(own.state).toBe("live");
      expect(own.identity).toMatchObject({ actor: "ann", server: "0.0.0-test" });
      expect(await own.world.listKernels()).toMatchObject([{ kernel: "main" }]);
      const made = await own.world.createKernel({ kernel: "second" });
      expect(await made.position()).toBe(0);
    });
  }

  test("comes back by itself, and capabilities stay good", async () => {
    const wire = cuttableSockets();
    const own = client({ WebSocket: wire.WebSocket });
    const states: ClientState[] = [];
    own.onState((state) => states.push(state));
    const kernel = await own.world.attachKernel("main");
    const context = await kernel.joinContext({ context: "main", nick: "amy", instance: "desk" });
    for (let count = 0; count < 3; count++) {
      const offline = entered(own, "offline");
      wire.cut();
      await offline;
      await context.post({ role: "user", kind: "text", content: "still here" });
      expect(await context.members()).toMatchObject([{ nick: "amy" }]);
    }
    expect(states).toEqual(["live", "offline", "live", "offline", "live", "offline", "live"]);
    expect(wire.opened).toBe(4);
    expect((await context.show()).blocks).toHaveLength(3);
  });

  test("a call waits for it, and fails as offline when there is none in time", async () => {
    const time = new FakeTime();
    const own = client({ url: "http://127.0.0.1:9", timers: time.timers, patience: 5_000 });
    await entered(own, "offline");
    const call = refused(own.world.whoami());
    const attached = refused(own.world.attachKernel("main"));
    time.pass(5_000);
    expect((await call).toJSON()).toMatchObject({ code: "offline", facts: { sent: false } });
    expect((await attached).code).toBe("offline");
    expect(own.state).toBe("offline");
  });

  test("that is refused is not tried again, and says why", async () => {
    for (const token of [undefined, "nonsense", "kumiko_abcdefabcdef_secret"]) {
      const own = client({ token });
      await entered(own, "refused");
      expect(own.error?.code).toBe("unauthorised");
      expect((await refused(own.world.whoami())).code).toBe("unauthorised");
    }
  });

  test("whose token is revoked ends as refused, with what is under way", async () => {
    const agent = await server.mint({ scopes: ["read", "write"] });
    const own = client({ token: agent.token });
    await own.connected();
    await server.hall.tokens.revoke(server.owner.principal, agent.principal.token);
    await entered(own, "refused");
    expect(own.error?.code).toBe("unauthorised");
    expect((await refused(own.kernel("main").position())).code).toBe("unauthorised");
  });

  test("to another version of the protocol is refused", async () => {
    const wire = cuttableSockets();
    wire.change = (frame) => frame.replace(/"protocol":\d+/, '"protocol":999');
    const own = client({ WebSocket: wire.WebSocket });
    await entered(own, "refused");
    expect(own.error?.toJSON()).toMatchObject({
      code: "protocol_mismatch",
      facts: { server: 999 },
    });
    expect(wire.opened).toBe(1);
  });

  test("over which nothing comes any more is given up", async () => {
    const wire = cuttableSockets();
    const time = new FakeTime();
    const own = client({ WebSocket: wire.WebSocket, timers: time.timers, silence: 1_000 });
    await own.connected();
    time.pass(1_000);
    await own.world.whoami();
    time.pass(1_000);
    expect(own.state).toBe("live");
    wire.fate = (direction) => (direction === "out" ? "hold" : "pass");
    const offline = entered(own, "offline");
    time.pass(3_000);
    await offline;
    wire.fate = () => "pass";
    const live = entered(own, "live");
    time.pass(1_000);
    await live;
  });

  test("is over when the client is disposed of, whatever waits for it", async () => {
    const own = client({ url: "http://127.0.0.1:9" });
    const call = refused(own.world.whoami());
    await own[Symbol.asyncDispose]();
    expect((await call).code).toBe("disposed");
    expect(own.state).toBe("closed");
    const live = client();
    await live.connected();
    const feed = live.kernel("main").feed(() => undefined);
    await live.kernel("main").position();
    await live[Symbol.asyncDispose]();
    await feed.ended;
    await server.front.connections.none("socket");
  });

  test("goes on with a server that was started again at the same place", async () => {
    const port = Number(new URL(server.url).port);
    const own = client();
    await own.connected();
    const offline = entered(own, "offline");
    server.close();
    await offline;
    await server[Symbol.asyncDispose]();
    const waiting = own.world.whoami();
    server = stack.use(await openRpcServer({ port }));
    // Another home: the token is not known there.
    expect((await refused(waiting)).code).toBe("unauthorised");
  });
});

describe("calls", () => {
  test("errors are what they were on the server", async () => {
    const kernel = client().kernel("main");
    const error = await refused(kernel.getDocumentState({ block_id: "main~ann~7" }));
    expect(error.toJSON()).toMatchObject({ code: "unknown_block", facts: { block: "main~ann~7" } });
    expect((await refused(client().kernel("nowhere").position())).code).toBe("unknown_kernel");
  });

  test("a kernel that was not there is found once it is", async () => {
    const own = client();
    const kernel = own.kernel("later");
    expect((await refused(kernel.position())).code).toBe("unknown_kernel");
    await server.hall.world.create("later");
    expect(await kernel.position()).toBe(0);
  });

  test("writing is carried out once, wherever the connection breaks", async () => {
    const wire = cuttableSockets();
    const own = client({ WebSocket: wire.WebSocket });
    const kernel = own.kernel("main");
    const block = await posted(own, "");
    const random = new Random(seed());
    let cuts = 0;
    wire.fate = () => {
      if (random.next() > 0.25) return "pass";
      cuts++;
      return random.pick(["before", "behind"] as const);
    };
    const marks = Array.from({ length: scaled(600) }, (_, at) => `<${at}>`);
    const write = async (mark: string, at: number): Promise<void> => {
      if (at % 2 === 0) {
        await kernel.executeTool({
          name: "block_append",
          arguments: { block_id: block, text: mark },
        });
      } else {
        const splices = [{ at: 0, remove: 0, insert: mark }];
        await kernel.pushOps({ block_id: block, base_version: 1, splices });
      }
    };
    for (let at = 0; at < marks.length; at += 5)
      await Promise.all(marks.slice(at, at + 5).map((mark, index) => write(mark, at + index)));
    wire.fate = () => "pass";
    const { text } = await kernel.getDocumentState({ block_id: block });
    const counts = marks.map((mark) => text.split(mark).length - 1);
    expect(cuts).toBeGreaterThan(5);
    expect(counts.filter((count) => count !== 1)).toEqual([]);
    expect(text.length).toBe(marks.join("").length);
  });

  test("what is not safe to make again is not, and says so", async () => {
    const wire = cuttableSockets();
    const own = client({ WebSocket: wire.WebSocket });
    await own.kernel("main").position();
    wire.fate = (direction, frame) =>
      direction === "in" && frame.includes('"resolve"') ? "before" : "pass";
    const error = await refused(own.kernel("main").createContext({ context: "plans" }));
    wire.fate = () => "pass";
    expect(error.toJSON()).toMatchObject({ code: "offline", facts: { sent: true } });
    const contexts = await own.kernel("main").listContexts();
    expect(contexts.map(({ context }) => context)).toEqual(["main", "plans"]);
    const streamed = own
      .kernel("main")
      .executeTool({ name: "block_list", context: "main" }, { retry: false });
    expect(await streamed).toMatchObject({ blocks: [] });
  });

  test("one that is given up is given up on the server", async () => {
    const own = client();
    await own.connected();
    const begun = Promise.withResolvers<AbortSignal>();
    using _ = instead(server.hall, "block_list", ({ signal }) => {
      begun.resolve(signal!);
      const { promise, reject } = Promise.withResolvers<never>();
      signal!.addEventListener("abort", () => reject(signal!.reason as Error));
      return promise;
    });
    const giveUp = new AbortController();
    const call = refused(
      own.kernel("main").executeTool({ name: "block_list" }, { signal: giveUp.signal }),
    );
    const signal = await begun.promise;
    giveUp.abort();
    expect((await call).code).toBe("aborted");
    expect(signal.aborted).toBe(true);
  });

  test("thousands at once are answered, though a connection has only so many under way", async () => {
    const kernel = client().kernel("main");
    const answers = await Promise.all(Array.from({ length: 3_000 }, () => kernel.position()));
    expect(new Set(answers)).toEqual(new Set([0]));
  });

  test("lines mean what this client read, also after it has come back", async () => {
    const wire = cuttableSockets();
    const own = client({ WebSocket: wire.WebSocket });
    const other = client();
    const block = await posted(own, "one\ntwo\nthree\n");
    const kernel = own.kernel("main");
    await kernel.executeTool({ name: "block_read", arguments: { block_id: block } });
    await other.kernel("main").pushOps({
      block_id: block,
      base_version: 1,
      splices: [{ at: 0, remove: 0, insert: "zero\n" }],
    });
    wire.cut();
    await kernel.executeTool({
      name: "block_edit",
      arguments: {
        block_id: block,
        operations: [{ op: "replace", start_line: 1, end_line: 2, content: "TWO\n" }],
      },
    });
    const { text } = await kernel.getDocumentState({ block_id: block });
    expect(text).toBe("zero\none\nTWO\nthree\n");
  });
});

test("the client is fit for browsers: nothing of Node, no zod, and Loro only when a replica asks for it", async () => {
  const { metafile } = await build({
    entryPoints: ["src/client/index.ts"],
    bundle: true,
    splitting: true,
    outdir: "client",
    write: false,
    format: "esm",
    platform: "browser",
    loader: { ".wasm": "empty" },
    metafile: true,
    logLevel: "silent",
  });
  const { outputs } = metafile;
  const entry = Object.keys(outputs).find((file) =>
    outputs[file]!.entryPoint?.endsWith("index.ts"),
  );
  const loaded = new Set([entry!]);
  for (const file of loaded)
    for (const { path, kind } of outputs[file]!.imports)
      if (kind === "import-statement") loaded.add(path);
  const inputs = [...loaded].flatMap((file) => Object.keys(outputs[file]!.inputs));
  expect(inputs.filter((file) => /node_modules\/(?!capnweb|@noble)/.test(file))).toEqual([]);
  expect(inputs.some((file) => file.includes("capnweb"))).toBe(true);
  expect(Object.keys(metafile.inputs).filter((file) => file.includes("/zod/"))).toEqual([]);
});
