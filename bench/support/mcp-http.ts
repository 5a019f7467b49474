/** A raw keep-alive client against `kumiko serve` in a process of its own: what the wire and the server cost. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { temporaryFolder } from "../../test/support/temporary-folder.ts";
import { median } from "../harness.ts";

export type Revision = "2025-11-25" | "2026-07-28";

type Params = { readonly [name: string]: unknown };

/** Calls a second, so many in flight at once. */
export async function httpCalls(
  revision: Revision,
  count: number,
  inFlight: number,
): Promise<number> {
  using folder = temporaryFolder();
  const home = join(folder.path, "home");
  await using server = await startServer(home, folder.path);
  const token = readFileSync(join(home, "owner.token"), "utf8").trim();
  const base = { authorization: `Bearer ${token}`, accept: "application/json, text/event-stream" };
  const opener = new RawConnection(server.port);
  const headers: Record<string, string> =
    revision === "2025-11-25" ? { ...base, ...(await session(opener, base)) } : base;
  const call = callIn(revision, headers);
  const created = await call(opener, "block_create", {
    role: "user",
    kind: "text",
    content: "one",
  });
  const { result } = JSON.parse(created) as { result: { _meta: { "kumiko/answer": Params } } };
  const { block_id } = result["_meta"]["kumiko/answer"];
  const connections = Array.from({ length: inFlight }, () => new RawConnection(server.port));
  const run = async (calls: number): Promise<number> => {
    let left = calls;
    const begun = performance.now();
    await Promise.all(
      connections.map(async (connection) => {
        while (left-- > 0) {
          const answer = await call(connection, "block_read", { block_id });
          if (!answer.includes("version 1, 1 lines")) throw new Error(`not an answer: ${answer}`);
        }
      }),
    );
    return (calls * 1000) / (performance.now() - begun);
  };
  const measured: number[] = [];
  // The first counts for nobody: engines compile what they run often.
  for (const calls of [Math.ceil(count / 3), count, count, count]) {
    // A token may make 5,000 calls a second, and on a quick machine two runs would be more.
    await setTimeout(1_000);
    measured.push(await run(calls));
  }
  for (const connection of [opener, ...connections]) connection.end();
  return median(measured.slice(1));
}

function callIn(revision: Revision, headers: Record<string, string>) {
  let last = 0;
  return (connection: RawConnection, name: string, input: Params): Promise<string> => {
    const meta =
      revision === "2025-11-25"
        ? {}
        : {
            _meta: {
              "io.modelcontextprotocol/protocolVersion": revision,
              "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1" },
              "io.modelcontextprotocol/clientCapabilities": {},
            },
          };
    const body = {
      jsonrpc: "2.0",
      id: ++last,
      method: "tools/call",
      params: { name, arguments: input, ...meta },
    };
    const own =
      revision === "2025-11-25"
        ? { "mcp-protocol-version": revision }
        : { "mcp-protocol-version": revision, "mcp-method": "tools/call", "mcp-name": name };
    return connection.post({ ...headers, ...own }, JSON.stringify(body)).then(({ text }) => text);
  };
}

async function session(
  connection: RawConnection,
  headers: Record<string, string>,
): Promise<Record<string, string>> {
  const body = {
    jsonrpc: "2.0",
    id: 0,
    method: "initialize",
    params: {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "bench", version: "1" },
    },
  };
  const { head } = await connection.post(headers, JSON.stringify(body));
  const id = /^mcp-session-id: (\S+)/im.exec(head)?.[1];
  if (id === undefined) throw new Error(`no session was begun: ${head}`);
  return { "mcp-session-id": id };
}

interface ServerProcess extends AsyncDisposable {
  readonly port: number;
}

async function startServer(home: string, folder: string): Promise<ServerProcess> {
  const bin = join(import.meta.dirname, "..", "..", "bin", "kumiko");
  const args = [bin, "serve", "--home", home, "--port", "0", "--log", "warn", "--json"];
  const child: ChildProcess = spawn(process.execPath, args, {
    cwd: folder,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(child.stdout!, "data")) as [Buffer];
  const port = Number(/127\.0\.0\.1:(\d+)/.exec(line.toString("utf8"))?.[1]);
  return {
    port,
    async [Symbol.asyncDispose]() {
      const ended = once(child, "exit");
      child.kill("SIGTERM");
      await ended;
    },
  };
}

/** HTTP/1.1 by hand, one request at a time: a client library would be measured as well. */
class RawConnection {
  readonly #socket: Socket;
  readonly #host: string;
  #text = "";
  #answered: ((answer: { head: string; text: string }) => void) | undefined;

  constructor(port: number) {
    this.#host = `127.0.0.1:${port}`;
    this.#socket = connect(port, "127.0.0.1");
    this.#socket.setNoDelay(true);
    this.#socket.setEncoding("latin1");
    this.#socket.on("data", (chunk: string) => {
      this.#text += chunk;
      this.#take();
    });
  }

  post(
    headers: Readonly<Record<string, string>>,
    body: string,
  ): Promise<{ head: string; text: string }> {
    const { promise, resolve, reject } = Promise.withResolvers<{ head: string; text: string }>();
    this.#answered = resolve;
    this.#socket.once("error", reject);
    const all = {
      host: this.#host,
      "content-type": "application/json",
      "content-length": String(Buffer.byteLength(body)),
      ...headers,
    };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
    this.#socket.write(`POST /mcp HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n${body}`);
    return promise.finally(() => this.#socket.off("error", reject));
  }

  end(): void {
    this.#socket.destroy();
  }

  #take(): void {
    const end = this.#text.indexOf("\r\n\r\n");
    if (end < 0) return;
    const head = this.#text.slice(0, end);
    const length = /^content-length: (\d+)/im.exec(head)?.[1];
    const rest = this.#text.slice(end + 4);
    // Without a length it comes in pieces, and the last is empty; one piece is all that is ever looked into.
    if (length === undefined ? !rest.endsWith("0\r\n\r\n") : rest.length < Number(length)) return;
    this.#text = "";
    const answered = this.#answered;
    this.#answered = undefined;
    answered?.({ head, text: length === undefined ? rest.split("\r\n")[1]! : rest });
  }
}
