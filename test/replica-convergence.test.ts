import { expect, test } from "vitest";
import { WebSocket } from "ws";
import { Random } from "../src/base/index.ts";
import type { Replica } from "../src/client/replica.ts";
import type { Replicas } from "../src/client/replicas.ts";
import { fittingSplice } from "./support/arbitrary-text.ts";
import { scaled, seed } from "./support/counts.ts";
import { ReplicaServer } from "./support/replica-server.ts";

/** A client whose connection can be cut at any moment. */
class Frail implements Disposable {
  readonly name: string;
  readonly #sockets = new Set<WebSocket>();
  readonly #client: Replicas;
  readonly replica: Replica;
  refused = 0;

  constructor(server: ReplicaServer, name: string, block: string) {
    this.name = name;
    const sockets = this.#sockets;
    class Observed extends WebSocket {
      constructor(url: string, protocols: string[]) {
        super(url, protocols);
        sockets.add(this);
        this.once("close", () => sockets.delete(this));
      }
    }
    this.#client = server.client({ WebSocket: Observed });
    this.replica = this.#client.replica(block);
    this.replica.onRefused(() => this.refused++);
  }

  cut(): void {
    for (const socket of this.#sockets) socket.terminate();
  }

  [Symbol.dispose](): void {
    this.#client[Symbol.dispose]();
  }
}

async function round(server: ReplicaServer, random: Random, deleting: boolean): Promise<void> {
  const block = await server.block("A beginning 🦊.\nAnd a second line.\n");
  using stack = new DisposableStack();
  const clients = ["one", "two", "three"].map((name) => stack.use(new Frail(server, name, block)));
  await Promise.all(clients.map(({ replica }) => replica.ready()));
  const tokens: string[] = [];
  /** One of a kind, and nothing can be inserted into it. */
  const token = (): string => {
    tokens.push(String.fromCodePoint(0x4e00 + tokens.length));
    return tokens.at(-1)!;
  };
  const type = ({ replica, name }: Frail): void => {
    const { text } = replica;
    const at = random.below(text.length + 1);
    const remove = deleting ? random.below(6) : 0;
    const insert = `${name}${token()}${random.pick(["", "é", "🦊"])}`;
    replica.edit([fittingSplice(text, { at, remove, insert })]);
  };
  const callTool = async (): Promise<void> => {
    const insert = `<${token()}>`;
    await server.kernel.editText(
      { actor: "claude" },
      {
        blocks: [block],
        operation: "change",
        translate: ({ current }) => {
          const text = current.slice(0, current.length);
          return [fittingSplice(text, { at: random.below(text.length + 1), remove: 0, insert })];
        },
        answer: () => undefined,
      },
    );
  };
  for (let step = 0; step < 40; step++) {
    const client = random.pick(clients);
    const chance = random.next();
    if (chance < 0.55) type(client);
    else if (chance < 0.7) await callTool();
    else if (chance < 0.82) client.cut();
    else if (chance < 0.86 && deleting) client.replica.undoUnsent();
    else if (chance < 0.92) await client.replica.saved();
    else await new Promise((resolve) => setImmediate(resolve));
  }
  await Promise.all(clients.map(({ replica }) => replica.saved()));
  const { text, version } = await server.kernel.read(block);
  await Promise.all(clients.map(({ replica }) => replica.reached(version)));
  for (const { replica, refused } of clients) {
    expect(replica.text).toBe(text);
    expect(refused).toBe(0);
    expect(replica.unsent).toEqual([]);
  }
  if (!deleting) for (const each of tokens) expect(text.split(each).length, each).toBe(2);
}

test(
  "three replicas and a tool converge, whatever connections do; nothing is lost or there twice",
  { timeout: 600_000 },
  async () => {
    await using server = await ReplicaServer.start();
    const random = new Random(seed());
    const blocks = scaled(60);
    for (let i = 0; i < blocks; i++) await round(server, random, i % 2 === 1);
    const texts = new Map<string, string>();
    for await (const { block } of server.kernel.blocks())
      texts.set(block, await server.text(block));
    // The journal says the same.
    const { world } = server.test.hall;
    await world.close("main");
    const again = await world.open("main");
    for (const [block, text] of texts) {
      expect(await again.look(block, ({ document }) => document.read())).toBe(text);
    }
  },
);
