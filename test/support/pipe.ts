import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { LineReader } from "../../src/base/index.ts";
import { command } from "./kumiko.ts";
import type { Message } from "./mcp.ts";

/** What a client of 2025-11-25 says of itself. */
export const CLIENT = {
  protocolVersion: "2025-11-25",
  capabilities: {},
  clientInfo: { name: "Pipe", version: "1" },
};

/** A process at the other end of two pipes. Whatever it prints must be messages. */
export class Pipe implements AsyncDisposable {
  readonly process: ChildProcessWithoutNullStreams;
  readonly #answers = new Map<unknown, (message: Message) => void>();
  readonly #updates: string[] = [];
  #updated: (() => void) | undefined;
  #last = 0;
  #complaints = "";

  constructor(home: string, folder: string, ...more: string[]) {
    const args = [command, "mcp", "--home", home, ...more];
    this.process = spawn(process.execPath, args, { cwd: folder, stdio: "pipe" });
    this.process.stderr
      .setEncoding("utf8")
      .on("data", (text: string) => (this.#complaints += text));
    const lines = new LineReader(10_000_000);
    this.process.stdout.on("data", (chunk: Buffer) => {
      for (const line of lines.read(chunk)) this.#hear(JSON.parse(line) as Message);
    });
  }

  /** What it has said beside the protocol by now. */
  complaints(): string {
    return this.#complaints;
  }

  async begin(): Promise<Message> {
    const answer = await this.ask("initialize", CLIENT);
    this.tell("notifications/initialized");
    return answer;
  }

  tell(method: string, params: object = {}): void {
    this.process.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", method, params })}\n`);
  }

  ask(method: string, params: object): Promise<Message> {
    const id = ++this.#last;
    const { promise, resolve } = Promise.withResolvers<Message>();
    this.#answers.set(id, resolve);
    this.process.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    return promise;
  }

  call(name: string, input: object): Promise<Message> {
    return this.ask("tools/call", { name, arguments: input });
  }

  /** Resolves with the next resource that changed. */
  async update(): Promise<string> {
    while (this.#updates.length === 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#updated = resolve;
      await promise;
    }
    return this.#updates.shift()!;
  }

  /** As a client leaves: it closes its end. */
  async leave(): Promise<number | null> {
    const ended = once(this.process, "exit") as Promise<[number | null]>;
    this.process.stdin.end();
    return (await ended)[0];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.process.exitCode === null && this.process.signalCode === null) await this.leave();
  }

  #hear(message: Message): void {
    if (message.method === "notifications/resources/updated") {
      this.#updates.push(String(message.params?.["uri"]));
      this.#updated?.();
    }
    this.#answers.get(message.id)?.(message);
    this.#answers.delete(message.id);
  }
}
