import type { ServerResponse } from "node:http";
import type { KumikoError } from "../../base/index.ts";

const PARSE_ERROR = -32_700;
const REFUSED = -32_000;

/** What is refused before a message was read as one: as the protocol says it, with our code and facts. */
export function refuse(response: ServerResponse, error: KumikoError): void {
  const { status, code } = shape(error);
  const retry = error.facts["retry_after"];
  response.writeHead(status, {
    "content-type": "application/json",
    ...(typeof retry === "number" && { "retry-after": String(retry) }),
  });
  const { message } = error;
  const body = {
    jsonrpc: "2.0",
    id: null,
    error: { code, message, data: { kumiko: error.toJSON() } },
  };
  response.end(JSON.stringify(body));
}

function shape({ code, facts }: KumikoError): { status: number; code: number } {
  if (facts["argument"] === "content-type") return { status: 415, code: REFUSED };
  if (code === "too_large") return { status: 413, code: REFUSED };
  if (facts["argument"] === "body") return { status: 400, code: PARSE_ERROR };
  if (code === "too_many") return { status: 429, code: REFUSED };
  if (code === "forbidden") return { status: 403, code: REFUSED };
  if (code === "unauthorised") return { status: 401, code: REFUSED };
  if (code === "closing") return { status: 503, code: REFUSED };
  return { status: typeof facts["status"] === "number" ? facts["status"] : 400, code: REFUSED };
}
