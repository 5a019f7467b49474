import { fileTools } from "../../src/files/index.ts";
import { createMcpDoor } from "../../src/doors/mcp/door.ts";
import { HttpFront } from "../../src/doors/http/index.ts";
import { Hall } from "../../src/doors/index.ts";
import { blockStreams, blockTools, type Tool, ToolRegistry } from "../../src/tools/index.ts";
import { openHall } from "./hall.ts";

interface McpOptions extends NonNullable<Parameters<typeof createMcpDoor>[1]> {
  /** Beside ours. */
  readonly tools?: readonly Tool[];
}

type Result = { readonly [name: string]: unknown };

export interface RpcAnswer {
  readonly result?: Result;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/** What a result says to programs. */
export function dataIn(result: unknown): unknown {
  return (result as { _meta?: Result } | undefined)?.["_meta"]?.["kumiko/answer"];
}

/** A client that knows nothing but the wire. */
export interface RawClient {
  call(method: string, params: Result, headers?: Record<string, string>): Promise<RpcAnswer>;
  post(body: unknown, headers?: Record<string, string>): Promise<Response>;
}

const BOTH = "application/json, text/event-stream";

/** The MCP door behind the real front, over a temporary home. */
export async function openMcp({ tools = [], ...options }: McpOptions = {}) {
  await using opening = new AsyncDisposableStack();
  const workshop = opening.use(await openHall());
  const { world, tokens, log, metrics, clock, version, closing } = workshop.hall;
  const registry = new ToolRegistry([...blockTools, ...fileTools, ...blockStreams, ...tools]);
  const hall = new Hall({ world, registry, tokens, log, metrics, clock, version, closing });
  const front = opening.use(await HttpFront.listen(hall, { host: "127.0.0.1", port: 0 }));
  const door = createMcpDoor(hall, options);
  front.add({ path: "/mcp", open: () => Promise.resolve(door) });
  const url = `http://127.0.0.1:${front.port}/mcp`;
  const owned = opening.move();
  const post = (token: string, body: unknown, headers: Record<string, string> = {}) =>
    fetch(url, {
      method: "POST",
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        accept: BOTH,
        ...headers,
      },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
  return {
    ...workshop,
    hall,
    url,
    post,
    /** A session of 2025-11-25. */
    async raw2025(
      token = workshop.owner.token,
      own: Record<string, string> = {},
    ): Promise<RawClient & { session: string }> {
      const opened = await post(
        token,
        {
          jsonrpc: "2.0",
          id: 0,
          method: "initialize",
          params: {
            protocolVersion: "2025-11-25",
            capabilities: {},
            clientInfo: { name: "raw", version: "1" },
          },
        },
        own,
      );
      await answerOf(opened);
      const session = opened.headers.get("mcp-session-id") ?? "";
      const headers = { ...own, "mcp-session-id": session, "mcp-protocol-version": "2025-11-25" };
      await post(token, { jsonrpc: "2.0", method: "notifications/initialized" }, headers);
      let last = 0;
      return {
        session,
        post: (body, more) => post(token, body, { ...headers, ...more }),
        call: async (method, params, more) =>
          answerOf(
            await post(
              token,
              { jsonrpc: "2.0", id: ++last, method, params },
              { ...headers, ...more },
            ),
          ),
      };
    },
    /** Requests of 2026-07-28. */
    raw2026(token = workshop.owner.token, own: Record<string, string> = {}): RawClient {
      let last = 0;
      return {
        post: (body, more) => post(token, body, { ...own, ...more }),
        call: async (method, params, more) => {
          const body = modern(++last, method, params);
          return answerOf(
            await post(token, body, { ...modernHeaders(method, params), ...own, ...more }),
          );
        },
      };
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

export function modern(id: number, method: string, params: Result): Result {
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
    ...(params["_meta"] as Result | undefined),
  };
  return { jsonrpc: "2.0", id, method, params: { ...params, _meta: meta } };
}

export function modernHeaders(method: string, { name, uri }: Result): Record<string, string> {
  const named = name ?? uri;
  return {
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": method,
    ...(typeof named === "string" && { "mcp-name": named }),
  };
}

/** A stream of events that somebody reads message by message. */
export class EventStream implements AsyncDisposable {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #decoder = new TextDecoder();
  readonly #messages: Message[] = [];
  #text = "";

  constructor(response: Response) {
    if (response.body === null || !response.ok) throw new Error(`no stream: ${response.status}`);
    this.#reader = response.body.getReader();
  }

  /** The next message; undefined when the stream has ended. */
  async next(): Promise<Message | undefined> {
    while (this.#messages.length === 0) {
      const { done, value } = await this.#reader.read();
      if (done) return undefined;
      const lines = (this.#text + this.#decoder.decode(value, { stream: true })).split("\n");
      this.#text = lines.pop()!;
      for (const line of lines)
        if (line.startsWith("data: ") && line.length > 6)
          this.#messages.push(JSON.parse(line.slice(6)) as Message);
    }
    return this.#messages.shift();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // A stream that broke off is as good as ended.
    await this.#reader.cancel().catch(() => undefined);
  }
}

export interface Message extends RpcAnswer {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: Result;
}

/** The answer, as JSON or as the last message of a stream. */
export async function answerOf(response: Response): Promise<RpcAnswer> {
  const text = await response.text();
  if (!(response.headers.get("content-type") ?? "").includes("text/event-stream"))
    return JSON.parse(text) as RpcAnswer;
  const messages = text
    .split("\n")
    .filter((line) => line.startsWith("data: ") && line.length > 6)
    .map((line) => JSON.parse(line.slice(6)) as RpcAnswer);
  return messages.at(-1)!;
}
