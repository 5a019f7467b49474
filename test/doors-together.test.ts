import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { HomeFolder } from "../src/app/index.ts";
import { startServer } from "../src/app/server.ts";
import { openWorld } from "../src/app/world.ts";
import { Random } from "../src/base/index.ts";
import { connect, type FeedNews, type KernelClient } from "../src/client/index.ts";
import type { FeedEvent } from "../src/protocol/index.ts";
import { scaled, seed } from "./support/counts.ts";
import {
  Cables,
  CommandEditor,
  type Editor,
  McpEditor,
  ReplicaEditor,
  ToolEditor,
  untilRead,
} from "./support/editors.ts";
import { type Home, temporaryHome } from "./support/kumiko.ts";
import { type Serving, serving } from "./support/serving.ts";

/** Lines that each writes in a round. */
const LINES = { tools: 6, replica: 6, mcp: 4, command: 2 } as const;
const ALL = Object.values(LINES).reduce((sum, each) => sum + each, 0);

/** Follows one block by the feed alone. */
class Follower {
  readonly #versions: number[] = [];
  readonly #waiting = new Set<() => void>();
  #text = "";

  readonly listener = (news: FeedNews): void => {
    if (news.kind === "blocks") for (const event of news.events) this.#take(event);
    for (const look of this.#waiting) look();
  };

  #take({ version, change }: FeedEvent): void {
    this.#versions.push(version);
    if (!("splices" in change)) return;
    for (const { at, remove, insert } of change.splices)
      this.#text = this.#text.slice(0, at) + insert + this.#text.slice(at + remove);
  }

