import type { IncomingMessage } from "node:http";
import type { z } from "zod";
import { KumikoError } from "../../base/index.ts";
import { problemWords } from "../../protocol/index.ts";
import { readJson } from "./body.ts";

/** Longer than any request of the front's own. */
const SMALL = 64 * 1024;

/** The body as its schema says, or `invalid_argument` with what is wrong with it. */
export async function parsedBody<Output>(
  request: IncomingMessage,
  schema: z.ZodType<Output>,
): Promise<Output> {
  const result = schema.safeParse(await readJson(request, SMALL), { error: problemWords });
  if (result.success) return result.data;
  const problems = result.error.issues.map(({ path, message }) => ({
    at: path.join(".") || "(the whole)",
    message,
  }));
  const said = problems.map(({ at, message }) => `${at}: ${message}`).join("; ");
  throw new KumikoError("invalid_argument", `The body is not as it should be: ${said}.`, {
    argument: "body",
    problems,
  });
}
