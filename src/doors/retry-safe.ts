import { ZodObject } from "zod";
import type { ToolRegistry } from "../tools/index.ts";

/** Whoever names a call means it to be carried out once: tools that can do so take the name as an argument. */
export function retrySafe(
  registry: ToolRegistry,
  name: string,
  input: unknown,
  call: string | undefined,
): unknown {
  if (call === undefined || typeof input !== "object") return input;
  const tool = registry.find(name);
  const takes = tool?.input instanceof ZodObject && "call_id" in tool.input.shape;
  return takes ? { call_id: call, ...input } : input;
}
