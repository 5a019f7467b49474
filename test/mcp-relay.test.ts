import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { connect, createServer as createWire } from "node:net";
import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { McpRelay } from "../src/cli/doors/mcp-relay.ts";
import { KumikoError, LineReader } from "../src/base/index.ts";
import { type Message, modern, openMcp } from "./support/mcp.ts";

/** A relay to this port, and what it says. */
function relaying(
  port: number,
  headers: { readonly [name: string]: string } = {},
  answers: () => Promise<void> = async () => undefined,
) {
  const input = new PassThrough();
  const output = new PassThrough();
  const messages: Message[] = [];
  let heard: (() => void) | undefined;
  const lines = new LineReader(10_000_000);
  output.on("data", (chunk: Buffer) => {
    for (const line of lines.read(chunk)) messages.push(JSON.parse(line) as Message);
    heard?.();
  });
  const running = new McpRelay({
    input,
    output,
    signal: new AbortController().signal,
    headers: {},
    actorOf: () => "ann",
    target: async () => ({ url: new URL(`http://127.0.0.1:${port}/mcp`), headers }),
    answers,
    isLeftToUs: async () => false,
    failed: () => undefined,
    retry: 1,
    patience: 1,
  }).run();
  return {
    say: (message: object) => void input.write(`${JSON.stringify(message)}\n`),
    async next(): Promise<Message> {
      while (messages.length === 0) {
        const { promise, resolve } = Promise.withResolvers<void>();
        heard = resolve;
        await promise;
      }
      return messages.shift()!;
    },
    async [Symbol.asyncDispose]() {
      input.end();
      await running;
    },
  };
}

