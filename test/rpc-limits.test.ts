import { EventEmitter, getEventListeners } from "node:events";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { WebSocket } from "ws";
import { connect } from "../src/client/index.ts";
import { fromWire } from "../src/client/wire-error.ts";
import { Transport } from "../src/doors/rpc/transport.ts";
import type { FeedMessage, RpcKernel } from "../src/protocol/index.ts";
import { scaled } from "./support/counts.ts";
import { FakeTime } from "./support/kernel-workshop.ts";
import { ended, openRpcServer, openSocket, plainWorld } from "./support/rpc.ts";

type Server = Awaited<ReturnType<typeof openRpcServer>>;

let stack: AsyncDisposableStack;
beforeEach(() => void (stack = new AsyncDisposableStack()));
afterEach(() => stack.disposeAsync());

async function kernelOf(
  server: Server,
  socket?: WebSocket,
): Promise<{ kernel: RpcKernel; socket: WebSocket }> {
  const open = socket ?? (await openSocket(server.url, server.owner.token));
  stack.defer(() => open.terminate());
  return { kernel: await plainWorld(open).attachKernel({ kernel: "main" }), socket: open };
}

async function post(kernel: RpcKernel, content: string): Promise<string> {
  const made = (await kernel.executeTool({
    name: "block_create",
    context: "main",
    arguments: { role: "user", kind: "text", content },
  })) as { block_id: string };
  return made.block_id;
}

const whoami = '["push",["pipeline",0,["whoami"],[]]]';
const deep = (levels: number): string =>
  `["push",["pipeline",0,["whoami"],[${"[[".repeat(levels)}1${"]]".repeat(levels)}]]]`;
const taking = (value: string): string => `["push",["pipeline",0,["attachKernel"],[${value}]]]`;

const malformed: readonly (readonly [what: string, frame: string | Buffer])[] = [
  ["no JSON", "hello"],
  ["half a message", '["push",["pipeline",0'],
  ["no list", '{"push":1}'],
  ["null", "null"],
  ["an unknown message", '["explode",1]'],
  ["an empty message", "[]"],
  ["a push of nothing", '["push"]'],
  ["bytes", Buffer.from(whoami)],
  ["a stream", '["stream",["pipeline",0,["whoami"],[]]]'],
  ["a pipe", '["pipe"]'],
  ["a map over a list", '["push",["remap",0,["listKernels"],[],[["pipeline",0,["kernel"]]]]]'],
  ["a map in an argument", taking('["remap",0,[],[],[]]')],
  ["a request", taking('["request","http://127.0.0.1:1/",{}]')],
  ["a response", taking('["response",null,{}]')],
  ["headers", taking('["headers",[["a","b"]]]')],
  ["a stream to read", taking('["readable",1]')],
  ["a stream to write", taking('["writable",-1]')],
  ["a blob", taking('["blob","x",["readable",1]]')],
  ["a promise", taking('["promise",-5]')],
  ["an unknown kind of value", taking('["whatever",1]')],
  ["a list that is none", taking('[["a"],"b"]')],
  ["something hidden in a tag", taking('["import",{"a":["remap",0,[],[],[]]}]')],
  ["a release of nothing", '["release",77,1]'],
  ["a pull of nothing", '["pull",77]'],
  ["a word on a channel that is none", '{"channel":1,"done":-1}'],
  ["something else on a channel", '{"channel":1,"message":{"kind":"begun"}}'],
  ["a map behind which there is more", '["resolve",5,["remap",0,["whoami"],[],[]],0]'],
  ["a request behind which there is more", '["reject",5,["request","http://127.0.0.1:1/",{}],0]'],
  ["a map in an end", '["abort",["remap",0,[],[],[]],0]'],
  ["a push with more", '["push",["pipeline",0,["whoami"],[]],0]'],
  ["a push that is no call", '["push",[[1,2,3]]]'],
  ["a call in an argument", taking('["pipeline",0,["whoami"],[]]')],
  ["a capability of ours as one of theirs", taking('["export",4294967294]')],
  ["a release of less than one", `${whoami}\n["release",1,0]`],
  ["a release of more than one", `${whoami}\n["release",1,2]`],
  ["too deep", deep(40)],
  ["far too deep", deep(400_000)],
  ["one of several messages", `${whoami}\nhello`],
];

