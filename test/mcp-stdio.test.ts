import { once } from "node:events";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { HomeFolder } from "../src/app/index.ts";
import { findServer } from "../src/app/running.ts";
import { startServer } from "../src/app/server.ts";
import { openWorld } from "../src/app/world.ts";
import { dataIn, type Message } from "./support/mcp.ts";
import { CLIENT, Pipe } from "./support/pipe.ts";
import { temporaryHome } from "./support/kumiko.ts";
import { root, runProgram } from "./support/process.ts";
import { serving } from "./support/serving.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const KUMIKO = join(root, "bin", "kumiko");
const INITIALIZE = {
  jsonrpc: "2.0",
  id: "init",
  method: "initialize",
  params: CLIENT,
};

function call(id: number, name: string, input: object) {
  return { jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: input } };
}

const WAITING = { timeout: 10_000 };
const CREATE = { role: "model", kind: "text", content: "one\n" };

describe("kumiko mcp", { timeout: 30_000 }, () => {
  it.each(["disk", "system", "ann"])(
    "lets no client act in the name %s, which is somebody else's",
    async (name) => {
      using folder = temporaryFolder();
      const params = { ...CLIENT, clientInfo: { name, version: "1" } };
      const lines = [{ ...INITIALIZE, params }, call(1, "block_create", CREATE)];
      const ended = await runProgram(
        process.execPath,
        [KUMIKO, "mcp", "--home", join(folder.path, ".home")],
        {
          cwd: folder.path,
          input: lines.map((line) => `${JSON.stringify(line)}\n`).join(""),
          env: { ...process.env, KUMIKO_ACTOR: "ann" },
        },
      );
      expect(ended.stdout).toContain(`main~agent-${name}~1`);
    },
  );

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
        { jsonrpc: "2.0", id: 5, method: "tools/call", params: null },
        call(6, "block_list", {}),
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
      expect(answers).toHaveLength(8);
      const byId = new Map(answers.map((answer) => [answer.id ?? null, answer]));
      expect(byId.get("init")?.result).toMatchObject({ serverInfo: { name: "kumiko" } });
      expect(byId.get(1)?.result).toMatchObject({
        _meta: { "kumiko/answer": { block_id: "main~pipe~1" } },
      });
      expect(byId.get(2)?.error?.message).toContain("Did you mean block_read?");
      expect(byId.get(3)?.result).toHaveProperty("resources");
      expect(byId.get(4)?.error?.code).toBe(-32_601);
      expect(byId.get(5)).toHaveProperty("error");
      expect(dataIn(byId.get(6)?.result)).toMatchObject({ truncated: false });
      expect(byId.get(null)?.error?.code).toBe(-32_700);
    });
  }

  for (const how of ["end of input", "SIGTERM"] as const) {
    it(`keeps what was appended when it ends by ${how}`, async () => {
      using folder = temporaryFolder();
      const home = join(folder.path, ".home");
      // A kernel that is named has to be there.
      await new HomeFolder(home, "a test").create("mine");
      await using client = new Pipe(home, folder.path, "--kernel", "mine", "--tools", "all");
      await client.begin();
      const created = await client.call("block_create", { role: "model", kind: "text" });
      const { block_id } = dataIn(created.result) as { block_id: string };
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
      // Without it, an agent may not change another's blocks.
      folder.write("kumiko.toml", '[[conversation]]\nwhose = "any"\nlevel = "read_write"\n');
      await using first = new Pipe(home, folder.path, "--actor", "first");
      await first.begin();
      await using second = new Pipe(home, folder.path, "--actor", "second");
      await second.begin();
      const created = await first.call("block_create", CREATE);
      const { block_id } = dataIn(created.result) as { block_id: string };
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
      expect(edited.result).toMatchObject({ _meta: { "kumiko/answer": { version: 2 } } });
      expect(await second.update()).toBe(uri);
      const read = await second.call("block_read", { block_id, line_numbers: false });
      expect(JSON.stringify(read.result)).toContain("one\\ntwo\\n");
      await using third = new Pipe(home, folder.path);
      await third.begin();
      const again = await third.call("block_read", { block_id });
      expect(again.result?.["isError"]).toBeUndefined();
    });

  it("goes on where a server listened that was killed, also when its client asks for nothing", async () => {
    using home = temporaryHome();
    await using server = await serving(home);
    const { url } = server.told;
    const place = home.environment["KUMIKO_HOME"]!;
    await using first = new Pipe(place, home.folder.path);
    await first.begin();
    server.child.kill("SIGKILL");
    await server.ended;
    await expect.poll(() => findServer(place), WAITING).toMatchObject({ url, in_agent: true });
    await using second = new Pipe(place, home.folder.path);
    await second.begin();
    await first.leave();
    await expect.poll(() => findServer(place), WAITING).toMatchObject({ in_agent: true });
    const listed = await second.call("block_list", {});
    expect(listed.result?.["isError"]).toBeUndefined();
  });

  it("leaves it to whoever stopped a server to start it again", async () => {
    using home = temporaryHome();
    await using server = await serving(home);
    const { url } = server.told;
    const place = home.environment["KUMIKO_HOME"]!;
    await using agent = new Pipe(place, home.folder.path);
    await agent.begin();
    const created = await agent.call("block_create", CREATE);
    const { block_id } = dataIn(created.result) as { block_id: string };
    const { result } = await agent.ask("resources/list", {});
    const [{ uri }] = result!["resources"] as [{ uri: string }];
    await agent.ask("resources/subscribe", { uri });
    server.child.kill("SIGTERM");
    await server.ended;
    const append = ["block", "append", block_id, "while nobody served", "--flush"];
    expect(await home.run(append)).toMatchObject({ code: 0 });
    await using again = await serving(home, Number(new URL(url).port));
    expect(again.told.pid).toBe(again.child.pid);
    expect(await agent.update()).toBe(uri);
  });
});
