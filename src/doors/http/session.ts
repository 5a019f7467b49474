import type { IncomingMessage, ServerResponse } from "node:http";
import * as z from "zod";
import type { Hall } from "../hall.ts";
import { checkMethod, sendJson } from "./answer.ts";
import { COOKIE, credentialsOf } from "./credentials.ts";
import { parsedBody } from "./parsed-body.ts";

const wanted = z.strictObject({ token: z.string().max(200) });

/**
 * `/session`: a page gives the token of its link and gets a cookie that no script can read. The cookie is another
 * token; a link's own is used up by this.
 */
export async function serveSession(
  hall: Hall,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  checkMethod(request, ["POST", "DELETE"]);
  if (request.method === "DELETE") return endSession(hall, request, response);
  const given = await parsedBody(request, wanted);
  const { token, info } = await hall.tokens.exchange(given.token);
  const seconds = info.expires === null ? 0 : Math.floor((info.expires - hall.clock.now()) / 1000);
  response.setHeader("set-cookie", cookie(token, seconds));
  sendJson(response, { actor: info.actor, kind: info.kind, expires: info.expires });
}

async function endSession(
  hall: Hall,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const principal = await hall.tokens.authenticate(credentialsOf(request)?.token ?? "");
  hall.rates.take(principal);
  await hall.tokens.revoke(principal, principal.token);
  response.setHeader("set-cookie", cookie("", 0));
  sendJson(response, { ended: true });
}

function cookie(value: string, seconds: number): string {
  return `${COOKIE}=${value}; HttpOnly; SameSite=Strict; Path=/; Max-Age=${seconds}`;
}
