import type { StreamingTool, Tool } from "./define-tool.ts";
import { type InputSchema, inputSchema } from "./input-schema.ts";

/** What a tool looks like from outside: enough to ask for its arguments without loading it. */
export interface ToolForm {
  readonly name: string;
  readonly description: string;
  /** Goes on answering until the caller stops it. */
  readonly streams: boolean;
  readonly input: InputSchema;
  readonly examples: readonly { readonly when: string; readonly input: unknown }[];
}

export function toolForms(tools: readonly (Tool | StreamingTool)[]): ToolForm[] {
  return tools.map((tool) => ({
    name: tool.name,
    description: tool.description,
    streams: "stream" in tool,
    input: inputSchema(tool),
    examples: tool.examples,
  }));
}
