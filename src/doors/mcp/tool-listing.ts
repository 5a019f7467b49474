import { KumikoError } from "../../base/index.ts";
import type { Tool, ToolFilter, ToolRegistry } from "../../tools/index.ts";
import type { Host } from "./host.ts";
import { type ModelSchema, modelSchema } from "./model-schema.ts";
import { kernelFor } from "./places.ts";
import type { Sight } from "./sight.ts";

/** They only add: everything else may replace what somebody wrote, though any of it can be undone. */
const adding = new Set(["block_create", "block_append", "file_create"]);
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

/** Those that the kernel offers. */
export async function offeredTools(
  host: Host,
  profile: ToolFilter,
  sight: Sight,
): Promise<ListedTool[]> {
  const offered = host.registry.list(await kernelFilter(host, sight)).map(({ name }) => name);
  return listTools(host.registry, profile).filter(({ name }) => offered.includes(name));
}

/** Whoever has not said which kernel is meant is shown everything; a call says what is missing. */
async function kernelFilter(host: Host, sight: Sight): Promise<ToolFilter> {
  try {
    return await (await kernelFor(host, sight)).toolFilter.get();
  } catch (error) {
    if (error instanceof KumikoError && error.code === "invalid_argument") return { kind: "all" };
    throw error;
  }
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
