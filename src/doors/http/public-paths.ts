import type { IncomingMessage, ServerResponse } from "node:http";
import type { Hall } from "../hall.ts";
import { checkMethod, sendJson } from "./answer.ts";
import { pageFiles } from "./status-page.ts";

/** What is answered without a token. Says nothing about what is inside. False: it is another path. */
export function serveHealth(
  hall: Hall,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): boolean {
  if (path !== "/healthz" && path !== "/readyz") return false;
  checkMethod(request, ["GET", "HEAD"]);
  const stopping = path === "/readyz" && hall.closing.aborted;
  sendJson(response, { status: stopping ? "closing" : "ok" }, stopping ? 503 : 200);
  return true;
}

export function servePage(
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): boolean {
  const file = pageFiles.get(path);
  if (file === undefined) return false;
  checkMethod(request, ["GET", "HEAD"]);
  response.writeHead(200, { "content-type": file.type });
  response.end(file.text);
  return true;
}
