import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { Tool } from "../src/tools/index.ts";
import { FakeTime } from "./support/kernel-workshop.ts";
import { answerOf, EventStream, modern, modernHeaders, openMcp } from "./support/mcp.ts";

type Mcp = Awaited<ReturnType<typeof openMcp>>;

const BLOCK = { role: "user", kind: "text", content: "one\ntwo\n" };
const calling = (name: string, input: object, meta?: object) => ({
  name,
  arguments: input,
  ...(meta !== undefined && { _meta: meta }),
});

/** One that goes on until it is given up, and says so. */
function waiting(): { tool: Tool; begun: Promise<void>; aborted: Promise<void>; end(): void } {
  const begun = Promise.withResolvers<void>();
  const aborted = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  return {
    begun: begun.promise,
    aborted: aborted.promise,
    end: ended.resolve,
    tool: {
      name: "test_waiting",
      description: "waits",
      input: z.strictObject({}),
      output: z.strictObject({}),
      examples: [],
      writes: false,
      async run(_, { signal }) {
        signal?.addEventListener("abort", () => {
          aborted.resolve();
          ended.resolve();
        });
        begun.resolve();
        await ended.promise;
        return {};
      },
    },
  };
}

const revisions = {
  "2025-11-25": (mcp: Mcp, headers?: Record<string, string>) =>
    mcp.raw2025(mcp.owner.token, headers),
  "2026-07-28": async (mcp: Mcp, headers?: Record<string, string>) =>
    mcp.raw2026(mcp.owner.token, headers),
};

