import { RpcPromise } from "capnweb";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { z } from "zod";
import { KumikoError } from "../src/base/index.ts";
import { connect, type KumikoClient } from "../src/client/index.ts";
import { fromWire } from "../src/client/wire-error.ts";
import { localWorld } from "../src/doors/rpc/local.ts";
import {
  channelMessage,
  type FeedMessage,
  feedMessage,
  PROTOCOL_VERSION,
  rpcAnswers,
  rpcInputs,
  type RpcContext,
  type RpcKernel,
  type RpcWorld,
} from "../src/protocol/index.ts";
import { ended, instead, openRpcServer, openSocket, plainWorld } from "./support/rpc.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

type Server = Awaited<ReturnType<typeof openRpcServer>>;

interface Held {
  readonly world: RpcWorld;
  readonly kernel: RpcKernel;
  readonly context: RpcContext;
}

let server: Server;
let stack: AsyncDisposableStack;

beforeEach(async () => {
  stack = new AsyncDisposableStack();
  server = stack.use(await openRpcServer());
});
afterEach(() => stack.disposeAsync());

/** The capabilities over the wire, by the library as it comes. */
async function overTheWire(token = server.owner.token): Promise<Held> {
  const socket = await openSocket(server.url, token);
  stack.defer(() => socket.terminate());
  return held(plainWorld(socket));
}

/** The same without a connection. */
async function inProcess(principal = server.owner.principal): Promise<Held> {
  const { world } = stack.use(localWorld(server.hall, principal, { reader: "test" }));
  return held(world);
}

async function held(world: RpcWorld): Promise<Held> {
  const kernel = await world.attachKernel({ kernel: "main" });
  return { world, kernel, context: await kernel.openContext({ context: "main" }) };
}

async function refused(call: Promise<unknown>): Promise<KumikoError> {
  try {
    const answer = await call;
    throw new Error(`was not refused, but gave ${JSON.stringify(answer)}`);
  } catch (error) {
    if (error instanceof Error && error.message.startsWith("was not refused")) throw error;
    return fromWire(error);
  }
}

async function post(context: RpcContext, content: string): Promise<string> {
  const made = (await context.post({ role: "user", kind: "text", content })) as {
    block_id: string;
  };
  return made.block_id;
}

/** Collects what a callback is told, and waits for it. */
class Told {
  readonly messages: FeedMessage[] = [];
  #look: (() => void) | undefined;

  readonly callback = async (message: FeedMessage): Promise<void> => {
    this.messages.push(feedMessage.parse(message));
    this.#look?.();
  };

  get kinds(): string[] {
    return this.messages.map(({ kind }) => kind);
  }

  async until(enough: (messages: readonly FeedMessage[]) => boolean): Promise<void> {
    while (!enough(this.messages)) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#look = resolve;
      await promise;
    }
  }

  get positions(): number[] {
    return this.messages.flatMap((each) =>
      each.kind === "blocks" ? each.events.map(({ position }) => position) : [],
    );
  }
}

