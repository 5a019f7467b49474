import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { HomeFolder } from "../src/app/index.ts";
import { startServer } from "../src/app/server.ts";
import { openWorld } from "../src/app/world.ts";
import { LineReader } from "../src/base/index.ts";
import type { Message } from "./support/mcp.ts";
import { root, runProgram } from "./support/process.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const KUMIKO = join(root, "bin", "kumiko");
const INITIALIZE = {
  jsonrpc: "2.0",
  id: "init",
  method: "initialize",
  params: {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "Pipe", version: "1" },
  },
};

function call(id: number, name: string, input: object) {
  return { jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: input } };
}

const CREATE = { role: "model", kind: "text", content: "one\n" };

/** A process at the other end of two pipes. Whatever it prints must be messages. */
class Pipe implements AsyncDisposable {
  readonly process: ChildProcessWithoutNullStreams;
  readonly #answers = new Map<unknown, (message: Message) => void>();
  readonly #updates: string[] = [];
  #updated: (() => void) | undefined;
  #last = 0;

  constructor(home: string, folder: string, ...more: string[]) {
    const args = [KUMIKO, "mcp", "--home", home, ...more];
    this.process = spawn(process.execPath, args, { cwd: folder, stdio: "pipe" });
    const lines = new LineReader(10_000_000);
    this.process.stdout.on("data", (chunk: Buffer) => {
      for (const line of lines.read(chunk)) this.#hear(JSON.parse(line) as Message);
    });
  }

  async begin(): Promise<Message> {
    const answer = await this.ask("initialize", INITIALIZE.params);
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

describe("kumiko mcp", { timeout: 30_000 }, () => {
  for (const joins of [false, true]) {
    it(`answers everything before it ends, and prints nothing else (${joins ? "with" : "without"} a server)`, async () => {
      using folder = temporaryFolder();
      const home = join(folder.path, ".home");
      await using servers = new AsyncDisposableStack();
      if (joins) servers.use(await startServer({ home, folder: folder.path }));
      const input = [
        INITIALIZE,
        { jsonrpc: "2.0", method: "notifications/initialized" },
        call(1, "block_create", CREATE),
        call(2, "block_raed", {}),
        { jsonrpc: "2.0", id: 3, method: "resources/list" },
        { jsonrpc: "2.0", id: 4, method: "no/such/method" },
      ];
      const lines = [...input.map((each) => JSON.stringify(each)), "this is not JSON", ""];
      const ended = await runProgram(process.execPath, [KUMIKO, "mcp", "--home", home], {
        cwd: folder.path,
        input: `${lines.join("\n")}\n`,
      });
      const answers = ended.stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as Message);
      expect(ended.code).toBe(0);
      expect(answers).toHaveLength(6);
      const byId = new Map(answers.map((answer) => [answer.id ?? null, answer]));
      expect(byId.get("init")?.result).toMatchObject({ serverInfo: { name: "kumiko" } });
      expect(byId.get(1)?.result).toMatchObject({ structuredContent: { block_id: "main~pipe~1" } });
      expect(byId.get(2)?.error?.message).toContain("Did you mean block_read?");
      expect(byId.get(3)?.result).toHaveProperty("resources");
      expect(byId.get(4)?.error?.code).toBe(-32_601);
      expect(byId.get(null)?.error?.code).toBe(-32_700);
    });
  }

  for (const how of ["end of input", "SIGTERM"] as const) {
    it(`keeps what was appended when it ends by ${how}`, async () => {
      using folder = temporaryFolder();
      const home = join(folder.path, ".home");
      // A kernel that is named has to be there.
      await new HomeFolder(home, "a test").create("mine");
      await using client = new Pipe(home, folder.path, "--kernel", "mine");
      await client.begin();
      const created = await client.call("block_create", { role: "model", kind: "text" });
      const { block_id } = created.result!["structuredContent"] as { block_id: string };
      await client.call("block_append", { block_id, text: "not flushed" });
      const ended = once(client.process, "exit") as Promise<[number | null]>;
      if (how === "SIGTERM") client.process.kill("SIGTERM");
      else client.process.stdin.end();
      expect((await ended)[0]).toBe(0);
      await using world = openWorld(new HomeFolder(home, "a test"), () => undefined);
      const kernel = await world.open("mine");
      expect((await kernel.read(block_id)).text).toBe("not flushed");
    });
  }

  it("says what is wrong on the other stream, and ends", async () => {
    using folder = temporaryFolder();
    const args = [KUMIKO, "mcp", "--home", join(folder.path, ".home")];
    const run = (...more: string[]) =>
      runProgram(process.execPath, [...args, ...more], { cwd: folder.path });
    const wrongTool = await run("--tools", "block_raed");
    expect([wrongTool.code, wrongTool.stdout]).toEqual([2, ""]);
    expect(wrongTool.stderr).toContain("There is no tool block_raed");
    const wrongKernel = await run("--kernel", "nowhere");
    expect([wrongKernel.code, wrongKernel.stdout]).toEqual([2, ""]);
    expect(wrongKernel.stderr).toContain("There is no kernel nowhere");
    const wrongActor = await run("--actor", "Not A Name");
    expect([wrongActor.code, wrongActor.stdout]).toEqual([2, ""]);
  });

  const endings = {
    leaves: (first: Pipe) => first.leave(),
    "is killed": async ({ process: killed }: Pipe) => {
      const ended = once(killed, "exit");
      killed.kill("SIGKILL");
      await ended;
    },
  };
  for (const [what, end] of Object.entries(endings))
    it(`lets a second agent join the first one's process, and go on when that one ${what}`, async () => {
      using folder = temporaryFolder();
      const home = join(folder.path, ".home");
      await using first = new Pipe(home, folder.path, "--actor", "first");
      await first.begin();
      await using second = new Pipe(home, folder.path, "--actor", "second");
      await second.begin();
      const created = await first.call("block_create", CREATE);
      const { block_id } = created.result!["structuredContent"] as { block_id: string };
      const listed = await second.call("block_list", {});
      expect(JSON.stringify(listed.result)).toContain(block_id);
      const resources = await second.ask("resources/list", {});
      const uri = (resources.result!["resources"] as { uri: string; name: string }[]).find(
        ({ name }) => name === block_id,
      )!.uri;
      expect((await second.ask("resources/subscribe", { uri })).result).toEqual({});
      await second.call("block_read", { block_id });
      await end(first);
      // Now the second is the server: its session, what it listens to and its calls go on.
      const operations = [{ op: "insert", line: 1, content: "two" }];
      const edited = await second.call("block_edit", { block_id, operations, base_version: 1 });
      expect(edited.result).toMatchObject({ structuredContent: { version: 2 } });
      expect(await second.update()).toBe(uri);
      const read = await second.call("block_read", { block_id, line_numbers: false });
      expect(JSON.stringify(read.result)).toContain("one\\ntwo\\n");
      await using third = new Pipe(home, folder.path);
      await third.begin();
      const again = await third.call("block_read", { block_id });
      expect(again.result?.["isError"]).toBeUndefined();
    });
});
