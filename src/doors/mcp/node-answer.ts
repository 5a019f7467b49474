import type { IncomingMessage, ServerResponse } from "node:http";
import { toNodeHandler } from "@modelcontextprotocol/node";

type Fetch = Parameters<typeof toNodeHandler>[0]["fetch"];
type NodeRequest = Parameters<ReturnType<typeof toNodeHandler>>[0];

/** Answers a request by what answers web requests; resolves when all of it is written. */
export async function answerBy(
  fetch: Fetch,
  request: IncomingMessage,
  response: ServerResponse,
  body: unknown,
): Promise<void> {
  // Node's own type allows undefined where theirs allows absence only.
  await toNodeHandler({ fetch })(request as NodeRequest, response, body);
}