for (const [how, open] of [
  ["over the wire", overTheWire],
  ["in process", inProcess],
] as const) {
  describe(`capabilities ${how}`, () => {
    test("every method answers as its schema says", async () => {
      const { world, kernel, context } = await open();
      const answered = new Set<string>();
      const check = async (
        capability: keyof typeof rpcAnswers,
        method: string,
        call: Promise<unknown>,
      ): Promise<unknown> => {
        const schema = (rpcAnswers[capability] as Record<string, z.ZodType>)[method]!;
        answered.add(`${capability}.${method}`);
        return schema.parse(await call);
      };
      await check("World", "whoami", world.whoami());
      await check("World", "listKernels", world.listKernels());
      const other = await world.createKernel({ kernel: "other" });
      expect(await other.position()).toEqual({ position: 0 });
      await check("Kernel", "createContext", kernel.createContext({ context: "plans" }));
      await check("Kernel", "listContexts", kernel.listContexts());
      const joined = await kernel.joinContext({ context: "plans", nick: "amy", instance: "desk" });
      expect(await check("Context", "members", joined.members())).toMatchObject([{ nick: "amy" }]);
      expect(await check("Context", "leave", joined.leave())).toEqual({ left: true });
      expect(
        await check("Kernel", "leaveContext", kernel.leaveContext({ context: "plans" })),
      ).toMatchObject({ left: false, instance: "rpc", nick: "ann" });
      const { block_id: block } = (await check(
        "Context",
        "post",
        context.post({ role: "user", kind: "text", content: "one\ntwo\n" }),
      )) as { block_id: string };
      await check("Context", "show", context.show());
      await check("Context", "blocks", context.blocks({ limit: 1 }));
      await check(
        "Context",
        "executeTool",
        context.executeTool({ name: "block_read", arguments: { block_id: block } }),
      );
      await check(
        "Kernel",
        "executeTool",
        kernel.executeTool({ name: "block.read", arguments: { block_id: block } }),
      );
      expect(await check("Kernel", "cancelCall", kernel.cancelCall({ cancel: "none" }))).toEqual({
        cancelled: false,
      });
      const filter = { kind: "deny", names: ["block_blame"] } as const;
      await check(
        "Kernel",
        "setToolFilter",
        kernel.setToolFilter({ filter: { ...filter, names: [...filter.names] } }),
      );
      expect(await check("Kernel", "getToolFilter", kernel.getToolFilter())).toEqual(filter);
      const tools = (await check("Kernel", "getToolSchemas", kernel.getToolSchemas())) as {
        name: string;
      }[];
      expect(tools.map(({ name }) => name)).not.toContain("block_blame");
      expect(tools.map(({ name }) => name)).toContain("block_read");
      expect(
        await check(
          "Kernel",
          "pushOps",
          kernel.pushOps({
            block_id: block,
            base_version: 1,
            splices: [
              { at: 0, remove: 3, insert: "ONE" },
              { at: 8, remove: 0, insert: "three\n" },
            ],
          }),
        ),
      ).toMatchObject({ version: 2 });
      expect(
        await check("Kernel", "getDocumentState", kernel.getDocumentState({ block_id: block })),
      ).toMatchObject({ text: "ONE\ntwo\nthree\n", version: 2 });
      await check("Kernel", "history", kernel.history({ block_id: block }));
      await check(
        "Kernel",
        "search",
        kernel.search({ query: "two", literal: true, kinds: ["text"] }),
      );
      await check("Kernel", "usage", kernel.usage());
      await check("Kernel", "previewPurge", kernel.previewPurge({ text: "three" }));
      await check("Kernel", "purge", kernel.purge({ text: "three", message: "secret" }));
      expect(await check("Kernel", "gaps", kernel.gaps({ block_id: block }))).toHaveLength(1);
      await check("Kernel", "setRetention", kernel.setRetention({ answered_calls_days: 3 }));
      expect(await check("Kernel", "retention", kernel.retention())).toMatchObject({
        answered_calls_days: 3,
      });
      await check("Kernel", "applyRetention", kernel.applyRetention());
      await check("Kernel", "exportPage", kernel.exportPage({ context: "main" }));
      expect(await check("Kernel", "authors", kernel.authors())).toEqual({ [block]: ["ann"] });
      expect(await check("Kernel", "verify", kernel.verify())).toEqual({
        findings: [],
        blocks: [],
      });
      await check("Kernel", "position", kernel.position());
      expect(await check("Kernel", "mounts", kernel.mounts())).toEqual([]);
      using folder = temporaryFolder();
      folder.write("a.txt", "one\n");
      const mounted = { mount: "work", folder: folder.path };
      expect(
        await check(
          "Kernel",
          "mount",
          kernel.mount({ folder: folder.path, name: "work", rules: ["a.txt=read_only"] }),
        ),
      ).toMatchObject({ ...mounted, files: 0 });
      expect(await check("Kernel", "mounts", kernel.mounts())).toMatchObject([mounted]);
      expect(
        await check("Kernel", "explainRules", kernel.explainRules({ path: "a.txt" })),
      ).toMatchObject({ ...mounted, path: "a.txt", level: "read_only" });
      expect(await check("Kernel", "unmount", kernel.unmount({ mount: "work" }))).toEqual(mounted);
      const told = new Told();
      const subscription = await kernel.feed(told.callback, { from: 0 });
      await check("Subscription", "end", subscription.end());
      await check("Kernel", "detach", kernel.detach());
      await check("Kernel", "close", kernel.close());
      // Who calls it next opens it.
      expect(await kernel.getDocumentState({ block_id: block })).toMatchObject({ version: 3 });
      const all = Object.entries(rpcAnswers).flatMap(([capability, methods]) =>
        Object.keys(methods).map((method) => `${capability}.${method}`),
      );
      expect([...answered].toSorted()).toEqual(all.toSorted());
    });

    test("every method refuses what its schema does not say, and nothing happens", async () => {
      const { world, kernel, context } = await open();
      const told = new Told();
      const subscription = await kernel.feed(told.callback);
      const before = JSON.stringify(
        [await kernel.listContexts(), await context.show(), await world.listKernels()].map(
          withoutBytes,
        ),
      );
      const targets = {
        World: world,
        Kernel: kernel,
        Context: context,
        Subscription: subscription,
      };
      for (const [capability, methods] of Object.entries(rpcInputs)) {
        const target = targets[capability as keyof typeof targets] as unknown as Record<
          string,
          (...given: unknown[]) => Promise<unknown>
        >;
        for (const [method, schema] of Object.entries(methods)) {
          const wrong = [null, 7, "text", [], [{}], { nobody_asked_for_this: 1, context: "main" }];
          for (const input of wrong.filter((each) => !schema.safeParse(each).success)) {
            const given = ["feed", "subscribeBlocks"].includes(method)
              ? [told.callback, input]
              : [input];
            const error = await refused(target[method]!(...given));
            expect([method, input, error.code]).toEqual([method, input, "invalid_argument"]);
          }
        }
      }
      for (const callback of [undefined, null, 5, "text", {}]) {
        expect((await refused(kernel.feed(callback as never))).code).toBe("invalid_argument");
        expect((await refused(kernel.subscribeBlocks(callback as never))).code).toBe(
          "invalid_argument",
        );
      }
      const after = [await kernel.listContexts(), await context.show(), await world.listKernels()];
      expect(JSON.stringify(after.map(withoutBytes))).toBe(before);
      expect(told.kinds).toEqual(["begun"]);
    });

    test("what a token does not allow is refused", async () => {
      const owner = await open();
      const block = await post(owner.context, "text");
      const reader = await server.mint({ scopes: ["read"] });
      const given = await (how === "in process"
        ? inProcess(reader.principal)
        : overTheWire(reader.token));
      const { kernel, context, world } = given;
      const writes = [
        () => world.createKernel({}),
        () => kernel.createContext({ context: "no" }),
        () => kernel.joinContext({ context: "main" }),
        () => kernel.leaveContext({ context: "main" }),
        () => context.leave(),
        () => context.post({ role: "user", kind: "text" }),
        () =>
          kernel.executeTool({ name: "block_append", arguments: { block_id: block, text: "x" } }),
        () =>
          kernel.pushOps({
            block_id: block,
            base_version: 1,
            splices: [{ at: 0, remove: 1, insert: "" }],
          }),
        () => kernel.setToolFilter({ filter: { kind: "all" } }),
        () => kernel.previewPurge({ text: "text" }),
        () => kernel.purge({ text: "text" }),
        () => kernel.setRetention({ answered_calls_days: 1 }),
        () => kernel.applyRetention(),
        () => kernel.verify(),
        () => kernel.close(),
        () =>
          kernel.executeTool({ name: "block_read", arguments: { block_id: block }, actor: "bob" }),
      ];
      for (const call of writes) {
        const { code } = await refused(call());
        expect([call.toString(), code]).toEqual([call.toString(), "forbidden"]);
      }
      expect(await kernel.getDocumentState({ block_id: block })).toMatchObject({ version: 1 });
      const elsewhere = await server.mint({ kernels: ["other"] });
      const outside =
        how === "in process" ? inProcess(elsewhere.principal) : overTheWire(elsewhere.token);
      expect((await refused(outside)).code).toBe("forbidden");
    });

    test("errors keep their code, sentence and facts, and nothing else", async () => {
      const { kernel, world } = await open();
      const error = await refused(kernel.getDocumentState({ block_id: "main~ann~9" }));
      expect(error).toBeInstanceOf(KumikoError);
      expect(error.toJSON()).toMatchObject({
        code: "unknown_block",
        facts: { block: "main~ann~9" },
      });
      expect((await refused(world.attachKernel({ kernel: "nowhere" }))).facts).toMatchObject({
        kernels: ["main"],
      });
      using _ = instead(server.hall, "block_create", () =>
        Promise.reject(new Error("/home/secret")),
      );
      const fault = await refused(kernel.executeTool({ name: "block_create", arguments: {} }));
      expect(fault.code).toBe("internal");
      expect(JSON.stringify([fault.toJSON(), String(fault.cause)])).not.toContain("secret");
    });

    test("the trace goes on to the invocation, that of the call before that of the kernel", async () => {
      const { world } = await open();
      const traces: (string | undefined)[] = [];
      using _ = instead(server.hall, "block_list", ({ trace }) => {
        traces.push(trace);
        return Promise.resolve({});
      });
      const trace = (digit: string): string => `00-${digit.repeat(32)}-${digit.repeat(16)}-01`;
      const kernel = await world.attachKernel({ kernel: "main", trace: trace("a") });
      await kernel.executeTool({ name: "block_list", context: "main" });
      await kernel.executeTool({ name: "block_list", context: "main", trace: trace("b") });
      expect(traces).toEqual([trace("a"), trace("b")]);
      const bad = kernel.executeTool({ name: "block_list", trace: "00-xyz" });
      expect((await refused(bad)).code).toBe("invalid_argument");
    });

    test("a call can be given up by its name, and goes with its caller", async () => {
      const { kernel } = await open();
      const begun = Promise.withResolvers<AbortSignal>();
      using _ = instead(server.hall, "block_list", ({ signal }) => {
        begun.resolve(signal!);
        const { promise, reject } = Promise.withResolvers<never>();
        signal!.addEventListener("abort", () => reject(signal!.reason as Error));
        return promise;
      });
      const call = refused(kernel.executeTool({ name: "block_list", cancel: "mine" }));
      const signal = await begun.promise;
      expect(signal.aborted).toBe(false);
      expect(await kernel.cancelCall({ cancel: "other" })).toEqual({ cancelled: false });
      expect(await kernel.cancelCall({ cancel: "mine" })).toEqual({ cancelled: true });
      expect((await call).code).toBe("aborted");
      expect(await kernel.cancelCall({ cancel: "mine" })).toEqual({ cancelled: false });
    });

    test("pages of an export have every block once, in conversation order, as of any position", async () => {
      const { kernel, context } = await open();
      const blocks: string[] = [];
      for (let at = 0; at < 12; at++) {
        const parent = at % 3 === 0 ? {} : { parent_id: blocks[at - 1]! };
        const made = (await context.post({
          role: "user",
          kind: "text",
          content: `text ${at}`,
          ...parent,
        })) as { block_id: string };
        blocks.push(made.block_id);
      }
      const { position } = await kernel.position();
      await context.executeTool({
        name: "block_splice",
        arguments: {
          block_id: blocks[5],
          offset: 0,
          delete_count: 0,
          insert: "later ",
          base_version: 1,
        },
      });
      await post(context, "after that");
      for (const limit of [1, 2, 5, 100]) {
        const found: string[] = [];
        let after: string | undefined;
        do {
          const page = await kernel.exportPage({
            context: "main",
            position,
            limit,
            ...(after && { after }),
          });
          found.push(...page.blocks.map(({ text }) => text!));
          ({ after } = page);
        } while (after !== undefined);
        expect(found).toEqual(Array.from({ length: 12 }, (_, at) => `text ${at}`));
      }
      const now = await kernel.exportPage({ context: "main" });
      expect(now.blocks.map(({ text }) => text)).toContain("later text 5");
      expect(now.blocks).toHaveLength(13);
    });

    test("a callback is told each change once, in order, from where it asks", async () => {
      const { kernel, context } = await open();
      const block = await post(context, "0");
      const told = new Told();
      await using ending = new AsyncDisposableStack();
      const subscription = await kernel.feed(told.callback, {
        from: 0,
        topics: ["block", "config"],
      });
      ending.defer(async () => void (await subscription.end()));
      for (let at = 1; at <= 20; at++)
        await context
          .executeTool({
            name: "block_append",
            arguments: { block_id: block, text: `${at}`, flush: true },
          })
          .catch(() => undefined);
      await kernel.setToolFilter({ filter: { kind: "all" } });
      const { position } = await kernel.position();
      await told.until(() => told.positions.at(-1) === position && told.kinds.includes("live"));
      expect(told.messages[0]).toMatchObject({ kind: "begun", position: 0 });
      expect(told.positions).toEqual(Array.from({ length: position }, (_, at) => at + 1));
    });

    test("a subscription to some blocks has only those, also from the versions one holds", async () => {
      const { kernel, context } = await open();
      const [one, two] = [await post(context, "one"), await post(context, "two")];
      const told = new Told();
      await kernel.subscribeBlocks(told.callback, {
        block_ids: [one],
        from_versions: [{ block_id: one, version: 0 }],
      });
      for (const block_id of [two, one])
        await kernel.pushOps({
          block_id,
          base_version: 1,
          splices: [{ at: 0, remove: 0, insert: "x" }],
        });
      await told.until(() => told.positions.length === 2);
      expect(
        told.messages.flatMap((each) =>
          each.kind === "blocks" ? each.events.map(({ block, version }) => [block, version]) : [],
        ),
      ).toEqual([
        [one, 1],
        [one, 2],
      ]);
      const wrong = kernel.subscribeBlocks(told.callback, {
        from: 3,
        from_versions: [{ block_id: one, version: 1 }],
      });
      expect((await refused(wrong)).code).toBe("invalid_argument");
      expect((await refused(kernel.feed(told.callback, { from: 99 }))).code).toBe("out_of_range");
    });

    test("ends are told: released, closing of the kernel, a callback that fails", async () => {
      const { kernel, context } = await open();
      const block = await post(context, "text");
      const reasonOf = ({ messages }: Told): unknown =>
        messages.find((each) => each.kind === "ended")?.reason;
      const released = new Told();
      await (await kernel.feed(released.callback)).end();
      await released.until(() => reasonOf(released) !== undefined);
      expect(reasonOf(released)).toBe("released");
      const closing = new Told();
      await kernel.feed(closing.callback);
      const failing = new Told();
      await kernel.feed(async (message) => {
        await failing.callback(message);
        if (message.kind === "blocks") throw new Error("mine");
      });
      await kernel.pushOps({
        block_id: block,
        base_version: 1,
        splices: [{ at: 0, remove: 0, insert: "x" }],
      });
      await failing.until(() => reasonOf(failing) !== undefined);
      expect(reasonOf(failing)).toBe("failed");
      await kernel.close();
      await closing.until(() => reasonOf(closing) !== undefined);
      expect(reasonOf(closing)).toBe("closing");
      expect(closing.positions).toHaveLength(1);
      const again = await server.hall.world.open("main");
      expect(again.feed.subscribers).toBe(0);
    });
  });
}

