import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as passing } from "node:timers/promises";
import {
  type CallToolResult,
  Client,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { expect, test } from "vitest";
import { Random } from "../src/base/index.ts";
import { connect, type FeedNews } from "../src/client/index.ts";
import { scaled, seed } from "./support/counts.ts";
import { FeedClient } from "./support/feed-client.ts";
import { type Home, temporaryHome } from "./support/kumiko.ts";
import { dataIn } from "./support/mcp.ts";
import { type Serving, serving } from "./support/serving.ts";
import { linesOf, writing } from "./support/writing-child.ts";

const LONG = 15 * 60_000;
/** Within so many milliseconds after the last change, block and file are equal. */
const SOON = 2_000;
const SLOTS = 4;
const PATH = "shared.txt";

/** An agent as its server sees it: a token of its own, and whatever it calls itself. */
class Agent implements AsyncDisposable {
  readonly actor: string;
  readonly #client: Client;

  private constructor(actor: string, client: Client) {
    this.actor = actor;
    this.#client = client;
  }

  static async connect(actor: string, home: Home, { told }: Serving): Promise<Agent> {
    const { token } = await home.json(["token", "new", "--for", actor, "--scopes", "read,write"]);
    const headers = {
      authorization: `Bearer ${String(token)}`,
      "kumiko-kernel": told.kernel,
      "kumiko-tools": "all",
    };
    const client = new Client({ name: actor, version: "1" });
    const transport = new StreamableHTTPClientTransport(new URL("/mcp", told.url), {
      requestInit: { headers },
    });
    await client.connect(transport);
    return new Agent(actor, client);
  }

  /** What a refusal says is thrown. */
  async #call(name: string, input: Record<string, unknown>): Promise<CallToolResult> {
    const called = await this.#client.callTool({ name, arguments: input });
    if (called.isError === true)
      throw new Error(`${this.actor}: ${name} was refused: ${JSON.stringify(called.content)}`);
    return called;
  }

  async ask<Result>(name: string, input: Record<string, unknown>): Promise<Result> {
    return dataIn(await this.#call(name, input)) as Result;
  }

  async text(): Promise<string> {
    const { content } = await this.#call("block_read", { block_id: PATH, line_numbers: false });
    const [answer] = content as { text: string }[];
    // Its first line is about the block.
    return answer!.text.slice(answer!.text.indexOf("\n") + 1);
  }

  /** Reads the file and adds a token to a line of its own, by the number it had when it was read. */
  async edit(slot: number, token: string, pause: number): Promise<void> {
    const lines = (await this.text()).split("\n");
    const line = lines.findIndex((each) => each.startsWith(`${this.actor} slot ${slot}`));
    await passing(pause);
    const content = `${lines[line]!}${token}`;
    const operations = [{ op: "replace", start_line: line, end_line: line + 1, content }];
    const answer = await this.ask<object>("block_edit", { block_id: PATH, operations });
    expect(answer).not.toHaveProperty("conflicts");
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#client.close();
  }
}

/** Who wrote each unit of the text. */
async function authors(agent: Agent): Promise<string[]> {
  const { runs } = await agent.ask<{ runs: { text: string; actor: string }[] }>("block_blame", {
    block_id: PATH,
  });
  return runs.flatMap(({ text, actor }) => Array.from({ length: text.length }, () => actor));
}

/** Somebody who asks for nothing: what is new on disk reaches them only if the watch tells it. */
class Listener implements AsyncDisposable {
  readonly #copies = new FeedClient();
  readonly #owned: AsyncDisposableStack;
  readonly #block: string;

  constructor(token: string, { told }: Serving, block: string) {
    this.#block = block;
    this.#owned = new AsyncDisposableStack();
    const client = this.#owned.use(connect({ url: told.url, token }));
    const listen = (news: FeedNews): void => {
      if (news.kind === "blocks") for (const event of news.events) this.#copies.apply(event);
    };
    this.#owned.use(client.kernel(told.kernel).feed(listen, { from: 0 }));
  }

  /** Gives what block and file say once both say the same. */
  async equalSoon(file: string): Promise<string> {
    const end = Date.now() + SOON;
    for (;;) {
      const disk = readFileSync(file, "utf8");
      const text = this.#copies.copies.get(this.#block)?.text;
      if (text === disk) return text;
      if (Date.now() > end) expect(text).toBe(disk);
      await passing(10);
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#owned.disposeAsync();
  }
}

test(
  "ten agents and one person edit one file in parallel through MCP and disk: nothing is lost, no edit is refused as modified since read",
  { timeout: LONG },
  async () => {
    using home = temporaryHome();
    const actors = Array.from({ length: 10 }, (_, index) => `agent-${index}`);
    const slots = actors.flatMap((actor) =>
      Array.from({ length: SLOTS }, (_, slot) => `${actor} slot ${slot} `),
    );
    const file = join(home.folder.path, PATH);
    const start = [...slots, ...linesOf("rename"), ...linesOf("sed")];
    writeFileSync(file, `${start.join("\n")}\n`);
    await using server = await serving(home);
    await using connected = new AsyncDisposableStack();
    const agents: Agent[] = [];
    for (const actor of actors)
      agents.push(connected.use(await Agent.connect(actor, home, server)));
    const [first] = agents as [Agent];
    const { block_id } = await first.ask<{ block_id: string }>("file_load", { path: PATH });
    const { token: reading } = await home.json([
      "token",
      "new",
      "--for",
      "ann",
      "--scopes",
      "read",
    ]);
    const listener = connected.use(new Listener(String(reading), server, block_id));
    const rounds = scaled(30);
    const saves = scaled(100);
    // One person, who saves with an editor first and with sed then.
    const person = async (): Promise<string[][]> => [
      await writing("rename", file, { rounds: saves, seed: seed() }),
      await writing("sed", file, { rounds: saves, seed: seed() }),
    ];
    const done = new AbortController();
    const saving = person().finally(() => done.abort());
    const editing = agents.map(async (agent, index) => {
      const random = new Random(seed() + index);
      const tokens: string[] = [];
      for (let round = 0; round < rounds || !done.signal.aborted; round++) {
        const token = `<${agent.actor}-${round}>`;
        await agent.edit(round % SLOTS, token, random.below(20));
        tokens.push(token);
        await passing(random.below(100));
      }
      return tokens;
    });
    const [saved, ...edited] = await Promise.all([saving, ...editing]);
    await listener.equalSoon(file);
    // Nobody asks for anything any more.
    const last = readFileSync(file, "utf8").replace(linesOf("rename")[0]!, "$&<last-0>");
    writeFileSync(`${file}.new`, last);
    renameSync(`${file}.new`, file);
    const text = await listener.equalSoon(file);
    const own = [...saved.flat(), "<last-0>"];
    const tokens = [...own, ...edited.flat()];
    expect(tokens.length).toBeGreaterThanOrEqual(rounds * 10 + saves * 2);
    expect(tokens.filter((token) => text.split(token).length !== 2)).toEqual([]);
    expect(text.replaceAll(/<[a-z]+-[\d-]+>/g, "")).toBe(`${start.join("\n")}\n`);
    const status = await first.ask("file_status", { path: PATH });
    expect(status).toMatchObject({ conflicts: [], files: [{ status: "synced" }] });
    const wrote = await authors(first);
    const blamed = (token: string): string[] => {
      const at = text.indexOf(token);
      return [...new Set(wrote.slice(at, at + token.length))];
    };
    for (const [index, agent] of agents.entries())
      for (const token of edited[index]!)
        expect([token, ...blamed(token)]).toEqual([token, agent.actor]);
    for (const token of own) expect([token, ...blamed(token)]).toEqual([token, "disk"]);
  },
);
