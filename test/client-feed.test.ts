import { join } from "node:path";
import BetterSqlite from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { KumikoError, Random } from "../src/base/index.ts";
import { connect, type FeedNews, type KumikoClient } from "../src/client/index.ts";
import type { FeedEvent } from "../src/protocol/index.ts";
import { scaled, seed } from "./support/counts.ts";
import { cuttableSockets } from "./support/cut-sockets.ts";
import { FeedClient } from "./support/feed-client.ts";
import { instead, openRpcServer } from "./support/rpc.ts";

/** A promise that resolves when something was told that makes it true. */
class Watch {
  #looks: (() => void)[] = [];

  changed(): void {
    for (const look of this.#looks.splice(0)) look();
  }

  async until(holds: () => boolean): Promise<void> {
    while (!holds()) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#looks.push(resolve);
      await promise;
    }
  }
}

async function post(client: KumikoClient, context: string, content: string): Promise<string> {
  const made = await client
    .kernel("main")
    .context({ context })
    .post({ role: "user", kind: "text", content });
  return (made as { block_id: string }).block_id;
}

describe("a feed", () => {
  const LONG = { timeout: 5 * 60_000 };
  test(
    "tells each event once, in order, none left out, wherever connections break",
    LONG,
    async () => {
      let cuts = 0;
      let resyncs = 0;
      for (let run = 0; run < scaled(60); run++) {
        const random = new Random(seed() + run);
        // Little is kept for who is slow, so that it is ended often.
        await using server = await openRpcServer({ limits: { waiting: 2_500 } });
        const { url, owner } = server;
        const wire = cuttableSockets();
        const backoff = { first: 1, most: 4, random: () => random.next() };
        await using reader = connect({
          url,
          token: owner.token,
          WebSocket: wire.WebSocket,
          backoff,
        });
        await using writer = connect({ url, token: owner.token });
        await writer.kernel("main").createContext({ context: "plans" });
        const blocks = [
          await post(writer, "main", "begin\n"),
          await post(writer, "plans", "begin\n"),
          await post(writer, "main", "other\n"),
        ];
        const chosen = [
          { from: 0 },
          { from: 0, context: "plans" },
          { from: 1, blocks: [blocks[0]!, blocks[1]!] },
          { from: 3, topics: ["config" as const] },
        ];
        const watch = new Watch();
        const told = chosen.map((): FeedEvent[] => []);
        const dawdle = async (): Promise<void> => {
          for (let turns = random.below(6); turns > 0; turns--)
            await new Promise((resolve) => setImmediate(resolve));
        };
        for (const [at, options] of chosen.entries()) {
          reader.kernel("main").feed(async (news) => {
            if (news.kind === "blocks") {
              expect(news.events.length).toBeGreaterThan(0);
              told[at]!.push(...news.events);
            }
            await dawdle();
            watch.changed();
          }, options);
        }
        wire.fate = (direction, frame) => {
          if (direction === "in") resyncs += frame.split('"reason":"resync"').length - 1;
          if (random.next() > 0.03) return "pass";
          cuts++;
          return random.pick(["before", "behind"] as const);
        };
        for (let step = 0; step < 40; step++) {
          const block = random.pick(blocks);
          const insert = "text ".repeat(1 + random.below(60));
          const calls = Array.from({ length: 1 + random.below(4) }, () =>
            writer.kernel("main").pushOps({
              block_id: block,
              base_version: 1,
              splices: [{ at: 0, remove: 0, insert }],
            }),
          );
          await Promise.all(calls);
          if (random.next() < 0.1)
            await writer.kernel("main").setToolFilter({ filter: { kind: "all" } });
        }
        // Whoever has not caught up by now does so over a good line.
        wire.fate = () => "pass";
        const head = await writer.kernel("main").position();
        const kernel = await server.hall.kernelOf(owner.principal, "main");
        const all = await kernel.feed.since(0, head);
        const expected = chosen.map(({ from, context, blocks: only }) =>
          all.filter(
            ({ position, block }) =>
              position > from &&
              (context === undefined || block.startsWith(`${context}~`)) &&
              (only === undefined || only.includes(block)),
          ),
        );
        await watch.until(() =>
          told.every((each, at) => (each.at(-1)?.position ?? 0) >= expected[at]!.at(-1)!.position),
        );
        for (const [at, events] of told.entries()) {
          expect(events.map(({ position }) => position)).toEqual(
            expected[at]!.map(({ position }) => position),
          );
        }
        // What events say is what the texts are.
        const copy = new FeedClient();
        for (const event of told[0]!) copy.apply(event);
        for (const block of blocks) {
          const { text, version } = await writer
            .kernel("main")
            .getDocumentState({ block_id: block });
          expect(copy.copies.get(block)).toMatchObject({ text, version });
        }
      }
      expect(cuts).toBeGreaterThan(20);
      expect(resyncs).toBeGreaterThan(5);
    },
  );

  test("begins now unless it is told where, and does not lose what comes before its first event", async () => {
    await using server = await openRpcServer();
    const { url, owner } = server;
    const wire = cuttableSockets();
    await using writer = connect({ url, token: owner.token });
    await post(writer, "main", "before");
    await using reader = connect({
      url,
      token: owner.token,
      WebSocket: wire.WebSocket,
      backoff: { first: 1, most: 2 },
    });
    const watch = new Watch();
    const told: FeedNews[] = [];
    await using feed = reader.kernel("main").feed(
      (news) => {
        told.push(news);
        watch.changed();
      },
      { topics: ["config"] },
    );
    while (feed.position === undefined) await new Promise((resolve) => setImmediate(resolve));
    expect(feed.position).toBe(1);
    wire.fate = () => "before";
    wire.cut();
    await post(writer, "main", "meanwhile");
    wire.fate = () => "pass";
    await watch.until(() => told.length === 2);
    expect(told).toMatchObject([
      { kind: "resumed", position: 1, missed: ["config"] },
      { kind: "blocks", position: 2 },
    ]);
  });

  test("is behind until it has what was there when it began", async () => {
    await using server = await openRpcServer();
    await using client = connect({ url: server.url, token: server.owner.token });
    for (let count = 0; count < 5; count++) await post(client, "main", "x");
    const states: string[] = [];
    client.onState((state) => states.push(state));
    const gate = Promise.withResolvers<void>();
    await using feed = client.kernel("main").feed(() => gate.promise, { from: 0 });
    await client.kernel("main").position();
    expect(client.state).toBe("behind");
    gate.resolve();
    while (client.state !== "live") await new Promise((resolve) => setImmediate(resolve));
    expect(feed.position).toBe(5);
    expect(states).toEqual(["behind", "live"]);
  });

  test("ends with what its listener throws, or what cannot be followed", async () => {
    await using server = await openRpcServer();
    await using client = connect({ url: server.url, token: server.owner.token });
    await post(client, "main", "x");
    const failing = client.kernel("main").feed(
      () => {
        throw new Error("mine");
      },
      { from: 0 },
    );
    await expect(failing.ended).rejects.toThrow("mine");
    const nowhere = client.kernel("main").feed(() => undefined, { from: 77 });
    await expect(nowhere.ended).rejects.toMatchObject({ code: "out_of_range" });
    const unknown = client.kernel("nowhere").feed(() => undefined);
    await expect(unknown.ended).rejects.toMatchObject({ code: "unknown_kernel" });
    expect(client.state).toBe("live");
    const kernel = await server.hall.kernelOf(server.owner.principal, "main");
    while (kernel.feed.subscribers > 0) await new Promise((resolve) => setImmediate(resolve));
  });

  test("that is refused for now while it catches up goes on after a pause", async () => {
    for (const code of ["closing", "too_many"] as const) {
      await using server = await openRpcServer({ limits: { waiting: 2_500 } });
      await using client = connect({
        url: server.url,
        token: server.owner.token,
        backoff: { first: 1, most: 4, random: () => 0 },
      });
      let refused = 0;
      using _ = instead(server.hall, "block_sync", () => {
        refused++;
        return Promise.reject(new KumikoError(code, "Not now.", {}));
      });
      const watch = new Watch();
      const hold = Promise.withResolvers<void>();
      const told: number[] = [];
      await using feed = client.kernel("main").feed(
        async (news) => {
          // It is slow once: it is ended with resync.
          await hold.promise;
          if (news.kind === "blocks") told.push(...news.events.map(({ position }) => position));
          watch.changed();
        },
        { from: 0 },
      );
      const lost = feed.ended.then(() => expect.fail("it ended"));
      for (let count = 0; count < 8; count++) await post(client, "main", "x".repeat(1_000));
      hold.resolve();
      await Promise.race([watch.until(() => told.length >= 8), lost]);
      expect(told).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
      expect(refused).toBeGreaterThan(0);
      lost.catch(() => undefined);
    }
  });

  test("goes on over what is damaged on disk, and says so", async () => {
    await using server = await openRpcServer();
    await using client = connect({ url: server.url, token: server.owner.token });
    for (const text of ["one", "two", "three"]) await post(client, "main", text);
    await client.kernel("main").close();
    const database = new BetterSqlite(join(server.home, "kernels", "main", "state.db"));
    database.prepare("UPDATE commits SET actor = actor + 7 WHERE position = 2").run();
    database.close();
    const watch = new Watch();
    const told: FeedNews[] = [];
    await using _ = client.kernel("main").feed(
      (news) => {
        told.push(news);
        watch.changed();
      },
      { from: 0 },
    );
    await watch.until(() =>
      told.some((news) => news.kind === "blocks" && news.events.some((e) => e.position === 3)),
    );
    const positions = told.flatMap((news) =>
      news.kind === "blocks" ? news.events.map(({ position }) => position) : [],
    );
    expect(positions).toEqual([1, 3]);
    expect(told.filter(({ kind }) => kind === "unavailable")).toMatchObject([
      { blocks: [{ error: { code: "damaged" } }] },
    ]);
    await post(client, "main", "four");
    await watch.until(() => told.some((news) => news.kind === "blocks" && news.position === 4));
  });

  test("goes on when the kernel was closed, and when the server stops and is there again", async () => {
    await using server = await openRpcServer();
    await using client = connect({ url: server.url, token: server.owner.token });
    const watch = new Watch();
    const positions: number[] = [];
    await using _ = client.kernel("main").feed(
      (news) => {
        if (news.kind === "blocks") positions.push(...news.events.map(({ position }) => position));
        watch.changed();
      },
      { from: 0 },
    );
    for (let count = 1; count <= 3; count++) {
      await post(client, "main", "x");
      await client.kernel("main").close();
    }
    await watch.until(() => positions.length >= 3);
    expect(positions).toEqual([1, 2, 3]);
  });
});
