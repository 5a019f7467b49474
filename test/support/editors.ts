import { randomUUID } from "node:crypto";
import { setTimeout as later } from "node:timers/promises";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { WebSocket } from "ws";
import { KumikoError, type Random } from "../../src/base/index.ts";
import type { KernelClient, Replica, SocketClass } from "../../src/client/index.ts";
import { command, type Home } from "./kumiko.ts";

/** Someone who writes lines into a block, through one of the doors. */
export interface Editor {
  readonly name: string;
  /** Writes a line of its own, and gives it when that is certain. */
  add(block: string, line: string): Promise<void>;
  /** Writes another in the place of one of its own. */
  change?(block: string, before: string, after: string): Promise<void>;
  /** What the block says, seen from here; of that version at least. */
  read(block: string, version: number): Promise<string>;
}

/** Sockets that can be cut. */
export class Cables {
  readonly #open = new Set<WebSocket>();
  /** To be given to a client. */
  readonly Socket: SocketClass;

  constructor() {
    const open = this.#open;
    this.Socket = class extends WebSocket {
      constructor(url: string, protocols: string[]) {
        super(url, protocols);
        open.add(this);
        this.once("close", () => open.delete(this));
      }
    };
  }

  /** Without a word to either end. */
  cut(): void {
    for (const socket of this.#open) socket.terminate();
  }
}

/** What may go otherwise the next time, and was not done: another process has the kernel, or had it. */
const passing: readonly string[] = [
  "in_use",
  "offline",
  "closed",
  "closing",
  "unreachable",
  "fenced",
];

type Input = { readonly [name: string]: unknown };

/** Asks until it is answered. */
export async function untilRead<Result>(read: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof KumikoError) || !passing.includes(error.code)) throw error;
      await later(20);
    }
  }
}

/** Makes one call, under one name, until it is answered. What does not fit was not written: then it makes another. */
async function untilWritten(
  prepare: () => Promise<Input>,
  call: (input: Input & { readonly call_id: string }) => Promise<unknown>,
): Promise<void> {
  for (;;) {
    const input = { ...(await untilRead(prepare)), call_id: randomUUID() };
    try {
      await untilRead(() => call(input));
      return;
    } catch (error) {
      if (!(error instanceof KumikoError) || error.code !== "conflict") throw error;
    }
  }
}

function replacing(block: string, before: string, after: string): () => Promise<Input> {
  return () => Promise.resolve({ block_id: block, old: `${before}\n`, new: `${after}\n` });
}

/** Calls tools over RPC, now and then twice at once. */
export class ToolEditor implements Editor {
  readonly name = "tools";
  readonly #kernel: KernelClient;
  readonly #random: Random;
  /** What it last saw, which may be long ago. */
  readonly #seen = new Map<string, { version: number; lines: number }>();

  constructor(kernel: KernelClient, random: Random) {
    this.#kernel = kernel;
    this.#random = random;
  }

