import { KumikoError } from "../../base/index.ts";

const META = "io.modelcontextprotocol/";
const REFUSED = -32_000;

/** What a relay reads of what passes. */
export interface Message {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: { readonly [name: string]: unknown } | null;
}

export interface Session {
  readonly id: string;
  readonly version: string;
}

type Meta = { readonly [key: string]: unknown };

/** The name under which a client says who it is. */
export function clientOf({ params }: Message): string | undefined {
  const meta = params?.["_meta"] as Meta | undefined;
  const client = (meta?.[`${META}clientInfo`] ?? params?.["clientInfo"]) as
    | { readonly name?: unknown }
    | undefined;
  return typeof client?.name === "string" ? client.name : undefined;
}

/** What a request says of the message it carries: by its session, or, since 2026-07-28, by what is in it. */
export function headersOf(
  { method, params }: Message,
  session: Session | undefined,
): { [name: string]: string } {
  const version = (params?.["_meta"] as Meta | undefined)?.[`${META}protocolVersion`];
  const base = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
  };
  if (typeof version === "string") {
    const name = params?.["name"] ?? params?.["uri"];
    return {
      ...base,
      "mcp-protocol-version": version,
      "mcp-method": method ?? "",
      ...(typeof name === "string" && { "mcp-name": headerValue(name) }),
    };
  }
  return session === undefined ? base : { ...base, ...sessionHeaders(session) };
}

export function sessionHeaders({ id, version }: Session): { [name: string]: string } {
  return { "mcp-session-id": id, "mcp-protocol-version": version };
}

/** Other characters than these would not pass: they travel as the protocol says. */
function headerValue(text: string): string {
  return /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text)
    ? text
    : `=?base64?${Buffer.from(text, "utf8").toString("base64")}?=`;
}

/** Makes it safe to send twice, and says which calls were under way: what those answer its caller did not know. */
export function withCall(
  message: Message,
  newCall: () => string,
  underWay: Iterable<string>,
): Message {
  if (message.method !== "tools/call") return message;
  const params = message.params ?? {};
  const meta = { "kumiko/call": newCall(), "kumiko/beside": [...underWay] };
  return { ...message, params: { ...params, _meta: { ...meta, ...(params["_meta"] as Meta) } } };
}

/** Under which id a call is carried out once. */
export function callOf({ params }: Message): string | undefined {
  const call = (params?.["_meta"] as Meta | undefined)?.["kumiko/call"];
  return typeof call === "string" ? call : undefined;
}

/** What the server says of a request that did not come to be one of the protocol. */
export function asAnswer(id: string | number, { error }: { readonly error?: unknown }): unknown {
  const { message = "The server refused it." } = (error ?? {}) as { message?: string };
  return { jsonrpc: "2.0", id, error: { code: REFUSED, message, data: { kumiko: error } } };
}

export function asRefusal(id: string | number, error: unknown): unknown {
  const message = error instanceof Error ? error.message : String(error);
  const data = error instanceof KumikoError ? { kumiko: error.toJSON() } : undefined;
  return { jsonrpc: "2.0", id, error: { code: REFUSED, message, data } };
}
