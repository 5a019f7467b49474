import {
  blockStreams,
  blockTools,
  type StreamingTool,
  type Tool,
  ToolRegistry,
} from "../../tools/index.ts";

export type AnyTool = Tool | StreamingTool;

/** Everything that can be called from a command line. */
export const tools: readonly AnyTool[] = [...blockTools, ...blockStreams];
export const registry = new ToolRegistry(tools);

/** `block_apply_patch` is `kumiko block apply-patch`. */
export function verbOf({ name }: AnyTool): { family: string; verb: string } {
  const [family = "", ...rest] = name.split("_");
  return { family, verb: rest.join("-") };
}
