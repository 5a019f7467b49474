import { z } from "zod";
import type { BlockState, Kernel } from "../../kernel/index.ts";
import { KumikoError } from "../../base/index.ts";
import { blockKind, blockRole, blockStatus } from "../../protocol/index.ts";
import { defineTool } from "../define-tool.ts";

const SUMMARY_UNITS = 80;

const listed = z.strictObject({
  block_id: z.string(),
  parent_id: z.string().nullable(),
  role: blockRole,
  kind: blockKind,
  status: blockStatus,
  path: z.string().optional(),
  summary: z.string(),
  version: z.int(),
});

export const blockList = defineTool({
  name: "block_list",
  description:
    "Lists blocks of a conversation in its order: those without a parent, or the children of parent_id, depth levels deep. " +
    "Filters by kind, status and path. Stops at limit and says so.",
  writes: false,
  input: z.strictObject({
    parent_id: z.string().optional(),
    kind: blockKind.optional(),
    status: blockStatus.optional(),
    path_prefix: z.string().optional(),
    depth: z.int().min(1).max(100).optional().describe("levels of children; 1 by default"),
    limit: z.int().min(1).max(1000).optional(),
    context: z.string().optional(),
  }),
  output: z.strictObject({ blocks: z.array(listed), truncated: z.boolean() }),
  examples: [{ when: "What is still running?", input: { status: "running" } }],
  async run(kernel, { input, invocation }) {
    const context = input.context ?? invocation.context;
    if (context === undefined) {
      throw new KumikoError("invalid_argument", "Say which context to list: pass context.", {});
    }
    await kernel.contexts.check(context);
    const limit = input.limit ?? 100;
    const found: BlockState[] = [];
    await walk(kernel, context, input.parent_id ?? null, input.depth ?? 1, (state) => {
      if (matches(state, input)) found.push(state);
      return found.length <= limit;
    });
    const blocks = await Promise.all(found.slice(0, limit).map((state) => describe(kernel, state)));
    return { blocks, truncated: found.length > limit };
  },
});

/** In conversation order, until `visit` has enough. */
async function walk(
  kernel: Kernel,
  context: string,
  parent: string | null,
  depth: number,
  visit: (state: BlockState) => boolean,
): Promise<boolean> {
  let after: string | undefined;
  for (;;) {
    const page = await kernel.children({ context, parent, after, limit: 200 });
    for (const state of page) {
      if (!visit(state)) return false;
      if (depth > 1 && !(await walk(kernel, context, state.block, depth - 1, visit))) return false;
    }
    if (page.length < 200) return true;
    after = page.at(-1)!.order;
  }
}

function matches(
  { kind, status, metadata }: BlockState,
  wanted: {
    kind?: string | undefined;
    status?: string | undefined;
    path_prefix?: string | undefined;
  },
): boolean {
  if (wanted.kind !== undefined && wanted.kind !== kind) return false;
  if (wanted.status !== undefined && wanted.status !== status) return false;
  if (wanted.path_prefix === undefined) return true;
  const { path } = metadata;
  return typeof path === "string" && path.startsWith(wanted.path_prefix);
}

async function describe(kernel: Kernel, { block }: BlockState): Promise<z.input<typeof listed>> {
  return kernel.look(block, ({ state, document }) => {
    const text = document.read();
    const { path } = state.metadata;
    const summary =
      text.length <= SUMMARY_UNITS
        ? text
        : `${text.slice(0, SUMMARY_UNITS).toWellFormed()}… (${document.lineCount} lines)`;
    return {
      block_id: block,
      parent_id: state.parent,
      role: state.role,
      kind: state.kind,
      status: state.status,
      ...(typeof path === "string" && { path }),
      summary,
      version: document.version,
    };
  });
}
