import type { IncomingMessage, ServerResponse } from "node:http";
import {
  classifyInboundRequest,
  createMcpHandler,
  LOG_LEVEL_META_KEY,
  type Server,
} from "@modelcontextprotocol/server";
import { KumikoError, realTimers, type Timers } from "../../base/index.ts";
import type { Hall } from "../hall.ts";
import { readJson } from "../http/body.ts";
import type { RequestDoor, Visitor } from "../http/door.ts";
import { acceptsBoth, answerStanding, fastCall, MODERN } from "./fast-call.ts";
import { hallHost } from "./host.ts";
import { ListenBus } from "./listen-bus.ts";
import { answerBy } from "./node-answer.ts";
import { toolProfile } from "./profile.ts";
import { refuse } from "./rpc-answer.ts";
import { type Connection, createServer } from "./server.ts";
import { Sessions } from "./sessions.ts";
import { type Sight, sightOfHeaders } from "./sight.ts";

export interface McpDoorOptions {
  readonly timers?: Timers | undefined;
  /** Sessions of all tokens together. */
  readonly sessions?: number | undefined;
  /** Adds to what each server offers. */
  readonly equip?: ((server: Server) => void) | undefined;
}

/** MCP over streamable HTTP, both revisions. */
export function createMcpDoor(hall: Hall, options: McpDoorOptions = {}): RequestDoor {
  return new McpDoor(hall, options);
}

/** Streams that one token may listen to at once. */
const LISTENS_PER_TOKEN = 64;
/** Milliseconds that answers have to leave in once every call has one, and the server stops. */
const LEAVING = 1_000;

/**
 * MCP over HTTP. Requests of 2026-07-28 stand alone: each has a server of its own. Those of 2025-11-25 belong to
 * sessions. A plain call of a tool takes a shorter way in both, with the same answer.
 */
class McpDoor implements RequestDoor {
  readonly path = "/mcp";
  readonly #hall: Hall;
  readonly #timers: Timers;
  readonly #equip: ((server: Server) => void) | undefined;
  readonly #sessions: Sessions;
  readonly #listens = new Map<string, number>();
  /** What is listened to, which ends when the server begins to stop, and what is answered, which ends later. */
  readonly #listening = new Set<() => void>();
  readonly #open = new Set<() => void>();
  #underWay = 0;
  #left: (() => void) | undefined;

