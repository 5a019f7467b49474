import { KumikoError } from "../../base/index.ts";

/** What the library says of a message is about the message; no more of it than a line is passed on. */
const LONGEST = 200;

/**
 * An error as it crosses the wire: code, sentence and facts, without cause or stack, which say where the server
 * keeps things. Our own methods throw nothing but `KumikoError`, so that anything else is about the message itself.
 */
export function wireError(error: unknown): Error {
  const { code, message, facts } =
    error instanceof KumikoError
      ? error
      : new KumikoError(
          "invalid_argument",
          `The message cannot be carried out: ${String(error instanceof Error ? error.message : error).slice(0, LONGEST)}`,
          {},
        );
  const sent = Object.assign(new Error(message), { code, facts });
  sent.name = "KumikoError";
  delete sent.stack;
  return sent;
}
