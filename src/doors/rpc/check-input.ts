import type { z } from "zod";
import { KumikoError } from "../../base/index.ts";
import { problemWords } from "../../protocol/index.ts";

/** What a method was given, as its schema says; anything else is refused before anything happens. */
export function checkInput<Schema extends z.ZodType>(
  method: string,
  schema: Schema,
  input: unknown = {},
): z.output<Schema> {
  const parsed = schema.safeParse(input, { error: problemWords });
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) => ({
    at: path.join(".") || "(the whole)",
    message,
  }));
  const told = problems.map(({ at, message }) => `${at}: ${message}`).join("; ");
  throw new KumikoError("invalid_argument", `${method} cannot be called like that: ${told}.`, {
    method,
    problems,
  });
}
