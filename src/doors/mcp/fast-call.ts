import type { IncomingMessage, ServerResponse } from "node:http";
import { LOG_LEVEL_META_KEY, SERVER_INFO_META_KEY } from "@modelcontextprotocol/server";
import { callTool, type ToolResult } from "./call-tool.ts";
import type { Host } from "./host.ts";
import { JsonWriter } from "./json-bytes.ts";
import type { Connection } from "./server.ts";
import { serverInfo } from "./server-info.ts";
import type { Sight } from "./sight.ts";
import type { Answer } from "./plain-words.ts";

export const MODERN = "2026-07-28";

/** One for all: many are sent the same. */
const writer = new JsonWriter();

/** A call of a tool that needs nothing of the protocol but its answer. */
export interface FastCall {
  readonly id: string | number;
  readonly name: string;
  readonly arguments: Answer;
  readonly meta: Answer | undefined;
}

/**
 * Most messages are plain calls of tools, and the protocol's own machinery costs several times what they do. Undefined
 * for everything that is not entirely plain: the longer way answers it, refusals included.
 */
export function fastCall(
  message: unknown,
  { host, profile }: Pick<Connection, "host" | "profile">,
): FastCall | undefined {
  if (!isRecord(message) || message["jsonrpc"] !== "2.0" || message["method"] !== "tools/call")
    return undefined;
  const { id, params } = message;
  if ((typeof id !== "string" && typeof id !== "number") || !isRecord(params)) return undefined;
  const { name, arguments: input = {}, _meta: meta, ...rest } = params;
  if (typeof name !== "string" || !isRecord(input) || Object.keys(rest).length > 0)
    return undefined;
  if (meta !== undefined && (!isRecord(meta) || asksForMore(meta))) return undefined;
  // A tool that is not offered is for the longer way to refuse, or somebody else's.
  if (host.registry.find(name, profile)?.name !== name) return undefined;
  return { id, name, arguments: input, meta };
}

/** Whoever does not take both is told so by the longer way. */
export function acceptsBoth({ headers: { accept = "" } }: IncomingMessage): boolean {
  return accept.includes("application/json") && accept.includes("text/event-stream");
}

/** What 2026-07-28 adds to every result. */
export function stamped(host: Host, result: ToolResult): ToolResult {
  const meta = { ...result["_meta"], [SERVER_INFO_META_KEY]: serverInfo(host) };
  return { ...result, resultType: "complete", _meta: meta };
}

/** The answer to a request that stands alone: a caller that hangs up has given up. */
export async function answerStanding(
  response: ServerResponse,
  call: FastCall,
  connection: Connection,
  sight: Sight,
): Promise<void> {
  const stopping = new AbortController();
  response.once("close", () => {
    if (!response.writableFinished) stopping.abort();
  });
  const result = await resultOf(call, connection, sight, stopping.signal);
  send(response, call.id, stamped(connection.host, result));
}

export function resultOf(
  { name, arguments: input, meta }: FastCall,
  { host, profile }: Pick<Connection, "host" | "profile">,
  sight: Sight,
  signal: AbortSignal,
): Promise<ToolResult> {
  return callTool(host, profile, {
    name,
    arguments: input,
    sight,
    meta,
    signal,
  });
}

export function send(
  response: ServerResponse,
  id: string | number,
  result: ToolResult,
  headers: { readonly [name: string]: string } = {},
): void {
  if (response.destroyed) return;
  const body = writer.bytes({ jsonrpc: "2.0", id, result });
  response.writeHead(200, {
    "content-type": "application/json",
    "content-length": body.length,
    ...headers,
  });
  response.end(body);
}

function asksForMore(meta: Answer): boolean {
  return meta["progressToken"] !== undefined || meta[LOG_LEVEL_META_KEY] !== undefined;
}

function isRecord(value: unknown): value is Answer {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
