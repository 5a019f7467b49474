import type { IncomingMessage } from "node:http";
import { KumikoError } from "../../base/index.ts";

export const COOKIE = "kumiko_session";
/** A browser's WebSocket can send no headers of its own, but subprotocols: this one, and the token behind a prefix. */
export const SUBPROTOCOL = "kumiko";
const BEARER_PROTOCOL = "bearer.";

interface Credentials {
  readonly token: string;
  readonly from: "header" | "cookie" | "subprotocol";
}

/** The one token of a request. Two of them are refused: nobody could tell which one was meant. */
export function credentialsOf(request: IncomingMessage): Credentials | undefined {
  const found: Credentials[] = [];
  for (const value of request.headersDistinct["authorization"] ?? []) {
    const match = /^bearer +(\S+)$/i.exec(value);
    found.push({ token: match?.[1] ?? "", from: "header" });
  }
  for (const each of listed(request.headersDistinct["sec-websocket-protocol"])) {
    if (each.startsWith(BEARER_PROTOCOL))
      found.push({ token: each.slice(BEARER_PROTOCOL.length), from: "subprotocol" });
  }
  const cookies = cookiesOf(request);
  // A page that also sends a token means the token: cookies come by themselves.
  if (found.length === 0) for (const token of cookies) found.push({ token, from: "cookie" });
  if (found.length > 1) {
    throw new KumikoError("unauthorised", "The request has more than one token.", {
      tokens: found.length,
    });
  }
  const [only] = found;
  if (only?.from === "cookie") checkOwnPage(request);
  return only;
}

/**
 * A browser sends the cookie along with whatever a page makes it send. Another port of this host is another origin but
 * the same site to it, so that `SameSite` alone does not keep its pages out.
 */
function checkOwnPage(request: IncomingMessage): void {
  const site = request.headers["sec-fetch-site"];
  const changes = request.method !== "GET" && request.method !== "HEAD";
  const upgrades = request.headers.upgrade !== undefined;
  const ours = site === undefined || site === "same-origin" || site === "none";
  if (ours && (request.headers.origin !== undefined || !(changes || upgrades))) return;
  throw new KumikoError(
    "forbidden",
    "The session's cookie came with a request that the server's own page did not make.",
    { header: ours ? "origin" : "sec-fetch-site" },
  );
}

function cookiesOf(request: IncomingMessage): string[] {
  return (request.headers.cookie ?? "")
    .split(";")
    .map((each) => each.trim())
    .filter((each) => each.startsWith(`${COOKIE}=`))
    .map((each) => each.slice(COOKIE.length + 1));
}

function listed(values: readonly string[] | undefined): string[] {
  return (values ?? []).flatMap((value) => value.split(",")).map((each) => each.trim());
}