for (const [revision, connect] of Object.entries(revisions)) {
  describe(`MCP over HTTP, ${revision}`, () => {
    it("neither shows nor calls what the kernel does not offer", async () => {
      await using mcp = await openMcp();
      const kernel = await mcp.hall.world.open("main");
      await kernel.toolFilter.set({ kind: "deny", names: ["block_edit"] }, "ann");
      const client = await connect(mcp);
      const listed = JSON.stringify(await client.call("tools/list", {}));
      expect(listed).toContain('"name":"block_read"');
      expect(listed).not.toContain('"name":"block_edit"');
      const called = await client.call("tools/call", calling("block_edit", {}));
      expect(JSON.stringify(called)).toContain("There is no tool block_edit");
    });

    it("answers a plain call as it answers one that takes the longer way", async () => {
      await using mcp = await openMcp();
      const client = await connect(mcp);
      await client.call("tools/call", calling("block_create", BLOCK));
      const same = [
        calling("block_read", { block_id: "main~ann~1" }),
        calling("block_list", {}),
        calling("block_read", { block_id: "main~ann~9" }),
        calling("block_read", { nonsense: true }),
        calling("block_diff", { block_id: "main~ann~1", from: 1 }),
        calling("block_raed", {}),
        calling("block_read", { block_id: "main~ann~1" }, { "kumiko/reader": 7 }),
      ];
      for (const call of same) {
        const plain = await client.call("tools/call", call);
        const meta = { ...("_meta" in call && call["_meta"]), progressToken: 1 };
        const longer = await client.call("tools/call", { ...call, _meta: meta });
        expect(plain.result ?? plain.error).toEqual(longer.result ?? longer.error);
      }
    });

    it("takes kernel, context, reader, actor and call from headers and _meta", async () => {
      await using mcp = await openMcp();
      await mcp.hall.world.create("other");
      const other = await mcp.hall.world.open("other");
      await other.contexts.create("side", "ann");
      const unclear = await (await connect(mcp)).call("tools/call", calling("block_list", {}));
      expect(JSON.stringify(unclear.result)).toContain("there are: main, other");
      const client = await connect(mcp, {
        "kumiko-kernel": "other",
        "kumiko-context": "side",
        "kumiko-actor": "claude-code",
      });
      const meta = { "kumiko/call": "c1" };
      const first = await client.call("tools/call", calling("block_create", BLOCK, meta));
      expect(first.result).toMatchObject({
        _meta: { "kumiko/answer": { block_id: "side~claude-code~1" } },
      });
      const again = await client.call("tools/call", calling("block_create", BLOCK, meta));
      expect(again.result).toEqual(first.result);
      const changed = { ...BLOCK, content: "other" };
      const reused = await client.call("tools/call", calling("block_create", changed, meta));
      expect(reused.result).toMatchObject({
        isError: true,
        _meta: { "kumiko/error": { code: "call_reused" } },
      });
      // Two readers of one actor have read different things.
      const block_id = "side~claude-code~1";
      const read = calling("block_read", { block_id }, { "kumiko/reader": "left" });
      await client.call("tools/call", read);
      const operations = [{ op: "delete", start_line: 0, end_line: 1 }];
      const edit = (reader: string) =>
        calling("block_edit", { block_id, operations }, { "kumiko/reader": reader });
      expect((await client.call("tools/call", edit("right"))).result).toMatchObject({
        _meta: { "kumiko/error": { code: "base_required" } },
      });
      expect((await client.call("tools/call", edit("left"))).result?.["isError"]).toBeUndefined();
      const elsewhere = { "kumiko/kernel": "main", "kumiko/context": "main" };
      const listed = await client.call("tools/call", calling("block_list", {}, elsewhere));
      expect(listed.result).toMatchObject({ _meta: { "kumiko/answer": { blocks: [] } } });
    });

    it("lets nobody act as another, write or enter without the scope for it", async () => {
      await using mcp = await openMcp();
      await mcp.hall.world.create("other");
      const reading = await mcp.mint({
        actor: "eve",
        kind: "agent",
        scopes: ["read"],
        kernels: ["main"],
      });
      const as = async (headers: Record<string, string>) =>
        revision === "2025-11-25"
          ? mcp.raw2025(reading.token, headers)
          : mcp.raw2026(reading.token, headers);
      const refused = async (headers: Record<string, string>, name: string, input: object) => {
        const answer = await (await as(headers)).call("tools/call", calling(name, input));
        const { _meta: meta } = answer.result as { _meta: { "kumiko/error"?: { code: string } } };
        return meta["kumiko/error"]?.code;
      };
      expect(await refused({}, "block_create", BLOCK)).toBe("forbidden");
      expect(await refused({ "kumiko-actor": "ann" }, "block_list", {})).toBe("forbidden");
      expect(await refused({ "kumiko-kernel": "other" }, "block_list", {})).toBe("forbidden");
      expect(await refused({}, "block_list", {})).toBeUndefined();
    });

    it("makes the first conversation in nobody's name but the caller's", async () => {
      await using mcp = await openMcp();
      await mcp.hall.world.create("other");
      const other = await mcp.hall.world.open("other");
      const { token } = await mcp.mint({ actor: "eve", kind: "agent" });
      const named = async (...actor: string[]) => {
        const headers = { "kumiko-kernel": "other", ...(actor[0] && { "kumiko-actor": actor[0] }) };
        const client =
          revision === "2025-11-25"
            ? await mcp.raw2025(token, headers)
            : mcp.raw2026(token, headers);
        return client.call("tools/call", calling("block_list", {}));
      };
      for (const actor of ["ann", "<b>any text"]) {
        expect((await named(actor)).result).toMatchObject({
          _meta: { "kumiko/error": { code: "forbidden" } },
        });
        expect(mcp.hall.clients.list().map((each) => each.actor)).not.toContain(actor);
      }
      expect(await other.contexts.list()).toEqual([]);
      await named();
      expect(await other.contexts.list()).toMatchObject([{ context: "main" }]);
    });

    it("shows nothing without the scope to read", async () => {
      await using mcp = await openMcp();
      const { token } = await mcp.mint({ scopes: ["write"] });
      const client = revision === "2025-11-25" ? await mcp.raw2025(token) : mcp.raw2026(token);
      const written = await client.call("tools/call", calling("block_create", BLOCK));
      expect(written.result?.["isError"]).toBeUndefined();
      const ref = { type: "ref/resource", uri: "kumiko://{kernel}/contexts/{context}" };
      const uri = "kumiko://main/contexts/main";
      const asked: [string, { readonly [name: string]: unknown }][] = [
        ["resources/list", {}],
        ["resources/read", { uri }],
        ["completion/complete", { ref, argument: { name: "kernel", value: "" } }],
        revision === "2025-11-25"
          ? ["resources/subscribe", { uri }]
          : ["subscriptions/listen", { notifications: { resourceSubscriptions: [uri] } }],
      ];
      for (const [method, params] of asked) {
        const { error } = await client.call(method, params);
        expect(error?.data, method).toMatchObject({
          kumiko: { code: "forbidden", facts: { needed: "read" } },
        });
      }
    });

    it("carries out once what is called twice by the same id", async () => {
      await using mcp = await openMcp();
      const client = await connect(mcp, ALL_TOOLS);
      await client.call("tools/call", calling("block_create", BLOCK));
      const append = calling(
        "block_append",
        { block_id: "main~ann~1", text: "three" },
        { "kumiko/call": "mine-1" },
      );
      const first = await client.call("tools/call", append);
      expect((await client.call("tools/call", append)).result).toEqual(first.result);
      const kernel = await mcp.hall.world.open("main");
      expect((await kernel.read("main~ann~1")).text).toBe("one\ntwo\nthree");
    });

    for (const progress of [false, true]) {
      it(`answers what is under way when the server stops (${progress ? "with" : "without"} progress)`, async () => {
        const slow = waiting();
        await using mcp = await openMcp({ tools: [slow.tool] });
        const client = await connect(mcp, { "kumiko-tools": "all" });
        let aborted = false;
        void slow.aborted.then(() => (aborted = true));
        const meta = progress ? { progressToken: "p" } : {};
        const answering = client.call("tools/call", calling("test_waiting", {}, meta));
        await slow.begun;
        mcp.close();
        await new Promise(setImmediate);
        expect(aborted).toBe(false);
        slow.end();
        expect((await answering).result).toMatchObject({ _meta: { "kumiko/answer": {} } });
      });
    }

    it("lists resources in pages, reads them and completes their names", async () => {
      await using mcp = await openMcp();
      const client = await connect(mcp);
      const kernel = await mcp.hall.world.open("main");
      await kernel.contexts.create("aside", "ann");
      for (let at = 0; at < 130; at++) {
        const metadata = at === 0 ? { path: "src/a.ts" } : {};
        await mcp.hall.registry.execute(
          kernel,
          "block_create",
          { actor: "ann", context: at % 2 === 0 ? "main" : "aside" },
          { ...BLOCK, content: `text ${at}\n`, metadata },
        );
      }
      const uris: string[] = [];
      let cursor: unknown;
      let pages = 0;
      do {
        const page = await client.call("resources/list", cursor === undefined ? {} : { cursor });
        const resources = page.result!["resources"] as { uri: string; name: string }[];
        uris.push(...resources.map(({ uri }) => uri));
        cursor = page.result?.["nextCursor"];
        pages += 1;
      } while (cursor !== undefined);
      expect(pages).toBe(2);
      expect(new Set(uris).size).toBe(132);
      expect(uris.slice(0, 2)).toEqual([
        "kumiko://main/contexts/aside",
        "kumiko://main/contexts/main",
      ]);
      const read = async (uri: string) => client.call("resources/read", { uri });
      expect((await read("kumiko://main/blocks/main~ann~1")).result).toMatchObject({
        contents: [
          { text: "text 0\n", mimeType: "text/plain", _meta: { "kumiko/answer": { version: 1 } } },
        ],
      });
      const context = await read("kumiko://main/contexts/aside");
      expect(JSON.stringify(context.result)).toContain("aside~ann~65");
      for (const uri of [
        "kumiko://main/blocks/main~ann~999",
        "kumiko://nowhere/blocks/a~b~1",
        "file:///etc/passwd",
      ])
        expect((await read(uri)).error?.code).toBe(-32_602);
      const wrong = await client.call("resources/list", { cursor: "blocks/../x" });
      expect(wrong.error?.message).toContain("cursor");
      const templates = await client.call("resources/templates/list", {});
      expect(templates.result?.["resourceTemplates"]).toHaveLength(2);
      const complete = async (name: string, value: string) => {
        const answer = await client.call("completion/complete", {
          ref: { type: "ref/resource", uri: "kumiko://{kernel}/blocks/{block}" },
          argument: { name, value },
        });
        return answer.result?.["completion"] as { values: string[]; hasMore: boolean };
      };
      expect((await complete("kernel", "ma")).values).toEqual(["main"]);
      expect((await complete("context", "as")).values).toEqual(["aside"]);
      const blocks = await complete("block", "aside~ann~6");
      expect(blocks.values.every((each) => each.startsWith("aside~ann~6"))).toBe(true);
      expect(blocks.values.length).toBeGreaterThan(5);
    });

    it("reports progress once a second while a call goes on", async () => {
      const time = new FakeTime();
      const slow = waiting();
      await using mcp = await openMcp({ timers: time.timers, tools: [slow.tool] });
      const client = await connect(mcp, { "kumiko-tools": "all" });
      const params = calling("test_waiting", {}, { progressToken: "p" });
      const body =
        revision === "2026-07-28"
          ? modern(9, "tools/call", params)
          : { jsonrpc: "2.0", id: 9, method: "tools/call", params };
      const headers = revision === "2026-07-28" ? modernHeaders("tools/call", params) : {};
      const answering = client.post(body, headers);
      await slow.begun;
      time.pass(1_000);
      await using stream = new EventStream(await answering);
      const told = { method: "notifications/progress" };
      expect(await stream.next()).toMatchObject({
        ...told,
        params: { progressToken: "p", progress: 1 },
      });
      time.pass(1_000);
      expect(await stream.next()).toMatchObject({ ...told, params: { progress: 2 } });
      slow.end();
      expect(await stream.next()).toMatchObject({
        id: 9,
        result: { _meta: { "kumiko/answer": {} } },
      });
    });
  });
}