describe("frames", () => {
  test("that are no messages end their connection and nobody else's", async () => {
    const server = stack.use(await openRpcServer());
    const { kernel } = await kernelOf(server);
    for (const [what, frame] of malformed) {
      const socket = await openSocket(server.url, server.owner.token);
      const end = ended(socket);
      socket.send(frame);
      expect([what, await end]).toEqual([what, { code: 4400, reason: "malformed" }]);
    }
    expect(await kernel.position()).toEqual({ position: 0 });
  });

  test("that are too large are not taken in", async () => {
    const server = stack.use(await openRpcServer());
    const { kernel } = await kernelOf(server);
    const socket = await openSocket(server.url, server.owner.token);
    const end = ended(socket);
    socket.send(`["push",["pipeline",0,["whoami"],["${"x".repeat(5 * 1024 * 1024)}"]]]`);
    expect(await end).toMatchObject({ code: 1009 });
    expect(await kernel.position()).toEqual({ position: 0 });
  });

  test("nesting that is allowed is refused by the schema, not by the connection", async () => {
    const server = stack.use(await openRpcServer());
    const { kernel } = await kernelOf(server);
    const nested = JSON.parse("[".repeat(20) + "]".repeat(20)) as never;
    const call = kernel.executeTool({ name: "block_list", arguments: { depth: nested } });
    await expect(call).rejects.toMatchObject({ code: "invalid_argument" });
    expect(await kernel.position()).toEqual({ position: 0 });
  });
});

