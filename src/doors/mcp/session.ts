import type { IncomingMessage, ServerResponse } from "node:http";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import type { Timers } from "../../base/index.ts";
import { acceptsBoth, fastCall, resultOf, send } from "./fast-call.ts";
import { answerBy } from "./node-answer.ts";
import { ResourceWatch } from "./resource-watch.ts";
import { type Connection, createServer } from "./server.ts";
import { SessionEvents } from "./session-events.ts";
import { type Sight, sightOfHeaders } from "./sight.ts";
import { roomIn } from "./stream-room.ts";

/** What the transport calls the stream that no request opened. */
const OWN_STREAM = "_GET_stream";
/** Milliseconds that a client whose stream broke off waits before it comes back. */
const RETRY = 1_000;

interface SessionPorts {
  readonly id: string;
  readonly token: string;
  readonly connection: Connection;
  /** As `initialize` said it; a session is one reader unless it names another. */
  readonly sight: Sight;
  closed(): void;
  failed(error: unknown): void;
}

/** One client of 2025-11-25: a server of its own, what it listens to, and the calls it may still cancel. */
export class Session implements Disposable {
  readonly id: string;
  readonly token: string;
  readonly #connection: Connection;
  readonly #sight: Sight;
  readonly #transport: WebStandardStreamableHTTPServerTransport;
  readonly #watch: ResourceWatch;
  readonly #ports: SessionPorts;
  readonly #calls = new Map<string | number, AbortController>();
  #logs = false;
  #closed = false;
  #busy = 0;
  #expiry: { cancel(): void } | undefined;
  /** The stream on which the client hears what it did not ask for just now, and who waits for one. */
  #stream: ServerResponse | undefined;
  #streamOpened = Promise.withResolvers<void>();

  private constructor(ports: SessionPorts) {
    this.id = ports.id;
    this.token = ports.token;
    this.#ports = ports;
    this.#connection = ports.connection;
    this.#sight = { reader: ports.id, ...ports.sight };
    this.#transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => ports.id,
      eventStore: new SessionEvents(),
      retryInterval: RETRY,
    });
    this.#watch = new ResourceWatch(ports.connection.host, {
      updated: (uri) => this.#tell(uri),
      failed: (error) => {
        ports.failed(error);
        this[Symbol.dispose]();
      },
    });
  }

  static async open(ports: SessionPorts): Promise<Session> {
    const session = new Session(ports);
    const server = createServer({
      ...ports.connection,
      watch: session.#watch,
      wantsLogs: () => session.#logs,
      sight: ({ http }) => ({
        ...session.#sight,
        ...sightOfHeaders((name) => http?.req?.headers.get(name) ?? undefined),
      }),
    });
    // The package knows no other way to be told.
    Object.assign(server, {
      onerror: (error: Error) => ports.failed(error),
      onclose: () => session[Symbol.dispose](),
    });
    await server.connect(session.#transport);
    return session;
  }

  async serve(
    request: IncomingMessage,
    response: ServerResponse,
    body: unknown,
    sight: Sight,
  ): Promise<void> {
    this.#busy += 1;
    try {
      this.#hear(body);
      const plain = !this.#logs && acceptsBoth(request);
      const call = plain ? fastCall(body, this.#connection) : undefined;
      if (call !== undefined) {
        const stopping = new AbortController();
        this.#calls.set(call.id, stopping);
        try {
          const known = { ...this.#sight, ...sight };
          const result = await resultOf(call, this.#connection, known, stopping.signal);
          send(response, call.id, result, { "mcp-session-id": this.id });
        } finally {
          this.#calls.delete(call.id);
        }
        return;
      }
      const own = isOwnStream(request);
      await answerBy(
        async (webRequest, options) => {
          const answer = await this.#transport.handleRequest(webRequest, options);
          if (answer.ok && own) this.#opens(response);
          return answer;
        },
        request,
        response,
        body,
      );
    } finally {
      this.#busy -= 1;
    }
  }

  /** Calls under way are still answered. */
  endStream(): void {
    this.#transport.closeStandaloneSSEStream();
  }

  /** Unless it is used again, or somebody still hears it. */
  expireAfter(timers: Timers, milliseconds: number): void {
    this.#expiry?.cancel();
    this.#expiry = timers.after(milliseconds, () => {
      if (this.#busy > 0 || this.#stream !== undefined) this.expireAfter(timers, milliseconds);
      else this[Symbol.dispose]();
    });
  }

  [Symbol.dispose](): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#expiry?.cancel();
    this.#watch[Symbol.dispose]();
    this.#streamOpened.resolve();
    for (const stopping of this.#calls.values()) stopping.abort();
    void this.#transport.close().catch((error: unknown) => this.#ports.failed(error));
    this.#ports.closed();
  }

  /** What the protocol's server is told as well, and matters here. */
  #hear(body: unknown): void {
    const { method, params } = (body ?? {}) as {
      method?: unknown;
      params?: { requestId?: unknown };
    };
    if (method === "logging/setLevel") this.#logs = true;
    if (method === "notifications/cancelled")
      this.#calls.get(params?.requestId as string | number)?.abort();
  }

  #opens(response: ServerResponse): void {
    this.#stream = response;
    this.#streamOpened.resolve();
    response.once("close", () => {
      if (this.#stream !== response) return;
      this.#stream = undefined;
      this.#streamOpened = Promise.withResolvers<void>();
    });
  }

  /** Waits for a client that does not listen or does not read: what happens meanwhile is in the feed. */
  async #tell(uri: string): Promise<void> {
    while (this.#stream === undefined && !this.#closed) await this.#streamOpened.promise;
    if (this.#closed || this.#stream === undefined) return;
    await roomIn(this.#stream);
    await this.#transport.send({
      jsonrpc: "2.0",
      method: "notifications/resources/updated",
      params: { uri },
    });
  }
}

/** Not one that goes on with the answer to an earlier request. */
function isOwnStream({ method, headers }: IncomingMessage): boolean {
  const last = headers["last-event-id"];
  return method === "GET" && (last === undefined || String(last).endsWith(OWN_STREAM));
}
