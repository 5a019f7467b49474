import { join } from "node:path";
import {
  Client as NewClient,
  StreamableHTTPClientTransport as NewHttp,
} from "@modelcontextprotocol/client";
import { StdioClientTransport as NewStdio } from "@modelcontextprotocol/client/stdio";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as OldStdio } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as OldHttp } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it } from "vitest";
import { type RunningServer, startServer } from "../src/app/server.ts";
import { dataIn } from "./support/mcp.ts";
import { root } from "./support/process.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

/** What every client of MCP can do, whoever wrote it. */
interface AnyClient extends AsyncDisposable {
  readonly revision: string | undefined;
  tools(): Promise<string[]>;
  call(name: string, input: Record<string, unknown>): Promise<Called>;
  read(uri: string): Promise<string>;
  /** Resolves with the next resource that is said to have changed. */
  listen(uri: string): Promise<() => Promise<string>>;
}

interface Called {
  readonly isError?: boolean | undefined;
  readonly content?: unknown;
  readonly _meta?: unknown;
}

interface Place {
  /** The command to start, or the address to go to. */
  readonly args?: readonly string[];
  readonly server?: RunningServer;
  readonly folder: string;
}

const INFO = { name: "Test Client", version: "1" };

function headersFor({ server }: Place): { headers: Record<string, string> } {
  const kernel = server!.kernel!;
  return { headers: { authorization: `Bearer ${server!.ownerToken}`, "kumiko-kernel": kernel } };
}

function command({ args, folder }: Place) {
  return { command: process.execPath, args: [...args!], cwd: folder, stderr: "ignore" as const };
}

/** Whoever waits for the next gets it, now or when it comes. */
function mailbox() {
  const arrived: string[] = [];
  let waiting: ((uri: string) => void) | undefined;
  return {
    put(uri: string): void {
      if (waiting === undefined) arrived.push(uri);
      else waiting(uri);
      waiting = undefined;
    },
    next(): Promise<string> {
      const first = arrived.shift();
      if (first !== undefined) return Promise.resolve(first);
      const { promise, resolve } = Promise.withResolvers<string>();
      waiting = resolve;
      return promise;
    },
  };
}

async function oldClient(place: Place): Promise<AnyClient> {
  const client = new OldClient(INFO);
  const updates = mailbox();
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) =>
    updates.put(params.uri),
  );
  const transport =
    place.server === undefined
      ? new OldStdio(command(place))
      : new OldHttp(new URL("/mcp", place.server.url), { requestInit: headersFor(place) });
  await client.connect(transport);
  return {
    revision: "2025-11-25",
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: (name, input) => client.callTool({ name, arguments: input }),
    read: async (uri) => textOf((await client.readResource({ uri })).contents),
    listen: async (uri) => {
      await client.subscribeResource({ uri });
      return () => updates.next();
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}

function newClient(mode: "legacy" | { pin: string }) {
  return async (place: Place): Promise<AnyClient> => {
    const client = new NewClient(INFO, { versionNegotiation: { mode } });
    const updates = mailbox();
    client.setNotificationHandler("notifications/resources/updated", ({ params }) =>
      updates.put(params.uri),
    );
    const transport =
      place.server === undefined
        ? new NewStdio(command(place))
        : new NewHttp(new URL("/mcp", place.server.url), { requestInit: headersFor(place) });
    await client.connect(transport);
    return {
      revision: client.getNegotiatedProtocolVersion(),
      tools: async () => (await client.listTools()).tools.map(({ name }) => name),
      call: (name, input) => client.callTool({ name, arguments: input }),
      read: async (uri) => textOf((await client.readResource({ uri })).contents),
      listen: async (uri) => {
        if (mode === "legacy") await client.subscribeResource({ uri });
        else await client.listen({ resourceSubscriptions: [uri] });
        return () => updates.next();
      },
      [Symbol.asyncDispose]: () => client.close(),
    };
  };
}

function textOf(contents: readonly object[]): string {
  return contents.map((each) => ("text" in each ? String(each.text) : "")).join("");
}

const clients = {
  "v1 client, 2025-11-25": { connect: oldClient, revision: "2025-11-25" },
  "v2 client, 2025-11-25": { connect: newClient("legacy"), revision: "2025-11-25" },
  "v2 client, 2026-07-28": { connect: newClient({ pin: "2026-07-28" }), revision: "2026-07-28" },
};

const KUMIKO = join(root, "bin", "kumiko");

/** Everything an agent does on its first day, and the answers it must get. */
async function firstDay(client: AnyClient, kernel: string, actor: string): Promise<void> {
  expect(await client.tools()).toHaveLength(12);
  const created = await client.call("block_create", {
    role: "user",
    kind: "text",
    content: "one\ntwo\n",
  });
  expect(dataIn(created)).toMatchObject({ version: 1 });
  const { block_id } = dataIn(created) as { block_id: string };
  expect(block_id).toMatch(new RegExp(`^main~${actor}~\\d+$`));
  const read = await client.call("block_read", { block_id });
  expect(JSON.stringify(read.content)).toContain("version 1, 2 lines");
  const uri = `kumiko://${kernel}/blocks/${block_id}`;
  const next = await client.listen(uri);
  const operations = [{ op: "insert", line: 2, content: "three" }];
  const edited = await client.call("block_edit", { block_id, operations });
  expect(dataIn(edited)).toMatchObject({ version: 2 });
  expect(await next()).toBe(uri);
  expect(await client.read(uri)).toBe("one\ntwo\nthree\n");
  const refused = await client.call("block_read", { block_id: "main~nobody~1" });
  expect(refused).toMatchObject({
    isError: true,
    _meta: { "kumiko/error": { code: "unknown_block" } },
  });
  await expect(client.call("block_raed", {})).rejects.toThrow(/Did you mean block_read/);
}

for (const [name, { connect, revision }] of Object.entries(clients)) {
  describe(`the official ${name}`, { timeout: 30_000 }, () => {
    it("works over stdio with a process of its own", async () => {
      using folder = temporaryFolder();
      const args = [KUMIKO, "mcp", "--home", join(folder.path, ".home")];
      await using client = await connect({ args, folder: folder.path });
      expect(client.revision).toBe(revision);
      const listed = dataIn(await client.call("block_list", {}));
      expect(listed).toMatchObject({ blocks: [] });
      await firstDay(client, kernelOf(folder.path), "test-client");
    });

    it("works over stdio when it joins a server", async () => {
      using folder = temporaryFolder();
      const home = join(folder.path, ".home");
      await using server = await startServer({ home, folder: folder.path });
      const args = [KUMIKO, "mcp", "--home", home, "--actor", "chosen"];
      await using client = await connect({ args, folder: folder.path });
      expect(client.revision).toBe(revision);
      await firstDay(client, server.kernel!, "chosen");
      const kernel = await server.hall.world.open(server.kernel!);
      expect(kernel.feed.head).toBe(2);
    });

    it("works over HTTP", async () => {
      using folder = temporaryFolder();
      const home = join(folder.path, ".home");
      await using server = await startServer({ home, folder: folder.path, actor: "ann" });
      await using client = await connect({ server, folder: folder.path });
      expect(client.revision).toBe(revision);
      await firstDay(client, server.kernel!, "ann");
    });
  });
}

function kernelOf(folder: string): string {
  return folder
    .slice(folder.lastIndexOf("/") + 1)
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, "-");
}