  /** The text as it was told, once everything up to a version was. */
  async at(version: number): Promise<{ text: string; versions: readonly number[] }> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = (): void => {
      if ((this.#versions.at(-1) ?? 0) >= version) resolve();
    };
    this.#waiting.add(look);
    look();
    await promise;
    return { text: this.#text, versions: this.#versions };
  }
}

/** A server that is killed and started again at the same place. */
class Mortal implements AsyncDisposable {
  readonly #home: Home;
  readonly #agent: McpEditor;
  #serving: Serving;

  private constructor(home: Home, first: Serving, agent: McpEditor) {
    this.#home = home;
    this.#serving = first;
    this.#agent = agent;
  }

  static async start(home: Home, agent: McpEditor): Promise<Mortal> {
    return new Mortal(home, await serving(home), agent);
  }

  get told(): Serving["told"] {
    return this.#serving.told;
  }

  async dieAndReturn(): Promise<void> {
    const port = Number(new URL(this.told.url).port);
    await this.#serving[Symbol.asyncDispose]();
    const again = (): Promise<Serving> => serving(this.#home, port);
    // The agent may have become the server meanwhile, and a home has one. An agent that was left before may still be
    // ending then, and nobody tells when it has.
    const patiently = async (): Promise<Serving> => {
      for (let tries = 1; ; tries++) {
        try {
          return await again();
        } catch (error) {
          if (tries === 20 || !String(error).includes("already runs at")) throw error;
        }
      }
    };
    this.#serving = await again().catch(() => this.#agent.stayAway(patiently));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#serving[Symbol.asyncDispose]();
  }
}

type Trouble = "cut tools" | "cut replica" | "end agent" | "kill server";

/** What goes wrong after how many lines: the server dies once, everything else happens by chance. */
function troubles(random: Random): Map<number, Trouble> {
  const others = ["cut tools", "cut replica", "end agent"] as const;
  const plan = new Map<number, Trouble>();
  for (let line = 1; line < ALL - 2; line++)
    if (random.below(4) === 0) plan.set(line, random.pick(others));
  plan.set(1 + random.below(ALL - 4), "kill server");
  return plan;
}

async function createBlock(kernel: KernelClient): Promise<string> {
  const input = { context: "main", role: "user", kind: "text", content: "start\n" };
  const made = await kernel.executeTool({ name: "block_create", arguments: input });
  return (made as { block_id: string }).block_id;
}

describe("all doors at once", () => {
  const rounds = scaled(100);
  test(
    `two SDK clients, an agent and a command line edit one block while everything breaks: ${rounds} rounds`,
    { timeout: rounds * 60_000 },
    async () => {
      const random = new Random(seed());
      using home = temporaryHome();
      // The block that all write is ann's.
      home.folder.write("kumiko.toml", '[[conversation]]\nwhose = "any"\nlevel = "read_write"\n');
      await using stack = new AsyncDisposableStack();
      const agent = stack.use(new McpEditor(home));
      const server = stack.use(await Mortal.start(home, agent));
      const { url, kernel: id } = server.told;
      const token = readFileSync(
        join(home.environment["KUMIKO_HOME"]!, "owner.token"),
        "utf8",
      ).trim();
      const cables = { tools: new Cables(), replica: new Cables() };
      const backoff = { first: 20, most: 200, random: () => random.next() };
      const client = stack.use(
        connect({ url, token, backoff, WebSocket: cables.tools.Socket, patience: 60_000 }),
      );
      const kernel = client.kernel(id);
      const typist = stack.use(
        connect({ url, token, backoff, WebSocket: cables.replica.Socket, patience: 60_000 }),
      );
      const replicas = typist.replicas(id);
      await kernel.createContext({ context: "main" });
      const refused: unknown[] = [];
      const opened = new Set<string>();
      const replica = (block: string) => {
        const copy = replicas.replica(block);
        if (!opened.has(block)) copy.onRefused((text) => refused.push(text));
        opened.add(block);
        return copy;
      };
      const editors: readonly (Editor & { readonly name: keyof typeof LINES })[] = [
        new ToolEditor(kernel, random),
        new ReplicaEditor(replica, random),
        agent,
        new CommandEditor(home),
      ] as never;

      for (let round = 0; round < rounds; round++) {
        const block = await createBlock(kernel);
        const follower = new Follower();
        await using feed = kernel.feed(follower.listener, { blocks: [block], from: 0 });
        const plan = troubles(random);
        const expected = new Set(["start"]);
        const failed = Promise.withResolvers<never>();
        const underWay: Promise<void>[] = [];
        let written = 0;
        const happens = (trouble: Trouble): Promise<void> => {
          if (trouble === "kill server") return server.dieAndReturn();
          if (trouble === "end agent") return agent.leave();
          cables[trouble === "cut tools" ? "tools" : "replica"].cut();
          return Promise.resolve();
        };
        const write = async (editor: (typeof editors)[number]): Promise<void> => {
          const own: string[] = [];
          for (let number = 0; number < LINES[editor.name]; number++) {
            const line = `${editor.name} ${round} ${number}`;
            const before = random.below(4) === 0 ? own.at(-1) : undefined;
            if (before !== undefined && editor.change !== undefined) {
              await editor.change(block, before, line);
              expected.delete(before);
            } else await editor.add(block, line);
            own.push(line);
            expected.add(line);
            written += 1;
            const trouble = plan.get(written);
            if (trouble === undefined) continue;
            const happening = happens(trouble);
            happening.catch(failed.reject);
            underWay.push(happening);
          }
        };
        await Promise.race([Promise.all(editors.map(write)), failed.promise]);
        await Promise.all(underWay);

        const copy = replica(block);
        await copy.saved();
        const { text, version } = await kernel.getDocumentState({ block_id: block });
        const where = `round ${round}, seed ${seed()}`;
        expect(text.split("\n").slice(0, -1).toSorted(), where).toEqual([...expected].toSorted());
        for (const editor of editors)
          expect(await editor.read(block, version), `${where}, ${editor.name}`).toBe(text);
        expect(await follower.at(version), where).toEqual({
          text,
          versions: Array.from({ length: version }, (_, at) => at + 1),
        });
        copy[Symbol.dispose]();
        expect(feed.position).toBeGreaterThan(0);
      }
      expect(refused).toEqual([]);
    },
  );
});

describe("a kernel that a command has for a moment", () => {
  test("is refused meanwhile, and had on the same connection afterwards", async () => {
    using home = temporaryHome();
    const place = home.environment["KUMIKO_HOME"]!;
    const command = openWorld(new HomeFolder(place, "kumiko block edit"), () => undefined);
    const own = await command.openOrCreate("main");
    await using server = await startServer({ home: place });
    await using client = connect({ url: server.url, token: server.ownerToken });
    const kernel = client.kernel("main");
    await expect(kernel.position()).rejects.toMatchObject({
      code: "in_use",
      facts: { command: "kumiko block edit", waited: 2_000 },
    });
    const follower = new Follower();
    await using feed = kernel.feed(follower.listener, { from: 0 });
    await own.contexts.create("main", "ann");
    await command[Symbol.asyncDispose]();
    // What was asked before is still refused.
    expect(await untilRead(() => kernel.position())).toBe(0);
    await createBlock(kernel);
    expect(await follower.at(1)).toEqual({ text: "start\n", versions: [1] });
    expect(feed.position).toBe(1);
  });
});
