import { type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";

/** Milliseconds without a word after which nobody waits any longer: a server that was stopped answers nothing. */
const PATIENCE = 300_000;

interface HttpRequest {
  readonly method: "GET" | "POST";
  readonly headers: { readonly [name: string]: string };
  readonly body?: string;
  readonly signal?: AbortSignal;
  /** Milliseconds without a word. */
  readonly patience?: number;
}

/** Asks once and gives the body of the answer. Nobody is followed elsewhere. What `fetch` is takes far longer to load. */
export async function httpRequest(
  url: URL,
  { body, patience = PATIENCE, ...options }: HttpRequest,
): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const asked = request(url, { ...options, agent: false, timeout: patience }, resolve);
  asked.on("error", reject);
  asked.on("timeout", () =>
    asked.destroy(Object.assign(new Error(`${url.href} is silent`), { code: "ETIMEDOUT" })),
  );
  asked.end(body);
  const answer = await promise;
  const { statusCode = 0 } = answer;
  if (statusCode < 300 || statusCode >= 400) return text(answer);
  answer.destroy();
  throw new Error(`${url.href} sends whoever asks elsewhere (${statusCode})`);
}