/** A server that answers as it is told to, one answer after the other; the last one again and again. */
async function answering(...answers: ((response: ServerResponse, asked: Message) => void)[]) {
  const asked: Message[] = [];
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    if (request.method !== "POST") {
      response.writeHead(405).end();
      return;
    }
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const message = JSON.parse(Buffer.concat(chunks).toString()) as Message;
      asked.push(message);
      const answer = answers.length > 1 ? answers.shift()! : answers[0]!;
      answer(response, message);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  return {
    port,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

const events = { "content-type": "text/event-stream" };
const json = { "content-type": "application/json" };
const ways = {
  "a stream that ends": (response: ServerResponse) => void response.writeHead(200, events).end(),
  "a stream that tells of progress and ends": (response: ServerResponse) =>
    void response
      .writeHead(200, events)
      .end('data: {"jsonrpc":"2.0","method":"notifications/progress","params":{}}\n\n'),
  nothing: (response: ServerResponse) => void response.writeHead(202).end(),
  "an empty body": (response: ServerResponse) => void response.writeHead(200, json).end(),
  "a fault": (response: ServerResponse) => void response.writeHead(502).end("<html>"),
  "a server that stops": (response: ServerResponse) =>
    void response
      .writeHead(503, json)
      .end('{"error":{"code":"closing","message":"The server is stopping.","facts":{}}}'),
};
const good = (response: ServerResponse, { id }: Message): void =>
  void response.writeHead(200, json).end(JSON.stringify({ jsonrpc: "2.0", id, result: {} }));
const call = modern(7, "tools/call", { name: "block_append", arguments: {} });

function timeout(): Error {
  return Object.assign(new Error("it took too long"), { code: "ETIMEDOUT" });
}

async function answerOf(relay: { next(): Promise<Message> }): Promise<Message> {
  for (;;) {
    const message = await relay.next();
    if (message.method === undefined) return message;
  }
}

describe("the relay of `kumiko mcp`", () => {
  for (const [name, way] of Object.entries(ways)) {
    it(`asks again when the answer is ${name}, and the call is the same`, async () => {
      await using server = await answering(way, good);
      await using relay = relaying(server.port);
      relay.say(call);
      expect(await answerOf(relay)).toEqual({ jsonrpc: "2.0", id: 7, result: {} });
      const ids = server.asked.map(
        ({ params }) => (params!["_meta"] as { [key: string]: unknown })["kumiko/call"],
      );
      expect(ids).toHaveLength(2);
      expect(ids[0]).toBeDefined();
      expect(ids[1]).toBe(ids[0]);
    });

    it(`refuses what is answered by ${name} time and again`, async () => {
      await using server = await answering(way);
      await using relay = relaying(server.port);
      relay.say(call);
      expect(await answerOf(relay)).toMatchObject({ id: 7, error: { code: -32_000 } });
    });
  }

  it("does not ask again for what its client has given up", async () => {
    const begun = Promise.withResolvers<ServerResponse>();
    const opened = (response: ServerResponse, { id }: Message): void =>
      void response
        .writeHead(200, { ...json, "mcp-session-id": "s" })
        .end(JSON.stringify({ jsonrpc: "2.0", id, result: { protocolVersion: "2025-11-25" } }));
    await using server = await answering(
      opened,
      (response) => begun.resolve(response),
      (response) => {
        response.writeHead(202).end();
        void begun.promise.then((first) => first.writeHead(200, events).end());
      },
      good,
    );
    await using relay = relaying(server.port);
    relay.say({ jsonrpc: "2.0", id: 1, method: "initialize", params: {} });
    await relay.next();
    relay.say({ jsonrpc: "2.0", id: 7, method: "tools/call", params: { name: "x" } });
    await begun.promise;
    const params = { requestId: 7 };
    relay.say({ jsonrpc: "2.0", method: "notifications/cancelled", params });
    relay.say({ jsonrpc: "2.0", id: 8, method: "ping" });
    expect(await relay.next()).toMatchObject({ id: 8 });
    expect(server.asked.filter(({ id }) => id === 7)).toHaveLength(1);
  });

  it("waits for an answer as long as the server is there, and no longer", async () => {
    let asked = 0;
    await using server = await answering((response, message) => {
      if (message.id === 7) response.writeHead(200, events).flushHeaders();
      else good(response, message);
    });
    const silent = new KumikoError("unreachable", "It does not answer.", {}, { cause: timeout() });
    await using relay = relaying(server.port, {}, async () => {
      if ((asked += 1) === 6) throw silent;
    });
    relay.say(call);
    const { id, error } = await answerOf(relay);
    expect([id, asked >= 6]).toEqual([7, true]);
    expect(error?.message).toContain("may still be done when it goes on");
    relay.say({ ...call, id: 8 });
    expect(await answerOf(relay)).toEqual({ jsonrpc: "2.0", id: 8, result: {} });
  });

  it("appends once, though the way broke off behind the server's answer", async () => {
    await using mcp = await openMcp();
    const text = { role: "user", kind: "text", content: "A" };
    await mcp.raw2026().call("tools/call", { name: "block_create", arguments: text });
    let breaks = true;
    await using wires = new AsyncDisposableStack();
    const wire = createWire((from) => {
      const to = connect(Number(new URL(mcp.url).port), "127.0.0.1");
      let appends = false;
      from.on("data", (chunk) => {
        appends ||= chunk.includes("block_append");
        to.write(chunk);
      });
      to.on("data", (chunk) => {
        if (!appends || !breaks) {
          from.write(chunk);
          return;
        }
        breaks = false;
        from.resetAndDestroy();
      });
      from.on("error", () => undefined).on("close", () => to.destroy());
      to.on("error", () => undefined).on("close", () => from.destroy());
    });
    wire.listen(0, "127.0.0.1");
    await once(wire, "listening");
    wires.defer(() => void wire.close());
    await using relay = relaying((wire.address() as { port: number }).port, {
      host: new URL(mcp.url).host,
      authorization: `Bearer ${mcp.owner.token}`,
      "kumiko-tools": "all",
    });
    const input = { block_id: "main~ann~1", text: "[once]" };
    relay.say(modern(2, "tools/call", { name: "block_append", arguments: input }));
    expect(await answerOf(relay)).toMatchObject({ id: 2, result: { resultType: "complete" } });
    expect(breaks).toBe(false);
    const kernel = await mcp.hall.world.open("main");
    expect((await kernel.read("main~ann~1")).text).toBe("A[once]");
  });
});
