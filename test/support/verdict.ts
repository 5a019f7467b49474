import { KumikoError } from "../../src/base/index.ts";

interface Told {
  readonly code: string;
  readonly message: string;
  readonly facts: { readonly [name: string]: unknown };
}

/** What a call gave: its answer, or what it was refused with. */
export async function outcome(call: Promise<unknown>): Promise<unknown> {
  return call.catch((error: unknown) => {
    if (error instanceof KumikoError) return error;
    throw error;
  });
}

/**
 * What was decided. y: it was done; n: denied; h: a person is to be asked; p: the person whose agent it is. What failed for
 * any other reason is told by its code, so that nobody takes it for allowed.
 */
export function letterOf(result: unknown): string {
  // Where each block is answered for by itself.
  const { _meta: meta } = Object(result) as { _meta?: { "kumiko/answer"?: object } };
  const answer = (meta?.["kumiko/answer"] ?? Object(result)) as {
    unavailable?: { error: Told }[];
  };
  const told: Told | undefined =
    result instanceof KumikoError ? result : answer.unavailable?.[0]?.error;
  if (told === undefined) return "y";
  if (told.code !== "denied") return told.code;
  if (told.facts["decision"] !== "ask") return "n";
  return told.message.includes("a yes from the person whose agent this is") ? "p" : "h";
}