  async add(block: string, line: string): Promise<void> {
    const prepare = async (): Promise<Input> => {
      const seen = this.#seen.get(block);
      this.#seen.delete(block);
      const stale = seen !== undefined && this.#random.below(3) > 0;
      const { version, lines } = stale ? seen : await this.#look(block);
      const operation = { op: "insert", line: this.#random.below(lines + 1), content: line };
      return { block_id: block, base_version: version, operations: [operation] };
    };
    await untilWritten(prepare, (input) => this.#call("block_edit", input));
  }

  async change(block: string, before: string, after: string): Promise<void> {
    await untilWritten(replacing(block, before, after), (input) =>
      this.#call("block_replace", input),
    );
  }

  async read(block: string): Promise<string> {
    return untilRead(async () => (await this.#kernel.getDocumentState({ block_id: block })).text);
  }

  async #look(block: string): Promise<{ version: number; lines: number }> {
    const { version, text } = await this.#kernel.getDocumentState({ block_id: block });
    const seen = { version, lines: text.split("\n").length - 1 };
    this.#seen.set(block, seen);
    return seen;
  }

  async #call(name: string, input: Input): Promise<void> {
    const once = (): Promise<unknown> => this.#kernel.executeTool({ name, arguments: input });
    const twice = this.#random.below(3) === 0;
    const answers = await Promise.all(twice ? [once(), once()] : [once()]);
    const edits = new Set(answers.map((answer) => (answer as { edit: string }).edit));
    if (edits.size !== 1) throw new Error(`one call was carried out ${edits.size} times`);
  }
}

/** Types into a copy of its own, connected or not. */
export class ReplicaEditor implements Editor {
  readonly name = "replica";
  readonly #open: (block: string) => Replica;
  readonly #random: Random;

  constructor(open: (block: string) => Replica, random: Random) {
    this.#open = open;
    this.#random = random;
  }

  async add(block: string, line: string): Promise<void> {
    const replica = this.#open(block);
    if (replica.state === "connecting") await replica.ready();
    const starts = [0, ...[...replica.text.matchAll(/\n/g)].map(({ index }) => index + 1)];
    replica.edit([{ at: this.#random.pick(starts), remove: 0, insert: `${line}\n` }]);
    // Now and then it types on before it is saved.
    if (this.#random.below(2) === 0) await replica.saved();
  }

  async read(block: string, version: number): Promise<string> {
    const replica = this.#open(block);
    await replica.saved();
    await replica.reached(version);
    return replica.text;
  }
}

/** An agent's: the official client, and `kumiko mcp` on its standard input and output. */
export class McpEditor implements Editor, AsyncDisposable {
  readonly name = "mcp";
  readonly #home: Home;
  #client: Promise<Client> | undefined;
  #away: Promise<void> | undefined;

  constructor(home: Home) {
    this.#home = home;
  }

  async add(block: string, line: string): Promise<void> {
    const prepare = async (): Promise<Input> => {
      const read = (await this.#call("block_read", { block_id: block })) as { version: number };
      const operations = [{ op: "insert", line: 0, content: line }];
      return { block_id: block, base_version: read.version, operations };
    };
    await untilWritten(prepare, (input) => this.#call("block_edit", input));
  }

  async change(block: string, before: string, after: string): Promise<void> {
    await untilWritten(replacing(block, before, after), (input) =>
      this.#call("block_replace", input),
    );
  }

  async read(block: string): Promise<string> {
    const input = { block_id: block, line_numbers: false };
    const { content } = (await untilRead(() => this.#call("block_read", input))) as {
      content: string;
    };
    // The first line says what it is.
    return content.slice(content.indexOf("\n") + 1);
  }

  /** The agent's own process ends, in the middle of whatever it does. */
  async leave(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    // One that never came about needs no end.
    await (await client?.catch(() => undefined))?.close();
  }

  /** Leaves, and comes back when that is done: an agent without a server becomes one, faster than others can. */
  async stayAway<Result>(until: () => Promise<Result>): Promise<Result> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#away = promise;
    try {
      await this.leave();
      return await until();
    } finally {
      this.#away = undefined;
      resolve();
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.leave();
  }

  async #call(name: string, input: Input): Promise<unknown> {
    while (this.#away !== undefined) await this.#away;
    this.#client ??= this.#connect();
    const client = this.#client;
    let answer;
    try {
      answer = await (await client).callTool({ name, arguments: input });
    } catch (error) {
      if (this.#client === client) await this.leave();
      throw new KumikoError("offline", String(error), {}, { cause: error });
    }
    const { isError, content, _meta } = answer;
    if (isError === true) {
      const error = _meta?.["kumiko/error"] as KumikoError;
      throw new KumikoError(error.code, error.message, error.facts);
    }
    const [first] = content as readonly { readonly text: string }[];
    return { content: first?.text, ...(_meta?.["kumiko/answer"] as object) };
  }

  async #connect(): Promise<Client> {
    const client = new Client({ name: "agent", version: "1" });
    const args = [command, "mcp", "--tools", "all"];
    const { folder, environment } = this.#home;
    const given = { command: process.execPath, args, cwd: folder.path, stderr: "ignore" as const };
    const env = environment as { [name: string]: string };
    await client.connect(new StdioClientTransport({ ...given, env }));
    return client;
  }
}

/** A person at a command line: a process per call. */
export class CommandEditor implements Editor {
  readonly name = "command";
  readonly #home: Home;

  constructor(home: Home) {
    this.#home = home;
  }

  async add(block: string, line: string): Promise<void> {
    // As it was made: whatever others wrote since stands around it.
    const operations = JSON.stringify([{ op: "insert", line: 1, content: line }]);
    await untilWritten(
      () => Promise.resolve({ operations }),
      ({ call_id }) =>
        this.#run(
          ...`edit ${block} --base-version 1 --call-id ${call_id} --operations`.split(" "),
          operations,
        ),
    );
  }

  async read(block: string): Promise<string> {
    const { content } = await untilRead(() => this.#run("read", block, "--no-line-numbers"));
    return String(content);
  }

  async #run(...args: string[]): Promise<{ [name: string]: unknown }> {
    const { stdout, stderr } = await this.#home.program(["block", ...args, "--json"]);
    const answer = JSON.parse(stdout || "{}") as { ok?: boolean; error?: KumikoError };
    if (answer.error !== undefined)
      throw new KumikoError(answer.error.code, answer.error.message, answer.error.facts);
    if (answer.ok !== true) throw new Error(`it printed ${stdout}${stderr}`);
    return answer;
  }
}
