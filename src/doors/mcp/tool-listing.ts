import type { Tool, ToolFilter, ToolRegistry } from "../../tools/index.ts";
import { type ModelSchema, modelSchema } from "./model-schema.ts";

/** They only add: everything else may replace what somebody wrote, though any of it can be undone. */
const adding = new Set(["block_create", "block_append"]);
/** Twice is as good as once. */
const repeatable = new Set(["block_status", "block_rollback"]);

interface ListedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: ModelSchema;
  readonly annotations: {
    readonly readOnlyHint: boolean;
    readonly destructiveHint?: boolean;
    readonly idempotentHint?: boolean;
    readonly openWorldHint: false;
  };
}

/** Made once: every connection is shown the same. */
const listed = new WeakMap<Tool, ListedTool>();

/** The tools of a profile, as `tools/list` gives them. */
export function listTools(registry: ToolRegistry, profile: ToolFilter): ListedTool[] {
  return registry.list(profile).map((tool) => {
    const known = listed.get(tool) ?? describe(tool);
    listed.set(tool, known);
    return known;
  });
}

function describe(tool: Tool): ListedTool {
  const { name, description, writes } = tool;
  return {
    name,
    description,
    inputSchema: modelSchema(tool),
    annotations: {
      readOnlyHint: !writes,
      ...(writes && { destructiveHint: !adding.has(name), idempotentHint: repeatable.has(name) }),
      openWorldHint: false,
    },
  };
}