describe("one connection", () => {
  test("has so many calls under way", async () => {
    const limits = { calls: 3, subscriptions: 2, capabilities: 4 };
    const server = stack.use(await openRpcServer({ limits }));
    const { kernel } = await kernelOf(server);
    const answers = await Promise.allSettled(Array.from({ length: 10 }, () => kernel.usage()));
    const refused = answers.filter((each) => each.status === "rejected");
    expect(refused.map((each) => fromWire(each.reason).toJSON())).toContainEqual(
      expect.objectContaining({ code: "too_many", facts: { what: "calls under way", limit: 3 } }),
    );
    expect(answers.length - refused.length).toBe(3);
    expect(await kernel.position()).toEqual({ position: 0 });
  });

  test("has so many subscriptions and capabilities, and gets back what it disposes of", async () => {
    const limits = { calls: 100, subscriptions: 2, capabilities: 4 };
    const server = stack.use(await openRpcServer({ limits }));
    const { kernel } = await kernelOf(server);
    const first = await kernel.feed(() => undefined);
    await kernel.feed(() => undefined);
    await expect(kernel.feed(() => undefined)).rejects.toMatchObject({ code: "too_many" });
    await first.end();
    await kernel.feed(() => undefined);
    const contexts = [];
    for (let count = 0; count < 3; count++)
      contexts.push(await kernel.openContext({ context: "main" }));
    await expect(kernel.openContext({ context: "main" })).rejects.toMatchObject({
      code: "too_many",
    });
    contexts[0]![Symbol.dispose]();
    await kernel.openContext({ context: "main" });
  });

  test("that never releases an answer is ended", async () => {
    const server = stack.use(await openRpcServer());
    const socket = await openSocket(server.url, server.owner.token);
    const end = ended(socket);
    const calls = Array.from({ length: 1000 }, () => whoami).join("\n");
    for (let count = 0; count < 12; count++) socket.send(calls);
    expect(await end).toEqual({ code: 4429, reason: "too_many" });
  });

  test("that holds as much as it may is answered nothing more, and ended when it releases nothing", async () => {
    const time = new FakeTime();
    const server = stack.use(await openRpcServer({ timers: time.timers }));
    const { kernel } = await kernelOf(server);
    const block = await post(kernel, "a line of text that is long enough\n".repeat(30_000));
    for (const asks of [true, false]) {
      const socket = await openSocket(server.url, server.owner.token);
      const end = ended(socket);
      let answers = 0;
      socket.on("message", () => void answers++);
      const call = JSON.stringify([
        "push",
        ["pipeline", 1, ["executeTool"], [{ name: "block_read", arguments: { block_id: block } }]],
      ]);
      const calls = Array.from({ length: 60 }, (_, at) =>
        asks ? `${call}\n["pull",${at + 2}]` : call,
      );
      const attach = '["push",["pipeline",0,["attachKernel"],[{"kernel":"main"}]]]';
      // Each in a frame of its own, so that answers come so too.
      for (const frame of [attach, ...calls.flatMap((each) => each.split("\n"))])
        socket.send(frame);
      // 16 MiB, what was under way by then, and a few that nobody asked for; some come two in a frame.
      let seen = 0;
      let quiet = 0;
      await until(() => {
        quiet = answers === seen ? quiet + 1 : 0;
        seen = answers;
        return answers >= 8 && quiet > 300;
      });
      await kernel.position();
      time.pass(10_000);
      expect(await end).toEqual({ code: 4429, reason: "too_many" });
      expect(answers).toBeLessThan(40);
    }
  });

  test("that releases what it is told has any number of answers, whatever it asks for beforehand", async () => {
    const server = stack.use(await openRpcServer());
    const socket = await openSocket(server.url, server.owner.token);
    stack.defer(() => socket.terminate());
    const count = 11_000;
    const answered = new Set<number>();
    const all = Promise.withResolvers<void>();
    socket.on("message", (data: Buffer) => {
      for (const text of data.toString("utf8").split("\n")) {
        const [kind, id] = JSON.parse(text) as [string, number];
        expect(kind).toBe("resolve");
        answered.add(id);
        socket.send(`["release",${id},1]`);
      }
      if (answered.size === count) all.resolve();
    });
    for (let at = 1; at <= count; at += 1000) {
      const ids = Array.from({ length: 1000 }, (_, more) => at + more);
      socket.send([...ids.map(() => whoami), ...ids.map((id) => `["pull",${id}]`)].join("\n"));
      await until(() => answered.size >= at);
    }
    await all.promise;
    expect(socket.readyState).toBe(socket.OPEN);
  });

  test("has no more subscriptions because it hears of no end", async () => {
    const time = new FakeTime();
    const limits = { subscriptions: 2 };
    const server = stack.use(await openRpcServer({ limits, timers: time.timers }));
    const { kernel, socket } = await kernelOf(server);
    const told: unknown[] = [];
    socket.on("message", (data: Buffer) => {
      const text = data.toString("utf8");
      if (text.startsWith("{")) told.push((JSON.parse(text) as { message: FeedMessage }).message);
    });
    // Released: its end is told, and not waited for.
    for (let count = 0; count < 10; count++) {
      const subscription = await kernel.feed({ channel: 1 });
      await subscription.end();
    }
    expect(told).toMatchObject(
      Array.from({ length: 10 }, () => [{ kind: "begun" }, { reason: "released" }]).flat(),
    );
    // Ended by us: it counts until it has heard, or for as long as it is given to.
    await kernel.feed({ channel: 1 });
    await kernel.feed({ channel: 2 });
    await server.hall.world.close("main");
    await until(() => told.length === 24);
    await expect(kernel.feed({ channel: 3 })).rejects.toMatchObject({ code: "too_many" });
    time.pass(10_000);
    await until(() => /kumiko_feed_subscribers 0\n/.test(server.hall.metrics.render()));
  });

  test("a server that stops waits for every call, also of what is no tool", async () => {
    const server = stack.use(await openRpcServer());
    const { kernel } = await kernelOf(server);
    const inside = await server.hall.kernelOf(server.owner.principal, "main");
    const begun = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    const get = inside.toolFilter.get.bind(inside.toolFilter);
    inside.toolFilter.get = async () => {
      begun.resolve();
      await go.promise;
      return get();
    };
    const call = kernel.getToolFilter();
    await begun.promise;
    expect(server.hall.callsUnderWay).toBe(1);
    const idle = server.hall.idle().then(() => "idle");
    expect(await Promise.race([idle, kernel.position()])).toEqual({ position: 0 });
    go.resolve();
    await call;
    expect(await idle).toBe("idle");
    expect(server.hall.callsUnderWay).toBe(0);
  });

  test("leaves nothing behind when it goes", async () => {
    const server = stack.use(await openRpcServer());
    const { principal, token } = server.owner;
    const listeners = (): number =>
      getEventListeners(server.hall.closing, "abort").length +
      getEventListeners(principal.signal, "abort").length;
    const kernel = await server.hall.kernelOf(principal, "main");
    const visit = async (number: number): Promise<void> => {
      const socket = await openSocket(server.url, token);
      const end = ended(socket);
      const { kernel: attached } = await kernelOf(server, socket);
      await attached.feed(() => undefined, { topics: ["block", "config"] });
      const subscription = await attached.subscribeBlocks(() => undefined);
      await attached.openContext({ context: "main" });
      if (number % 3 === 0) await subscription.end();
      if (number % 3 === 1) subscription[Symbol.dispose]();
      if (number % 2 === 0) socket.terminate();
      else socket.close();
      await end;
    };
    await visit(0);
    await server.front.connections.none("socket");
    const before = listeners();
    const count = scaled(1000);
    for (let number = 0; number < count; number += 10)
      await Promise.all(Array.from({ length: 10 }, (_, at) => visit(number + at)));
    await server.front.connections.none("socket");
    expect(kernel.feed.subscribers).toBe(0);
    expect(listeners()).toBe(before);
    expect(server.hall.metrics.render()).toMatch(/kumiko_feed_subscribers 0\n/);
    expect(server.hall.callsUnderWay).toBe(0);
  });
});

