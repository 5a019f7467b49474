import type { ToolRegistry } from "../tools/index.ts";

/** Every tool there is. Their schemas take a while to make, so they are loaded when somebody calls one. */
export async function allTools(): Promise<ToolRegistry> {
  const { blockStreams, blockTools, ToolRegistry: Registry } = await import("../tools/index.ts");
  const { fileTools } = await import("../files/index.ts");
  return new Registry([...blockTools, ...fileTools, ...blockStreams]);
}
