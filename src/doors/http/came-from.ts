import type { IncomingHttpHeaders } from "node:http";
import { KumikoError } from "../../base/index.ts";

/**
 * Whether a request may come at all. A page anywhere can make a browser send requests here, under any name that its
 * owner makes point to this machine: so only names that the server goes by are answered, and only pages that the
 * server itself gave.
 */
export function checkCameFrom(headers: IncomingHttpHeaders, names: ReadonlySet<string>): void {
  const { host, origin } = headers;
  const named = host === undefined ? undefined : urlOf(`http://${host}`);
  if (named === undefined || named.host !== host?.toLowerCase().replace(/:80$/, ""))
    throw refused("host", host, "names no host");
  if (!names.has(named.hostname)) {
    throw refused(
      "host",
      host,
      `is not a name of this server; start it with --allow-host ${named.hostname} if it should be`,
    );
  }
  if (origin === undefined) return;
  if (!isSameOrigin(origin, host)) throw refused("origin", origin, "is another page's");
}

/** TLS may end at a proxy, so https of the same host is the same page. */
function isSameOrigin(origin: string, host: string): boolean {
  const from = urlOf(origin);
  if (from === undefined || from.origin !== origin.toLowerCase()) return false;
  if (from.protocol !== "http:" && from.protocol !== "https:") return false;
  return from.host === urlOf(`${from.protocol}//${host}`)?.host;
}

function urlOf(text: string): URL | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const bare = url?.username === "" && url.password === "" && url.pathname === "/";
  return bare && url.search === "" && url.hash === "" ? url : undefined;
}

function refused(header: "host" | "origin", value: string | undefined, why: string): KumikoError {
  const shown = value === undefined ? "(none)" : value.slice(0, 200);
  return new KumikoError("forbidden", `The ${header} ${shown} ${why}.`, { header, value: shown });
}