test("a caller in the same process that is disposed of leaves nothing behind", async () => {
  const { feed } = await server.hall.world.open("main");
  const told = new Told();
  {
    using local = localWorld(server.hall, server.owner.principal, { reader: "test" });
    const { kernel } = await held(local.world);
    await kernel.feed(told.callback);
    expect(feed.subscribers).toBe(1);
    expect((await refused(kernel.feed({ channel: 1 }))).code).toBe("invalid_argument");
  }
  while (feed.subscribers > 0) await new Promise((resolve) => setImmediate(resolve));
  expect(told.kinds).toEqual(["begun"]);
});

function withoutBytes(value: unknown): unknown {
  return Array.isArray(value) ? value.map((each: object) => ({ ...each, bytes: 0 })) : value;
}

describe("over the wire", () => {
  test("whoami says who one is and which versions are spoken", async () => {
    const agent = await server.mint({
      kind: "agent",
      actor: "claude",
      scopes: ["read", "write"],
      kernels: ["main"],
    });
    const { world } = await overTheWire(agent.token);
    expect(await world.whoami()).toEqual({
      token: agent.principal.token,
      kind: "agent",
      actor: "claude",
      scopes: ["read", "write"],
      kernels: ["main"],
      server: "0.0.0-test",
      protocol: PROTOCOL_VERSION,
    });
  });

  test("nothing private can be called, and nothing that is not there", async () => {
    const { world, kernel, context } = await overTheWire();
    const names = [
      "caller",
      "#caller",
      "_caller",
      "id",
      "hall",
      "constructor",
      "__proto__",
      "prototype",
      "toString",
      "hasOwnProperty",
      "valueOf",
      "then",
      "Symbol.dispose",
      "#run",
      "run",
      "#end",
      "given",
      "apply",
      "call",
      "bind",
      "length",
      "name",
    ];
    let tried = 0;
    for (const target of [world, kernel, context] as unknown as Record<
      string,
      (input: object) => Promise<unknown>
    >[]) {
      for (const name of names) {
        // Some names are the library's own: it does not send them.
        const property = target[name];
        if (!(property instanceof (RpcPromise as unknown as new () => object))) continue;
        const error = await refused(property({}));
        expect([name, error.code]).toEqual([name, "invalid_argument"]);
        tried++;
      }
    }
    expect(tried).toBeGreaterThan(40);
  });

  test("a client that sends several messages in a frame is answered so, any other is not", async () => {
    const socket = await openSocket(server.url, server.owner.token);
    stack.defer(() => socket.terminate());
    const frames: string[] = [];
    let enough = Promise.withResolvers<void>();
    let wanted = 2;
    socket.on("message", (data: Buffer) => {
      frames.push(data.toString());
      if (frames.join("\n").split("\n").length >= wanted) enough.resolve();
    });
    const calls = (first: number): string[] =>
      [first, first + 1].flatMap((id) => [
        '["push",["pipeline",0,["whoami"],[]]]',
        `["pull",${id}]`,
      ]);
    for (const text of calls(1)) socket.send(text);
    await enough.promise;
    expect(frames.map((frame) => frame.includes("\n"))).toEqual([false, false]);
    enough = Promise.withResolvers();
    wanted = 4;
    socket.send(calls(3).join("\n"));
    await enough.promise;
    expect(frames.slice(2).map((frame) => frame.split("\n").length)).toEqual([2]);
  });

  test("a channel tells what a callback would, and waits when nothing is done", async () => {
    const socket = await openSocket(server.url, server.owner.token);
    stack.defer(() => socket.terminate());
    const { kernel, context } = await held(plainWorld(socket));
    const block = await post(context, "text");
    const messages: FeedMessage[] = [];
    const arrived = Promise.withResolvers<void>();
    socket.on("message", (data: Buffer) => {
      for (const text of data
        .toString()
        .split("\n")
        .filter((each) => each.startsWith("{")))
        messages.push(channelMessage.parse(JSON.parse(text)).message);
      if (messages.length === 65) arrived.resolve();
    });
    await kernel.feed({ channel: 7 });
    const twice = await refused(kernel.feed({ channel: 7 }));
    expect(twice.code).toBe("already_exists");
    for (let at = 1; at <= 80; at++) {
      const splices = [{ at: 0, remove: 0, insert: "x" }];
      await kernel.pushOps({ block_id: block, base_version: 1, splices });
    }
    await arrived.promise;
    await kernel.position();
    // What begins counts as one; what waited comes together once there is room.
    expect(messages).toHaveLength(65);
    socket.send('{"channel":7,"done":65}');
    socket.send('{"channel":8,"done":1}');
    const { position } = await kernel.position();
    while (messages.length < 66) await kernel.position();
    const told = messages.flatMap((each) => (each.kind === "blocks" ? each.events : []));
    expect(told.map((event) => event.position)).toEqual(
      Array.from({ length: 80 }, (_, at) => position - 79 + at),
    );
  });

  test("who listens on the same channel is told the same, and nobody on another's", async () => {
    const numbers = [1, 1, 2];
    const got = await Promise.all(
      numbers.map(async (channel) => {
        const socket = await openSocket(server.url, server.owner.token);
        stack.defer(() => socket.terminate());
        const { kernel, context } = await held(plainWorld(socket));
        const blocks = Promise.withResolvers<unknown>();
        socket.on("message", (data: Buffer) => {
          for (const text of data.toString().split("\n")) {
            if (text.includes('"kind":"blocks"')) blocks.resolve(JSON.parse(text));
          }
        });
        await kernel.feed({ channel });
        return { context, blocks: blocks.promise };
      }),
    );
    await post(got[0]!.context, "ä long text\n".repeat(10_000));
    const told = await Promise.all(got.map(({ blocks }) => blocks));
    const [{ message }] = told as [{ message: FeedMessage }];
    expect(told).toEqual(numbers.map((channel) => ({ channel, message })));
  });

  test("what is under way is given up when the connection goes", async () => {
    const socket = await openSocket(server.url, server.owner.token);
    const { kernel } = await held(plainWorld(socket));
    const begun = Promise.withResolvers<AbortSignal>();
    const over = Promise.withResolvers<void>();
    using _ = instead(server.hall, "block_list", ({ signal }) => {
      begun.resolve(signal!);
      signal!.addEventListener("abort", () => over.resolve());
      return new Promise(() => undefined);
    });
    kernel.executeTool({ name: "block_list" }).then(undefined, () => undefined);
    await begun.promise;
    socket.terminate();
    await over.promise;
    await server.front.connections.none("socket");
    expect((await begun.promise).aborted).toBe(true);
  });

  test("a token that is revoked ends subscriptions and the connection with unauthorised", async () => {
    const agent = await server.mint({ scopes: ["read"] });
    const socket = await openSocket(server.url, agent.token);
    const end = ended(socket);
    const { kernel } = await held(plainWorld(socket));
    const told = new Told();
    await kernel.feed(told.callback);
    await server.hall.tokens.revoke(server.owner.principal, agent.principal.token);
    expect(await end).toEqual({ code: 4401, reason: "unauthorised" });
    expect(told.messages.at(-1)).toMatchObject({ kind: "ended", reason: "unauthorised" });
    const { feed } = await server.hall.world.open("main");
    expect(feed.subscribers).toBe(0);
  });

  test("a server that stops refuses calls, ends subscriptions with closing, and then the connection", async () => {
    const socket = await openSocket(server.url, server.owner.token);
    const end = ended(socket);
    const { kernel } = await held(plainWorld(socket));
    const told = new Told();
    await kernel.feed(told.callback);
    server.close();
    expect(await end).toEqual({ code: 1001, reason: "closing" });
    expect(told.messages.at(-1)).toMatchObject({ kind: "ended", reason: "closing" });
  });
});

describe("the client", () => {
  test("has every method of the kernel", async () => {
    const client: KumikoClient = stack.use(connect({ url: server.url, token: server.owner.token }));
    const own = ["feed", "context", "executeTool"];
    const kernel = client.kernel("main") as unknown as Record<string, unknown>;
    const wire = ["subscribeBlocks", "openContext", "cancelCall", "detach"];
    for (const method of [
      ...Object.keys(rpcInputs.Kernel).filter((each) => !wire.includes(each)),
      ...own,
    ])
      expect([method, typeof kernel[method]]).toEqual([method, "function"]);
    await client.connected();
  });
});
