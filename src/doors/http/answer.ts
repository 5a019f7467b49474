import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Log } from "../hall.ts";
import { type ErrorCode, KumikoError } from "../../base/index.ts";

/** On every answer, whatever it is. */
export const securityHeaders: { readonly [name: string]: string } = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; " +
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-embedder-policy": "require-corp",
  "permissions-policy": "camera=(), geolocation=(), microphone=()",
  "cache-control": "no-store",
};

const statuses: { readonly [code in ErrorCode]?: number } = {
  unauthorised: 401,
  forbidden: 403,
  denied: 403,
  unknown_path: 404,
  unknown_kernel: 404,
  unknown_context: 404,
  unknown_token: 404,
  timed_out: 408,
  already_exists: 409,
  in_use: 409,
  too_large: 413,
  too_many: 429,
  internal: 500,
  damaged: 500,
  file_unreadable: 500,
  file_unwritable: 500,
  closing: 503,
  closed: 503,
};

interface Refusal {
  readonly status: number;
  readonly headers: { readonly [name: string]: string };
  readonly body: string;
}

/** How an error leaves: with code and facts, or as `internal` with a reference and nothing of what it says. */
export function refusalOf(error: unknown, log: Log): Refusal {
  const told = error instanceof KumikoError ? error : internal(error, log);
  const { code, message, facts } = told;
  const retry = facts["retry_after"];
  const allow = facts["allow"];
  return {
    status: typeof allow === "string" ? 405 : (statuses[code] ?? 400),
    headers: {
      "content-type": "application/json; charset=utf-8",
      ...(code === "unauthorised" && { "www-authenticate": 'Bearer realm="kumiko"' }),
      ...(typeof allow === "string" && { allow }),
      ...(typeof retry === "number" && { "retry-after": String(retry) }),
    },
    body: JSON.stringify({ error: { code, message, facts } }),
  };
}

/** Refuses other methods than those a path has. */
export function checkMethod({ method = "" }: IncomingMessage, allowed: readonly string[]): void {
  if (allowed.includes(method)) return;
  throw new KumikoError("unknown_path", `This path takes ${allowed.join(", ")}, not ${method}.`, {
    method,
    allow: allowed.join(", "),
  });
}

export function sendJson(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { "content-type": "application/json; charset=utf-8" });
  response.end(`${JSON.stringify(body)}\n`);
}

function internal(error: unknown, log: Log): KumikoError {
  const reference = randomUUID();
  log.error({ reference, err: error }, "a fault of ours");
  return new KumikoError(
    "internal",
    `Something went wrong on the server; its log explains ${reference}.`,
    { reference },
  );
}