describe("peers that do not read", () => {
  test("what they listen to ends with resync, then their connection; others are told everything", async () => {
    const time = new FakeTime();
    const server = stack.use(await openRpcServer({ timers: time.timers }));
    const { kernel } = await kernelOf(server);
    await using reader = connect({ url: server.url, token: server.owner.token });
    const seen: number[] = [];
    await using following = reader.kernel("main").feed((news) => {
      if (news.kind === "blocks") seen.push(...news.events.map(({ position }) => position));
    });
    await reader.kernel("main").position();
    expect(following.position).toBe(0);
    const stalled = await Promise.all(
      Array.from({ length: 50 }, async () => {
        const socket = await openSocket(server.url, server.owner.token);
        const { kernel: own } = await kernelOf(server, socket);
        await own.feed(() => undefined);
        socket.pause();
        return socket;
      }),
    );
    const inside = await server.hall.kernelOf(server.owner.principal, "main");
    expect(inside.feed.subscribers).toBe(51);
    const before = process.memoryUsage().rss;
    const text = "a line of text that is long enough\n".repeat(3_000);
    for (let count = 0; count < 60; count++) await post(kernel, text);
    // They were ended; the one that reads was not.
    expect(inside.feed.subscribers).toBe(1);
    expect((process.memoryUsage().rss - before) / 1e6).toBeLessThan(250);
    await until(() => seen.length >= 60);
    expect(seen).toEqual(Array.from({ length: 60 }, (_, at) => at + 1));
    const ends = stalled.map(ended);
    time.pass(10_000);
    for (const socket of stalled) socket.resume();
    expect(new Set((await Promise.all(ends)).map(({ reason }) => reason))).toEqual(
      new Set(["resync"]),
    );
    expect(server.hall.metrics.render()).toMatch(/kumiko_resyncs_total\{door="\/rpc"\} 50\n/);
  });

  test("answers that nobody reads end the connection, and only that one", async () => {
    const time = new FakeTime();
    // A single answer is more than may wait.
    const outflow = { pause: 64 * 1024, end: 256 * 1024 };
    const server = stack.use(await openRpcServer({ timers: time.timers, outflow }));
    const { kernel } = await kernelOf(server);
    const block = await post(kernel, "a line of text that is long enough\n".repeat(30_000));
    const { socket, kernel: own } = await kernelOf(server);
    const end = ended(socket);
    socket.pause();
    const before = process.memoryUsage().rss;
    const calls = Array.from({ length: 400 }, () =>
      own.executeTool({ name: "block_read", arguments: { block_id: block } }).then(
        () => "answered",
        () => "lost",
      ),
    );
    // It is paused after a few answers of a megabyte each; the others are not even made.
    await until(() => time.waiting > 0);
    expect((process.memoryUsage().rss - before) / 1e6).toBeLessThan(150);
    expect(await kernel.position()).toEqual({ position: 1 });
    await until(() => {
      time.pass(2_500);
      return /kumiko_resyncs_total/.test(server.hall.metrics.render());
    });
    socket.resume();
    await end;
    expect(await Promise.all(calls)).toContain("lost");
    expect(await kernel.position()).toEqual({ position: 1 });
  });

  for (const [what, length, milliseconds] of [
    ["more than may wait", 12, 2_500],
    ["less than may wait", 3, 10_000],
  ] as const) {
    test(`who takes nothing while there is ${what} is ended in ${milliseconds} ms`, async () => {
      const time = new FakeTime();
      const outflow = { pause: 1024 * 1024, end: 8 * 1024 * 1024 };
      const sent: string[] = [];
      const socket = Object.assign(new EventEmitter(), {
        readyState: 1,
        bufferedAmount: 0,
        send(frame: string): void {
          this.bufferedAmount += frame.length;
        },
        pause: () => undefined,
        resume: () => undefined,
        terminate: () => undefined,
        close: (_code: number, reason: string) => void sent.push(reason),
      });
      const transport = new Transport(
        socket as unknown as WebSocket,
        { timers: time.timers, resumed: () => undefined, closed: () => undefined },
        { write: () => true },
        outflow,
      );
      transport.send(["resolve", -1, "x".repeat(length * 1024 * 1024)]);
      expect(transport.paused).toBe(true);
      // The first look only says how much there is.
      time.pass(2_500);
      // What it takes counts as soon as it is as much as makes it pause.
      if (length < 8) {
        time.pass(milliseconds - 2_500);
        socket.bufferedAmount -= outflow.pause;
        time.pass(2_500);
      }
      time.pass(milliseconds - 1);
      expect(sent).toEqual([]);
      // A trickle does not.
      socket.bufferedAmount -= 1;
      time.pass(1);
      expect(sent).toEqual(["resync"]);
    });
  }

  test("one that reads is answered, however much it asks for at once", async () => {
    const server = stack.use(await openRpcServer());
    const { kernel } = await kernelOf(server);
    const block = await post(kernel, "a line of text that is long enough\n".repeat(30_000));
    await using client = connect({ url: server.url, token: server.owner.token });
    const answers = await Promise.all(
      Array.from({ length: 60 }, () => client.kernel("main").getDocumentState({ block_id: block })),
    );
    expect(new Set(answers.map(({ text }) => text.length))).toEqual(new Set([35 * 30_000]));
    expect(client.identity).toBeDefined();
  });

  test("a slow callback is sent two messages and no third before it answers", async () => {
    const server = stack.use(await openRpcServer());
    const { kernel } = await kernelOf(server);
    for (let count = 0; count < 30; count++) await post(kernel, "x".repeat(60_000));
    let underWay = 0;
    let most = 0;
    const told: number[] = [];
    const all = Promise.withResolvers<void>();
    await kernel.feed(
      async (message: FeedMessage) => {
        if (message.kind !== "blocks") return;
        most = Math.max(most, ++underWay);
        await kernel.position();
        await kernel.position();
        underWay--;
        told.push(...message.events.map(({ position }) => position));
        if (told.length === 30) all.resolve();
      },
      { from: 0 },
    );
    await all.promise;
    expect(told).toEqual(Array.from({ length: 30 }, (_, at) => at + 1));
    expect(most).toBe(2);
  });
});

/** Looks again with every turn of the event loop. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}