  constructor(hall: Hall, { timers = realTimers, equip, sessions }: McpDoorOptions) {
    this.#hall = hall;
    this.#timers = timers;
    this.#equip = equip;
    this.#sessions = new Sessions(hall, timers, sessions);
    hall.closing.addEventListener("abort", () => void this.#drain(), { once: true });
  }

  async serve(request: IncomingMessage, response: ServerResponse, visitor: Visitor): Promise<void> {
    this.#underWay += 1;
    try {
      await this.#serve(request, response, visitor);
    } catch (error) {
      if (!(error instanceof KumikoError) || response.headersSent) throw error;
      refuse(response, error);
    } finally {
      this.#underWay -= 1;
      if (this.#underWay === 0) this.#left?.();
    }
  }

  /** Ends what is only listened to at once, and everything else when what is under way has its answer. */
  async #drain(): Promise<void> {
    for (const end of this.#listening) end();
    this.#sessions.endStreams();
    await this.#hall.idle();
    const { promise, resolve } = Promise.withResolvers<void>();
    // A call that its client gave up has no answer, and its response no end.
    const leaving = this.#timers.after(LEAVING, resolve);
    this.#left = resolve;
    if (this.#underWay > 0) await promise;
    leaving.cancel();
    for (const end of this.#open) end();
    this.#sessions[Symbol.dispose]();
  }

  async #serve(
    request: IncomingMessage,
    response: ServerResponse,
    visitor: Visitor,
  ): Promise<void> {
    const body = request.method === "POST" ? await readJson(request) : undefined;
    const sight = sightOfRequest(request, visitor);
    const route = classifyInboundRequest({
      httpMethod: request.method ?? "",
      ...standardHeaders(request),
      ...(body !== undefined && { body }),
    });
    if (route.kind === "legacy") {
      const connect = (called: (actor: string) => void): Connection =>
        this.#connection(request, visitor, sight, called);
      await this.#sessions.serve(request, response, body, { visitor, connect, sight });
      return;
    }
    const connection = this.#connection(request, visitor, sight);
    const plain = route.kind === "modern" && acceptsBoth(request);
    const call = plain ? fastCall(body, connection) : undefined;
    if (call !== undefined && isPlain(request, call.name)) {
      await answerStanding(response, call, connection, sight);
      return;
    }
    if (
      route.kind === "modern" &&
      "method" in route.message &&
      route.message.method === "subscriptions/listen"
    )
      await this.#listen(request, response, body, visitor, connection);
    else await this.#once(request, response, body, connection);
  }

  /** A request that stands alone. */
  async #once(
    request: IncomingMessage,
    response: ServerResponse,
    body: unknown,
    connection: Connection,
    bus?: ListenBus,
  ): Promise<void> {
    const handler = createMcpHandler(() => createServer(connection), {
      legacy: "reject",
      ...(bus !== undefined && { bus }),
    });
    const end = (): void => void handler.close();
    const ending = bus === undefined ? this.#open : this.#listening;
    ending.add(end);
    try {
      await answerBy(handler.fetch, request, response, body);
    } finally {
      ending.delete(end);
    }
  }

  async #listen(
    request: IncomingMessage,
    response: ServerResponse,
    body: unknown,
    { principal }: Visitor,
    connection: Connection,
  ): Promise<void> {
    const open = this.#listens.get(principal.token) ?? 0;
    if (open >= LISTENS_PER_TOKEN) {
      throw new KumikoError(
        "too_many",
        `The token ${principal.token} already listens to ${open} streams.`,
        { token: principal.token, limit: LISTENS_PER_TOKEN },
      );
    }
    using bus = new ListenBus(connection.host, response);
    await bus.prepare(body);
    const end = (): void => void response.destroy();
    principal.signal.addEventListener("abort", end, { once: true });
    this.#listens.set(principal.token, open + 1);
    try {
      await this.#once(request, response, body, connection, bus);
    } finally {
      principal.signal.removeEventListener("abort", end);
      const left = (this.#listens.get(principal.token) ?? 1) - 1;
      if (left > 0) this.#listens.set(principal.token, left);
      else this.#listens.delete(principal.token);
    }
  }

  #connection(
    request: IncomingMessage,
    { principal }: Visitor,
    sight: Sight,
    called?: (actor: string) => void,
  ): Connection {
    return {
      host: hallHost(this.#hall, principal, called),
      profile: toolProfile(this.#hall.registry, headerOf(request, "kumiko-tools")),
      timers: this.#timers,
      sight: () => sight,
      watch: undefined,
      wantsLogs: ({ mcpReq }) => Object.hasOwn(mcpReq.envelope ?? {}, LOG_LEVEL_META_KEY),
      equip: this.#equip,
    };
  }
}

/** With the headers that 2026-07-28 wants, each as the body says: everything else is explained by the longer way. */
function isPlain(request: IncomingMessage, tool: string): boolean {
  return (
    headerOf(request, "mcp-protocol-version") === MODERN &&
    headerOf(request, "mcp-method") === "tools/call" &&
    headerOf(request, "mcp-name") === tool
  );
}

function sightOfRequest(request: IncomingMessage, { trace }: Visitor): Sight {
  const sight = sightOfHeaders((name) => headerOf(request, name));
  return trace === undefined ? sight : { ...sight, trace };
}

function standardHeaders(request: IncomingMessage): {
  protocolVersionHeader?: string;
  mcpMethodHeader?: string;
  mcpNameHeader?: string;
} {
  const version = headerOf(request, "mcp-protocol-version");
  const method = headerOf(request, "mcp-method");
  const name = headerOf(request, "mcp-name");
  return {
    ...(version !== undefined && { protocolVersionHeader: version }),
    ...(method !== undefined && { mcpMethodHeader: method }),
    ...(name !== undefined && { mcpNameHeader: name }),
  };
}

function headerOf({ headers }: IncomingMessage, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
}
