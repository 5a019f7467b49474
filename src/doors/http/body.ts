import type { IncomingMessage } from "node:http";
import { KumikoError } from "../../base/index.ts";
import { httpLimits } from "./limits.ts";

/** How deep JSON may nest: deeper than any request, and far from what exhausts a stack. */
const DEPTH = 64;

/** The body of a request as JSON, within the limits. Throws `too_large` or `invalid_argument`. */
export async function readJson(
  request: IncomingMessage,
  limit: number = httpLimits.body,
): Promise<unknown> {
  const type = request.headers["content-type"]?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/json") {
    throw new KumikoError(
      "invalid_argument",
      "The body must be JSON, with content-type: application/json.",
      { argument: "content-type", value: type ?? null },
    );
  }
  return parseJson(await readBody(request, limit));
}

/** JSON of at most `DEPTH` levels, which is looked at before it is parsed. */
export function parseJson(text: string): unknown {
  checkDepth(text);
  try {
    return JSON.parse(text);
  } catch (error) {
    const why = error instanceof Error ? error.message.replace(/ in JSON.*|, ".*/s, "") : "";
    throw new KumikoError("invalid_argument", `The body is not JSON: ${why}.`, {
      argument: "body",
    });
  }
}

async function readBody(request: IncomingMessage, limit: number): Promise<string> {
  if (Number(request.headers["content-length"] ?? 0) > limit) throw tooLarge(limit);
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > limit) throw tooLarge(limit);
    chunks.push(chunk);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    throw new KumikoError("invalid_argument", "The body is not UTF-8.", { argument: "body" });
  }
}

function checkDepth(text: string): void {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) at = endOfString(text, at);
    else if (unit === OPEN_OBJECT || unit === OPEN_ARRAY) depth += 1;
    else if (unit === CLOSE_OBJECT || unit === CLOSE_ARRAY) depth -= 1;
    if (depth > DEPTH) {
      throw new KumikoError("too_large", `The body nests deeper than ${DEPTH} levels.`, {
        limit: DEPTH,
        argument: "body",
      });
    }
  }
}

const QUOTE = 0x22;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;

/** The place of the closing quote, or of the end when there is none. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; ;) {
    const quote = text.indexOf('"', at);
    if (quote < 0) return text.length;
    let escapes = 0;
    while (text[quote - 1 - escapes] === "\\") escapes += 1;
    if (escapes % 2 === 0) return quote;
    at = quote + 1;
  }
}

function tooLarge(limit: number): KumikoError {
  return new KumikoError("too_large", `The body is larger than ${limit} bytes.`, { limit });
}
