import { createHash } from "node:crypto";
import { describe, expect, test, vi } from "vitest";
import { WebSocket } from "ws";
import { startServer } from "../src/app/server.ts";
import { connect, type SocketClass } from "../src/client/index.ts";
import type { RefusedText, Replica, ReplicaState } from "../src/client/replica.ts";
import type { PresenceClient } from "../src/client/presence.ts";
import { KumikoError } from "../src/base/index.ts";
import { Peers } from "../src/doors/replica/peers.ts";
import { PresenceBoard } from "../src/doors/replica/presence-board.ts";
import { decodeServerFrame, type PresenceChange, replicaLimits } from "../src/protocol/index.ts";
import { turns } from "./support/gated-store.ts";
import { FakeTime } from "./support/kernel-workshop.ts";
import { RawReplica } from "./support/raw-replica.ts";
import { refusal } from "./support/refusal.ts";
import { ReplicaServer } from "./support/replica-server.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

/** Sockets that a client opened, to be cut, and kept from opening new ones. */
class Cable {
  readonly #sockets = new Set<WebSocket>();
  #cut = false;
  readonly WebSocket: SocketClass;

  constructor() {
    const observe = (socket: WebSocket): void => {
      this.#sockets.add(socket);
      if (this.#cut) socket.terminate();
    };
    class Observed extends WebSocket {
      constructor(url: string, protocols: string[]) {
        super(url, protocols);
        observe(this);
      }
    }
    this.WebSocket = Observed;
  }

  cut(): void {
    this.#cut = true;
    for (const socket of this.#sockets) socket.terminate();
  }

  mend(): void {
    this.#cut = false;
  }
}

function become(replica: Replica, state: ReplicaState): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const look = (): void => {
    if (replica.state === state) resolve();
  };
  const listening = replica.onState(look);
  look();
  return promise.finally(() => listening[Symbol.dispose]());
}

function handedBack(replica: Replica): Promise<RefusedText> {
  const { promise, resolve } = Promise.withResolvers<RefusedText>();
  replica.onRefused(resolve);
  return promise;
}

async function others(
  presence: PresenceClient,
  isSo: (actors: string[]) => boolean,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const look = (): void => {
    if (isSo(presence.others.map(({ actor }) => actor).toSorted())) resolve();
  };
  const listening = presence.onChange(look);
  look();
  await promise.finally(() => listening[Symbol.dispose]());
}

/** Text that cannot be made smaller by packing it. */
function noise(length: number): string {
  let text = "";
  for (let i = 0; text.length < length; i++) {
    text += createHash("sha512").update(String(i)).digest("base64");
  }
  return text.slice(0, length);
}

function resyncs({ test: { hall } }: ReplicaServer): number {
  const counted = /kumiko_resyncs_total\{door="\/replica"\} (\d+)/.exec(hall.metrics.render());
  return Number(counted?.[1] ?? 0);
}

describe("replicas", () => {
  test("two people and a tool edit one block; each is told who did what", async () => {
    await using server = await ReplicaServer.start();
    const block = await server.block("hello world\n");
    const { token } = await server.test.mint({ kind: "person", actor: "bob" });
    using ann = server.client();
    using bob = server.client({ token });
    const left = ann.replica(block);
    const right = bob.replica(block);
    const actors: string[] = [];
    left.onChange(({ origin, changes }) => {
      if (origin === "remote") actors.push(...changes.map(({ actor }) => actor));
    });
    await Promise.all([left.ready(), right.ready()]);
    left.edit([{ at: 0, remove: 5, insert: "HELLO" }]);
    right.edit([{ at: 11, remove: 0, insert: "!" }]);
    expect([left.text, right.text]).toEqual(["HELLO world\n", "hello world!\n"]);
    await Promise.all([left.saved(), right.saved()]);
    await server.call("claude", "block_replace", { block_id: block, old: "world", new: "house" });
    const { text, version } = await server.kernel.read(block);
    expect(text).toBe("HELLO house!\n");
    await Promise.all([left.reached(version), right.reached(version)]);
    expect([left.text, right.text]).toEqual([text, text]);
    expect(actors).toEqual(expect.arrayContaining(["bob", "claude"]));
    const blame = await server.kernel.look(block, ({ document }) => document.history());
    expect(new Set(blame.entries.map(({ actor }) => actor))).toEqual(
      new Set(["ann", "bob", "claude", "system"]),
    );
  });

  test("what is typed on top of everything is taken by its words, and nobody looks into its bytes", async () => {
    await using server = await ReplicaServer.start();
    const block = await server.block("a\u{1f600}b\n");
    using ann = server.client();
    using bob = server.client();
    const left = ann.replica(block);
    const right = bob.replica(block);
    await Promise.all([left.ready(), right.ready()]);
    const heard = async (replica: Replica, text: string): Promise<void> => {
      await vi.waitFor(() => expect(replica.text).toBe(text), 20_000);
    };
    left.edit([{ at: 3, remove: 0, insert: "x" }]);
    left.edit([{ at: 4, remove: 0, insert: "y" }]);
    await heard(right, "a\u{1f600}xyb\n");
    right.edit([{ at: 0, remove: 0, insert: "\u{1f680}" }]);
    await heard(left, "\u{1f680}a\u{1f600}xyb\n");
    await Promise.all([left.saved(), right.saved()]);
    expect(server.vettingWorkers).toBe(0);
    // What is more than that is looked into, with all that was only told before.
    left.edit([{ at: 2, remove: 1, insert: "A" }]);
    await heard(right, "\u{1f680}A\u{1f600}xyb\n");
    await left.saved();
    expect(server.vettingWorkers).toBe(1);
    expect(await server.text(block)).toBe("\u{1f680}A\u{1f600}xyb\n");
  });

  test("words that do not fit count for nothing: then the bytes are looked into", async () => {
    await using server = await ReplicaServer.start();
    const block = await server.block("text\n");
    using raw = await RawReplica.connect(server.url, server.test.owner.token);
    await raw.open(block);
    const push = (at: number, typed: object): ReturnType<RawReplica["push"]> => {
      const after = raw.doc.frontiers();
      const update = raw.typed(at, "real ");
      return raw.push(block, update, { typed: { after, at, text: "real ", ...typed } });
    };
    const lies = [
      { after: [] },
      { after: [{ peer: "99", counter: 3 }] },
      { at: 1_000_000 },
      { text: "" },
    ];
    for (const lie of lies) {
      expect(await push(0, lie)).toMatchObject({ kind: "accepted" });
    }
    expect(await server.text(block)).toBe(`${"real ".repeat(lies.length)}text\n`);
    expect(await push(0, {})).toMatchObject({ kind: "accepted" });
    // Who says other words than bytes has only deceived itself: what everybody has are the words.
    expect(await push(0, { text: "told " })).toMatchObject({ kind: "accepted" });
    const text = `told ${"real ".repeat(lies.length + 1)}text\n`;
    expect(await server.text(block)).toBe(text);
    using other = server.client();
    const replica = other.replica(block);
    await replica.ready();
    replica.edit([{ at: 0, remove: 0, insert: "still here, " }]);
    await replica.saved();
    expect([replica.text, await server.text(block)]).toEqual(Array(2).fill(`still here, ${text}`));
  });

  test("what is typed without connection is there when it comes back, as one Edit; unsent typing can be taken back", async () => {
    await using server = await ReplicaServer.start();
    const block = await server.block("text\n");
    const cable = new Cable();
    using client = server.client({ WebSocket: cable.WebSocket });
    const replica = client.replica(block);
    await replica.ready();
    replica.edit([{ at: 0, remove: 0, insert: "sent " }]);
    await replica.saved();
    expect(replica.undoUnsent()).toBe(false);
    cable.cut();
    await become(replica, "offline");
    for (const word of ["one ", "two ", "three "])
      replica.edit([{ at: 0, remove: 0, insert: word }]);
    expect(replica.undoUnsent()).toBe(true);
    expect(replica.text).toBe("two one sent text\n");
    expect(replica.unsent.map(({ insert }) => insert)).toEqual(["one ", "two "]);
    await server.call("claude", "block_append", { block_id: block, text: "more\n", flush: true });
    cable.mend();
    await become(replica, "live");
    await replica.saved();
    const { text, version } = await server.kernel.read(block);
    expect(text).toBe("two one sent text\nmore\n");
    await replica.reached(version);
    expect(replica.text).toBe(text);
    const history = await server.kernel.look(block, ({ document }) => document.history());
    const typed = history.entries.filter(({ actor }) => actor === "ann" && actor !== undefined);
    expect(new Set(typed.map(({ edit }) => edit)).size).toBe(3);
  });

  test("who may not write is told so, gets the text back, and goes on reading", async () => {
    await using server = await ReplicaServer.start();
    const block = await server.block("text\n");
    const { token } = await server.test.mint({ kind: "agent", actor: "ann", scopes: ["read"] });
    using client = server.client({ token });
    const replica = client.replica(block);
    await replica.ready();
    const back = handedBack(replica);
    replica.edit([
      { at: 0, remove: 0, insert: "mine" },
      { at: 4, remove: 2, insert: " too" },
    ]);
    const refused = await back;
    expect(refused.error.code).toBe("forbidden");
    expect(refused).toMatchObject({ inserted: ["mine too"], text: "mine tooxt\n" });
    await become(replica, "live");
    expect(replica.text).toBe("text\n");
    expect(() => replica.edit([{ at: 0, remove: 0, insert: "x" }])).toThrow(/scope write/);
    await server.call("bob", "block_append", { block_id: block, text: "more\n", flush: true });
    await replica.reached((await server.kernel.read(block)).version);
    expect(replica.text).toBe("text\nmore\n");
  });

  test("who only reads writes nothing, is told of everything, and goes on when somebody edits a copy", async () => {
    await using server = await ReplicaServer.start();
    const block = await server.block("text\n");
    const { token } = await server.test.mint({ kind: "agent", actor: "eve", scopes: ["read"] });
    const { head } = server.kernel.feed;
    const { version } = await server.kernel.read(block);
    using reader = server.client({ token });
    const read = reader.replica(block);
    const origins: string[] = [];
    read.onChange(({ origin }) => origins.push(origin));
    await read.ready();
    expect(read.text).toBe("text\n");
    expect(server.kernel.feed.head).toBe(head);
    expect((await server.kernel.read(block)).version).toBe(version);
    await server.call("bob", "block_append", { block_id: block, text: "more\n", flush: true });
    await read.reached(version + 1);
    expect(read.text).toBe("text\nmore\n");
    expect(origins).toEqual(["reload", "remote"]);
    using writer = server.client();
    const written = writer.replica(block);
    await written.ready();
    written.edit([{ at: 0, remove: 0, insert: "typed " }]);
    await written.saved();
    await read.reached((await server.kernel.read(block)).version);
    expect(read.text).toBe("typed text\nmore\n");
  });

  test("a change too large for a frame is read again in parts; the connection and what is typed stay", async () => {
    await using server = await ReplicaServer.start({ limits: { update: 64 * 1024 } });
    const block = await server.block("text\n");
    using client = server.client();
    using raw = await RawReplica.connect(server.url, server.test.owner.token);
    await raw.open(block);
    const replica = client.replica(block);
    const refused: string[] = [];
    replica.onRefused(({ error }) => refused.push(error.message));
    await replica.ready();
    const large = noise(70_000);
    const appended = server.call("bob", "block_append", {
      block_id: block,
      text: large,
      flush: true,
    });
    for (let i = 0; i < 5; i++) {
      replica.edit([{ at: 0, remove: 0, insert: "x" }]);
      await turns();
    }
    await appended;
    await replica.reached((await server.kernel.read(block)).version);
    replica.edit([{ at: 0, remove: 0, insert: "y" }]);
    await replica.saved();
    expect(refused).toEqual([]);
    expect(resyncs(server)).toBe(0);
    const told = [];
    for (let kind = ""; kind !== "resync"; told.push(kind)) ({ kind } = await raw.next());
    expect(told.at(-1)).toBe("resync");
    expect(replica.text === `y${"x".repeat(5)}text\n${large}`).toBe(true);
    expect((await server.text(block)) === replica.text).toBe(true);
  });

  test("a block that is not there is refused for good, and a purged one is read again", async () => {
    await using server = await ReplicaServer.start();
    using client = server.client();
    const nowhere = client.replica("main~nobody~9");
    await expect(nowhere.ready()).rejects.toMatchObject({ code: "unknown_block" });
    expect(nowhere.state).toBe("refused");
    const block = await server.block("a secret password\n");
    const replica = client.replica(block);
    await replica.ready();
    await server.kernel.purge({ actor: "ann" }, { text: "secret password" });
    await replica.reached((await server.kernel.read(block)).version);
    expect(replica.text).toBe(await server.text(block));
    expect(replica.text).not.toContain("secret");
  });

  test("a revoked token ends the connection at once, with the unsent text handed back", async () => {
    await using server = await ReplicaServer.start();
    const block = await server.block("text\n");
    const { token, principal } = await server.test.mint({ kind: "person", actor: "bob" });
    const cable = new Cable();
    using client = server.client({ token, WebSocket: cable.WebSocket });
    const replica = client.replica(block);
    await replica.ready();
    const back = handedBack(replica);
    // Typed in the moment in which the token goes: it is taken or handed back, never lost.
    await server.test.hall.tokens.revoke(server.test.owner.principal, principal.token);
    replica.edit([{ at: 0, remove: 0, insert: "mine" }]);
    await become(replica, "refused");
    expect(replica.error?.code).toBe("unauthorised");
    expect((await back).inserted).toEqual(["mine"]);
    expect(await server.text(block)).toBe("text\n");
    // Nobody would take what is typed from here on.
    const more = (): void => replica.edit([{ at: 0, remove: 0, insert: "more" }]);
    expect(refusal(more).code).toBe("unauthorised");
  });

  test("who is not let in at all is told why, and does not try for ever", async () => {
    using folder = temporaryFolder();
    await using running = await startServer({ home: folder.path, actor: "ann" });
    const kernel = await running.hall.world.openOrCreate("main");
    await kernel.contexts.create("main", "ann");
    await using stranger = connect({ url: running.url, token: "kumiko_aaaaaaaaaaaa_nothing" });
    const refused = stranger.kernel("main").replica("main~ann~1");
    await expect(refused.ready()).rejects.toMatchObject({ code: "unauthorised" });
    // The same through the whole product, with Node's own WebSocket.
    await using ann = connect({ url: running.url, token: running.ownerToken });
    const { block_id } = (await ann.kernel("main").executeTool({
      name: "block_create",
      context: "main",
      arguments: { role: "user", kind: "text" },
    })) as { block_id: string };
    const replica = ann.kernel("main").replica(block_id);
    await replica.ready();
    replica.edit([{ at: 0, remove: 0, insert: "the first words" }]);
    await replica.saved();
    expect((await kernel.read(block_id)).text).toBe("the first words");
    ann.kernel("main").presence.set({ block: block_id });
  });

  test("a long text comes in parts, and a long paste goes in several", async () => {
    await using server = await ReplicaServer.start();
    const long = "All work and no play makes a long text.\n".repeat(30_000);
    const block = await server.block(long);
    using client = server.client();
    const replica = client.replica(block);
    await replica.ready();
    expect(replica.text === long).toBe(true);
    const refused: string[] = [];
    replica.onRefused(({ error }) => refused.push(error.message));
    const paste = Array.from({ length: 200_000 }, (_, i) =>
      String.fromCharCode(0x4e00 + (i % 20_000)),
    ).join("");
    replica.edit([
      { at: 0, remove: 0, insert: paste },
      { at: 0, remove: 0, insert: "end" },
    ]);
    replica.edit([{ at: 0, remove: 0, insert: paste }]);
    replica.edit([{ at: 0, remove: 0, insert: paste }]);
    await replica.saved();
    expect(refused).toEqual([]);
    // Compared like this because nobody wants to read the difference.
    expect((await server.text(block)) === `${paste}${paste}end${paste}${long}`).toBe(true);
  });
});

describe("peers", () => {
  test("a peer is one actor's and one instance's, and lives on one connection", async () => {
    await using server = await ReplicaServer.start();
    const { url } = server;
    const { token } = server.test.owner;
    const block = await server.block("text\n");
    using first = await RawReplica.connect(url, token);
    await first.open(block);
    const { peer, secret } = first.grant;
    const refusalOf = async (hello: object, as = token): Promise<string> => {
      const refused: unknown = await RawReplica.connect(url, as, hello).catch(
        (error: Error) => error,
      );
      return refused instanceof Error ? refused.message : "granted";
    };
    const bob = await server.test.mint({ kind: "person", actor: "bob" });
    expect(await refusalOf({ resume: { peer, secret: "wrong" } })).toMatch(
      /granted to somebody else/,
    );
    expect(await refusalOf({ resume: { peer: "12345", secret } })).toMatch(
      /granted to somebody else/,
    );
    expect(await refusalOf({ resume: { peer, secret }, instance: "another" })).toMatch(
      /granted to somebody else/,
    );
    expect(await refusalOf({ resume: { peer, secret } }, bob.token)).toMatch(
      /granted to somebody else/,
    );
    expect(await refusalOf({ version: 99 })).toMatch(/version/);
    expect(await refusalOf({ kernel: "nowhere" })).toMatch(/no kernel nowhere/);
    // Under way when the other one comes: it is taken in before that one is told how much there is.
    const update = first.typed(0, "first ");
    first.send({ kind: "push", block, counter: 0, live: true, update, typed: undefined });
    using second = await RawReplica.connect(url, token, { resume: { peer, secret } });
    expect(second.grant.peer).toBe(peer);
    const told = [];
    for (let frame = await first.next(); frame.kind !== "closed"; frame = await first.next())
      told.push(frame);
    expect(told.some((frame) => frame.kind === "refused" && frame.code === "peer_taken")).toBe(
      true,
    );
    await second.open(block);
    expect(second.counter).toBe(6);
    expect(await second.push(block, second.typed(0, "second "))).toMatchObject({
      kind: "accepted",
      counter: 13,
    });
    expect(await server.text(block)).toBe("second first text\n");
  });

  test("whoever comes third waits for the first", async () => {
    await using server = await ReplicaServer.start();
    const { kernel } = server;
    const peers = new Peers();
    const first = Promise.withResolvers<void>();
    const second = Promise.withResolvers<void>();
    const taken: string[] = [];
    await peers.take(kernel, "5", { taken: () => first.promise });
    const take = async (name: string, done: Promise<void>): Promise<void> => {
      await peers.take(kernel, "5", { taken: () => done });
      taken.push(name);
    };
    const two = take("second", second.promise);
    // As a connection does: what it has under way is its own coming.
    void two.then(second.resolve);
    const three = take("third", Promise.resolve());
    await turns();
    expect(taken).toEqual([]);
    first.resolve();
    await Promise.all([two, three]);
    expect(taken).toEqual(["second", "third"]);
  });

  test("it is known again after the kernel was opened anew", async () => {
    await using server = await ReplicaServer.start();
    const { url } = server;
    const { token } = server.test.owner;
    const block = await server.block("text\n");
    using first = await RawReplica.connect(url, token);
    await first.open(block);
    const { peer, secret } = first.grant;
    await first.push(block, first.typed(0, "a"));
    first.socket.terminate();
    await server.test.hall.world.close("main");
    using second = await RawReplica.connect(url, token, { resume: { peer, secret } });
    await second.open(block);
    expect(second.counter).toBe(1);
  });

  test("frames that are none end the connection and say why", async () => {
    await using server = await ReplicaServer.start({ limits: { waiting: 8 } });
    const { token } = server.test.owner;
    for (const bytes of [
      Buffer.from([99]),
      Buffer.from([1, 200]),
      Buffer.alloc(0),
      Buffer.from([4, 1, 123]),
    ]) {
      using raw = await RawReplica.connect(server.url, token);
      raw.socket.send(bytes);
      expect(await raw.next()).toMatchObject({ kind: "refused", code: "frame_malformed" });
      expect(await raw.next()).toMatchObject({ kind: "closed", code: 4400 });
    }
    using text = await RawReplica.connect(server.url, token);
    text.socket.send("hello");
    expect(await text.next()).toMatchObject({ kind: "refused", code: "frame_malformed" });
    using greedy = await RawReplica.connect(server.url, token);
    const block = await server.block("text\n");
    for (let i = 0; i < 9; i++) greedy.send({ kind: "open", block, known: undefined });
    const told = [];
    for (let frame = await greedy.next(); frame.kind !== "closed"; frame = await greedy.next())
      told.push(frame);
    expect(told.some((frame) => frame.kind === "refused" && frame.code === "too_many")).toBe(true);
  });
});

describe("a peer that does not read", () => {
  test("is given many large blocks one after the other, as it reads", async () => {
    await using server = await ReplicaServer.start({
      outflow: { pause: 64 * 1024, end: 1024 * 1024 },
    });
    const text = noise(300_000);
    const blocks = await Promise.all(Array.from({ length: 6 }, () => server.block(text)));
    using raw = await RawReplica.connect(server.url, server.test.owner.token);
    for (const block of blocks) raw.send({ kind: "open", block, known: undefined });
    const left = new Map<string, number>();
    for (let missing = Infinity; missing > 0;) {
      const frame = await raw.next();
      if (frame.kind === "opened") left.set(frame.block, frame.length);
      else if (frame.kind === "part")
        left.set(frame.block, left.get(frame.block)! - frame.bytes.length);
      else throw new Error(`was told ${frame.kind}`);
      if (left.size === blocks.length) missing = Math.max(...left.values());
    }
    expect(resyncs(server)).toBe(0);
  });

  test("is given up while copies wait for it, and can come back as the same peer", async () => {
    await using server = await ReplicaServer.start({
      outflow: { pause: 64 * 1024, end: 1024 * 1024 },
    });
    const followed = await server.block("text\n");
    const text = noise(1_000_000);
    const blocks = await Promise.all(Array.from({ length: 10 }, () => server.block(text)));
    using stalled = await RawReplica.connect(server.url, server.test.owner.token);
    await stalled.open(followed);
    stalled.socket.pause();
    for (const block of blocks) stalled.send({ kind: "open", block, known: undefined });
    for (let i = 0; i < 400 && resyncs(server) === 0; i++) {
      const more = noise(100_000);
      await server.call("bob", "block_append", { block_id: followed, text: more, flush: true });
    }
    expect(resyncs(server)).toBe(1);
    const { peer, secret } = stalled.grant;
    using again = await RawReplica.connect(server.url, server.test.owner.token, {
      resume: { peer, secret },
    });
    expect(again.grant.peer).toBe(peer);
  });

  test("fifty of them cost little, nobody else waits, and they are ended after a while", async () => {
    const time = new FakeTime();
    await using server = await ReplicaServer.start({ timers: time.timers });
    const text = noise(1_000_000);
    const blocks = await Promise.all(Array.from({ length: 10 }, () => server.block(text)));
    const { token } = server.test.owner;
    using first = await RawReplica.connect(server.url, token);
    for (const block of blocks) await first.open(block);
    using client = server.client();
    const own = client.replica(await server.block("mine\n"));
    await own.ready();
    const before = process.memoryUsage().rss;
    const stalled = await Promise.all(
      Array.from({ length: 50 }, async (_, at) => {
        const raw = await RawReplica.connect(server.url, token, { instance: `stalled ${at}` });
        raw.socket.pause();
        for (const block of blocks) raw.send({ kind: "open", block, known: undefined });
        return raw;
      }),
    );
    await vi.waitFor(() => expect(time.waiting).toBe(50), { timeout: 30_000, interval: 20 });
    own.edit([{ at: 0, remove: 0, insert: "still " }]);
    await own.saved();
    expect((process.memoryUsage().rss - before) / 1e6).toBeLessThan(250);
    expect(resyncs(server)).toBe(0);
    time.pass(10_000);
    expect(resyncs(server)).toBe(50);
    const closed = await Promise.all(
      stalled.map(async (raw) => {
        raw.socket.resume();
        for (;;) {
          const frame = await raw.next();
          if (frame.kind === "closed") return frame.code;
        }
      }),
    );
    expect(new Set(closed)).toEqual(new Set([4408]));
    await first.open(blocks[0]!);
    expect(own.state).toBe("live");
  }, 60_000);

  test("is ended with resync, and nobody waits for it", async () => {
    await using server = await ReplicaServer.start({
      outflow: { pause: 64 * 1024, end: 256 * 1024 },
    });
    const block = await server.block("text\n");
    using stalled = await RawReplica.connect(server.url, server.test.owner.token);
    await stalled.open(block);
    stalled.socket.pause();
    using client = server.client();
    const replica = client.replica(block);
    await replica.ready();
    let typed = 0;
    // What the system keeps in its own buffers comes on top.
    for (; resyncs(server) === 0 && typed < 400; typed++) {
      replica.edit([{ at: 0, remove: 0, insert: "x".repeat(50_000) }]);
      await replica.saved();
    }
    expect(resyncs(server)).toBe(1);
    expect((await server.text(block)).length).toBe(5 + typed * 50_000);
  });
});

describe("presence", () => {
  test("everybody sees who is where; it goes with the connection, and comes back with it", async () => {
    await using server = await ReplicaServer.start();
    const { token } = await server.test.mint({ kind: "person", actor: "bob" });
    const cable = new Cable();
    using ann = server.client();
    using bob = server.client({ token, WebSocket: cable.WebSocket });
    const selection = { version: 3, ranges: [{ anchor: 1, head: 4 }] };
    bob.presence.set({ block: "main~ann~1", selection, activity: "reading", name: "Bob" });
    await others(ann.presence, (actors) => actors.join() === "bob");
    expect(ann.presence.others).toMatchObject([
      { actor: "bob", kind: "person", presence: { block: "main~ann~1", selection, name: "Bob" } },
    ]);
    expect(bob.presence.others).toEqual([]);
    cable.cut();
    await others(ann.presence, (actors) => actors.length === 0);
    cable.mend();
    await others(ann.presence, (actors) => actors.join() === "bob");
    // An agent has no connection of this kind: it is where it calls tools.
    const claude = await server.test.mint({ kind: "agent", actor: "claude" });
    const { hall } = server.test;
    const call = { name: "block_list", input: { context: "main", block_id: "main~ann~1" } };
    await hall.callTool(claude.principal, server.kernel, call).catch(() => undefined);
    await others(ann.presence, (actors) => actors.join() === "bob,claude");
    const presence = { activity: "block_list", block: "main~ann~1" };
    expect(ann.presence.others).toContainEqual(
      expect.objectContaining({ actor: "claude", kind: "agent", presence }),
    );
    bob[Symbol.dispose]();
    await others(ann.presence, (actors) => actors.join() === "claude");
  });

  test("a crowd is told in shares: one frame for all, so much at a time, everything in the end", () => {
    const time = new FakeTime();
    const board = new PresenceBoard(time.timers);
    const seen = Array.from({ length: 250 }, () => [] as Uint8Array[]);
    const watching = seen.map((frames) =>
      board.watch("main", { changed: (frame) => frames.push(frame) }),
    );
    const keys = Array.from({ length: 250 }, (_, at) => `key ${at}`);
    const put = (key: string): void =>
      board.put("main", {
        key,
        actor: "eve",
        kind: "agent",
        presence: { name: "x".repeat(4_000) },
      });
    for (const key of keys) put(key);
    const told = (frames: Iterable<Uint8Array>): PresenceChange[] =>
      Array.from(frames, (bytes) => {
        const frame = decodeServerFrame(bytes);
        expect(bytes.length).toBeLessThan(replicaLimits.part);
        return JSON.parse(frame.kind === "presence" ? frame.json : "") as PresenceChange;
      });
    time.pass(124);
    expect(seen[0]!.length).toBe(0);
    time.pass(1);
    // All together are told no more than 64 KiB in a millisecond, give or take an entry each.
    expect(seen[0]!.length).toBe(1);
    expect(seen[0]![0]!.length).toBeLessThan((125 * 64 * 1024) / 250 + 5_000);
    // Who says it again and again waits for the others' turn.
    for (let round = 0; round < 100; round++) {
      put("key 0");
      time.pass(125);
    }
    const [first] = seen;
    for (const frames of seen)
      for (const [at, frame] of frames.entries()) expect(frame).toBe(first![at]);
    const here = told(first!).flatMap((change) => change.here.map(({ key }) => key));
    expect(new Set(here)).toEqual(new Set(keys));
    // Who comes is told of all; of whoever goes meanwhile not any more.
    const list = board.everybody("main");
    const begun = told([list.next().value as Uint8Array]);
    board.remove("main", "key 249");
    const whole = [...begun, ...told(list)].flatMap((change) => change.here.map(({ key }) => key));
    expect(whole).toEqual(keys.slice(0, -1));
    time.pass(125);
    expect(told(seen[0]!).at(-1)!.gone).toEqual(["key 249"]);
    for (const each of watching) each[Symbol.dispose]();
  });

  test("what is said of oneself counts as a call of the token", async () => {
    await using server = await ReplicaServer.start();
    using raw = await RawReplica.connect(server.url, server.test.owner.token);
    const over = new KumikoError("too_many", "More than it may.", {});
    const take = vi.spyOn(server.test.hall.rates, "take").mockImplementation(() => {
      throw over;
    });
    raw.send({ kind: "presence", json: "{}" });
    expect(await raw.next()).toMatchObject({ kind: "refused", code: "too_many" });
    take.mockRestore();
  });

  test("what is no presence, or comes too often, ends the connection", async () => {
    await using server = await ReplicaServer.start({ limits: { presences: 20 } });
    const { token } = server.test.owner;
    for (const json of [
      "{",
      "[]",
      '{"actor":"bob"}',
      '{"selection":{"version":1,"ranges":[]}}',
      '{"name":5}',
    ]) {
      using raw = await RawReplica.connect(server.url, token);
      raw.send({ kind: "presence", json });
      expect(await raw.next(), json).toMatchObject({ kind: "refused", code: "frame_malformed" });
    }
    using often = await RawReplica.connect(server.url, token);
    for (let i = 0; i < 60; i++) often.send({ kind: "presence", json: "{}" });
    expect(await often.next()).toMatchObject({ kind: "refused", code: "too_many" });
  });
});