describe("MCP over HTTP, cancelling", () => {
  it("gives up a call of 2025-11-25 when its client says so", async () => {
    const slow = waiting();
    await using mcp = await openMcp({ tools: [slow.tool] });
    const client = await mcp.raw2025(undefined, { "kumiko-tools": "all" });
    const body = {
      jsonrpc: "2.0",
      id: "mine",
      method: "tools/call",
      params: calling("test_waiting", {}),
    };
    const answering = client.post(body);
    await slow.begun;
    const params = { requestId: "mine" };
    await client.post({ jsonrpc: "2.0", method: "notifications/cancelled", params });
    await slow.aborted;
    expect((await answering).status).toBe(200);
  });

  it("gives up a call of 2026-07-28 when its client hangs up", async () => {
    const slow = waiting();
    await using mcp = await openMcp({ tools: [slow.tool] });
    const hangUp = new AbortController();
    const params = calling("test_waiting", {});
    const answering = fetch(mcp.url, {
      method: "POST",
      signal: hangUp.signal,
      headers: {
        authorization: `Bearer ${mcp.owner.token}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "kumiko-tools": "all",
        ...modernHeaders("tools/call", params),
      },
      body: JSON.stringify(modern(1, "tools/call", params)),
    });
    const gone = answering.then(
      () => "answered",
      () => "gone",
    );
    await slow.begun;
    hangUp.abort();
    await slow.aborted;
    expect(await gone).toBe("gone");
  });
});

const ALL_TOOLS = { "kumiko-tools": "all" };
const WATCHED = "kumiko://main/blocks/main~ann~1";

async function edited(mcp: Mcp, text: string): Promise<void> {
  const change = { block_id: "main~ann~1", text, flush: true };
  await mcp.raw2026().call("tools/call", calling("block_append", change), ALL_TOOLS);
}

describe("MCP over HTTP, subscriptions", () => {
  it("tell a session of 2025-11-25 on its own stream, also what changed before it was open", async () => {
    await using mcp = await openMcp();
    const client = await mcp.raw2025();
    await client.call("tools/call", calling("block_create", { role: "model", kind: "text" }));
    const context = "kumiko://main/contexts/main";
    for (const uri of [WATCHED, context]) {
      expect((await client.call("resources/subscribe", { uri })).result).toEqual({});
    }
    const unknown = await client.call("resources/subscribe", {
      uri: "kumiko://main/blocks/main~x~1",
    });
    expect(unknown.error?.message).toContain("main~x~1");
    await edited(mcp, "one ");
    const response = await fetch(mcp.url, {
      headers: {
        authorization: `Bearer ${mcp.owner.token}`,
        accept: "text/event-stream",
        "mcp-session-id": client.session,
      },
    });
    await using stream = new EventStream(response);
    const updated = (uri: string) => ({
      method: "notifications/resources/updated",
      params: { uri },
    });
    expect(await stream.next()).toMatchObject(updated(WATCHED));
    expect(await stream.next()).toMatchObject(updated(context));
    await client.call("resources/unsubscribe", { uri: WATCHED });
    await edited(mcp, "two ");
    expect(await stream.next()).toMatchObject(updated(context));
    mcp.close();
    expect(await stream.next()).toBeUndefined();
  });

  it("tell a listener of 2026-07-28, and end with the server", async () => {
    await using mcp = await openMcp();
    await mcp
      .raw2026()
      .call("tools/call", calling("block_create", { role: "model", kind: "text" }));
    const listen = (uris: string[], token = mcp.owner.token) => {
      const params = { notifications: { resourceSubscriptions: uris } };
      const headers = modernHeaders("subscriptions/listen", params);
      return mcp.post(token, modern(7, "subscriptions/listen", params), headers);
    };
    const refused = await answerOf(await listen(["kumiko://main/blocks/main~x~1"]));
    expect(refused.error?.message).toContain("main~x~1");
    const eve = await mcp.mint({ actor: "eve", kind: "agent", scopes: ["read"], kernels: [] });
    expect((await answerOf(await listen([WATCHED], eve.token))).error?.message).toContain(
      "may not use",
    );
    await using stream = new EventStream(await listen([WATCHED]));
    expect(await stream.next()).toMatchObject({
      method: "notifications/subscriptions/acknowledged",
      params: { notifications: { resourceSubscriptions: [WATCHED] } },
    });
    await edited(mcp, "one ");
    expect(await stream.next()).toMatchObject({
      method: "notifications/resources/updated",
      params: { uri: WATCHED },
    });
    mcp.close();
    expect(await stream.next()).toMatchObject({ id: 7, result: { resultType: "complete" } });
    expect(await stream.next()).toBeUndefined();
  });

  it("end when the token is revoked", async () => {
    await using mcp = await openMcp();
    await mcp.raw2026().call("tools/call", calling("block_create", BLOCK));
    const bob = await mcp.mint({ actor: "bob", kind: "agent", scopes: ["read"] });
    const params = { notifications: { resourceSubscriptions: [WATCHED] } };
    const headers = modernHeaders("subscriptions/listen", params);
    const response = await mcp.post(bob.token, modern(7, "subscriptions/listen", params), headers);
    await using stream = new EventStream(response);
    await stream.next();
    await mcp.hall.tokens.revoke(mcp.owner.principal, bob.principal.token);
    await expect(stream.next()).rejects.toThrow("terminated");
  });
});

describe("MCP over HTTP, sessions", () => {
  it("belong to one token, end when asked to, and are refused afterwards", async () => {
    await using mcp = await openMcp();
    const client = await mcp.raw2025();
    const bob = await mcp.mint({ actor: "bob", kind: "agent", scopes: ["read", "write"] });
    const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
    const session = { "mcp-session-id": client.session };
    expect((await mcp.post(bob.token, ping, session)).status).toBe(404);
    expect((await mcp.post(mcp.owner.token, ping)).status).toBe(400);
    expect((await mcp.post(mcp.owner.token, ping, session)).status).toBe(200);
    const ended = await fetch(mcp.url, {
      method: "DELETE",
      headers: { authorization: `Bearer ${mcp.owner.token}`, ...session },
    });
    expect(ended.status).toBe(200);
    expect((await mcp.post(mcp.owner.token, ping, session)).status).toBe(404);
  });

  it("expire when nobody uses them, and give way when a token has too many", async () => {
    const time = new FakeTime();
    await using mcp = await openMcp({ timers: time.timers });
    const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
    const status = async (session: string) =>
      (await mcp.post(mcp.owner.token, ping, { "mcp-session-id": session })).status;
    const idle = await mcp.raw2025();
    time.pass(40 * 60_000);
    const used = await mcp.raw2025();
    time.pass(40 * 60_000);
    expect([await status(idle.session), await status(used.session)]).toEqual([404, 200]);
    const all = [used];
    while (all.length < 65) all.push(await mcp.raw2025());
    const bob = await mcp.mint({ actor: "bob", kind: "agent", scopes: ["read"] });
    await mcp.raw2025(bob.token);
    expect(await status(all[0]!.session)).toBe(404);
    expect(await status(all[1]!.session)).toBe(200);
  });

  it("never give way to another token's", async () => {
    await using mcp = await openMcp({ sessions: 3 });
    const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
    const bob = await mcp.mint({ actor: "bob", kind: "agent", scopes: ["read"] });
    const own = [await mcp.raw2025(), await mcp.raw2025(), await mcp.raw2025()];
    expect((await mcp.raw2025(bob.token)).session).toBe("");
    for (const { session } of own)
      expect((await mcp.post(mcp.owner.token, ping, { "mcp-session-id": session })).status).toBe(
        200,
      );
    await fetch(mcp.url, {
      method: "DELETE",
      headers: {
        authorization: `Bearer ${mcp.owner.token}`,
        "mcp-session-id": own[0]!.session,
      },
    });
    expect((await mcp.raw2025(bob.token)).session).not.toBe("");
  });

  it("are told what happens when they ask for it", async () => {
    await using mcp = await openMcp();
    const client = await mcp.raw2025();
    await client.call("logging/setLevel", { level: "info" });
    const params = calling("block_read", { block_id: "main~ann~9" });
    const response = await client.post({ jsonrpc: "2.0", id: 5, method: "tools/call", params });
    await using stream = new EventStream(response);
    expect(await stream.next()).toMatchObject({
      method: "notifications/message",
      params: { level: "info", data: { tool: "block_read", outcome: "unknown_block" } },
    });
    expect(await stream.next()).toMatchObject({ id: 5, result: { isError: true } });
    await client.call("logging/setLevel", { level: "error" });
    const quiet = await client.post({ jsonrpc: "2.0", id: 6, method: "tools/call", params });
    await using other = new EventStream(quiet);
    expect(await other.next()).toMatchObject({ id: 6 });
  });
});

describe("MCP over HTTP, what is not a message", () => {
  it("is refused as the protocol says, with our code", async () => {
    await using mcp = await openMcp();
    const { token } = mcp.owner;
    const deep = `${"[".repeat(100)}${"]".repeat(100)}`;
    const cases: [unknown, Record<string, string>, number, number][] = [
      ["{", {}, 400, -32_700],
      [deep, {}, 413, -32_000],
      ["x".repeat(5 * 1024 * 1024), {}, 413, -32_000],
      ["{}", { "content-type": "text/plain" }, 415, -32_000],
      [{ jsonrpc: "2.0" }, {}, 400, -32_600],
      [{ jsonrpc: "2.0", id: 1, method: "ping" }, { "kumiko-tools": "nothing" }, 400, -32_000],
    ];
    for (const [body, headers, status, code] of cases) {
      const response = await mcp.post(token, body, headers);
      expect([response.status, (await answerOf(response)).error?.code]).toEqual([status, code]);
    }
    const get = await fetch(mcp.url, { headers: { authorization: `Bearer ${token}` } });
    expect(get.status).toBe(400);
    expect((await mcp.post("kumiko_no_token", "{}")).status).toBe(401);
  });
});
