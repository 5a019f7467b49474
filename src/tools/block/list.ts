import { z } from "zod";
import type { BlockState, BlockText, Kernel, ListedBlock } from "../../kernel/index.ts";
import { KumikoError } from "../../base/index.ts";
import { blockKind, blockRole, blockStatus } from "../../protocol/index.ts";
import { defineTool } from "../define-tool.ts";
import { checkBlock } from "./shared.ts";

const SUMMARY_UNITS = 80;
/** Blocks asked for at once. */
const PAGE = 200;

const listed = z.strictObject({
  block_id: z.string(),
  parent_id: z.string().nullable(),
  role: blockRole.nullable(),
  kind: blockKind.nullable(),
  status: blockStatus.nullable(),
  path: z.string().optional(),
  summary: z.string(),
  version: z.int().nullable(),
  quarantined: z
    .string()
    .optional()
    .describe("why the block cannot be read; what is null or empty is then unknown"),
});

export const blockList = defineTool({
  name: "block_list",
  description:
    "Lists blocks of a conversation in its order: those without a parent, or the children of parent_id, depth levels deep. " +
    "Filters by kind, status and path. Stops at limit and says where to go on. With position, everything is as it stood then.",
  writes: false,
  input: z.strictObject({
    parent_id: z.string().optional().describe("only what stands below this block"),
    kind: blockKind.optional().describe("only this kind"),
    status: blockStatus.optional().describe("only this status"),
    path_prefix: z.string().optional().describe("only blocks whose metadata.path begins so"),
    depth: z.int().min(1).max(100).optional().describe("levels of children; 1 by default"),
    limit: z.int().min(1).max(1000).optional().describe("blocks in one answer; 100 by default"),
    after: z.string().optional().describe("go on behind this block, as the last answer said"),
    newest_first: z.boolean().optional().describe("siblings from the last to the first"),
    context: z.string().optional().describe("the conversation; by default the one you are in"),
    position: z.int().min(0).optional().describe("a moment of the past; by default now"),
  }),
  output: z.strictObject({
    blocks: z.array(listed),
    truncated: z.boolean(),
    after: z.string().optional().describe("pass it for what comes next"),
  }),
  examples: [
    { when: "What is still running?", input: { status: "running" } },
    { when: "The last ten.", input: { limit: 10, newest_first: true } },
  ],
  async run(kernel, { input, invocation }) {
    const context = input.context ?? invocation.context;
    if (context === undefined) {
      throw new KumikoError("invalid_argument", "Say which context to list: pass context.", {});
    }
    await kernel.contexts.check(context);
    const limit = input.limit ?? 100;
    const blocks: Listed[] = [];
    let truncated = false;
    const query: Walk = { ...input, context, page: Math.min(PAGE, limit + 1) };
    const parent = input.parent_id ?? null;
    const path = input.after === undefined ? [] : await pathTo(kernel, parent, input.after);
    await walk(kernel, query, parent, path, async (child) => {
      const described = await describe(kernel, child, input);
      if (described === undefined) return true;
      truncated = blocks.length === limit;
      if (!truncated) blocks.push(described);
      return !truncated;
    });
    return { blocks, truncated, after: truncated ? blocks.at(-1)!.block_id : undefined };
  },
});

type Listed = z.input<typeof listed>;

interface Wanted {
  readonly kind?: string | undefined;
  readonly status?: string | undefined;
  readonly path_prefix?: string | undefined;
  readonly position?: number | undefined;
}

interface Walk {
  readonly context: string;
  readonly depth?: number | undefined;
  readonly position?: number | undefined;
  readonly newest_first?: boolean | undefined;
  readonly page: number;
}

/** The blocks from below `parent` down to one, itself included. */
async function pathTo(
  kernel: Kernel,
  parent: string | null,
  block: string,
): Promise<readonly BlockState[]> {
  const up = [await kernel.state(checkBlock(block)), ...(await kernel.ancestors(block))];
  const top = up.findIndex((state) => state.parent === parent);
  if (top >= 0) return up.slice(0, top + 1).toReversed();
  throw new KumikoError(
    "invalid_argument",
    `after names ${block}, which does not stand below ${parent ?? "this conversation"}.`,
    { after: block, parent },
  );
}

/**
 * In conversation order, until `visit` has enough. Answers whether it wants more. Begins behind the last block
 * of `path`, which leads there.
 */
async function walk(
  kernel: Kernel,
  query: Walk,
  parent: string | null,
  path: readonly BlockState[],
  visit: (child: ListedBlock) => Promise<boolean>,
): Promise<boolean> {
  const { context, depth = 1, position, newest_first: newestFirst, page: limit } = query;
  const below = { ...query, depth: depth - 1 };
  const [step, ...rest] = path;
  if (step !== undefined && depth > 1 && !(await walk(kernel, below, step.block, rest, visit)))
    return false;
  let after = step?.order;
  for (;;) {
    const page = await kernel.children({ context, parent, after, limit, newestFirst });
    for (const child of page) {
      if (position !== undefined && child.created > position) continue;
      if (!(await visit(child))) return false;
      if (depth > 1 && !(await walk(kernel, below, child.block, [], visit))) return false;
    }
    if (page.length < limit) return true;
    after = page.at(-1)!.order;
  }
}

/** What the list says of a block; undefined when it is not asked for. */
async function describe(
  kernel: Kernel,
  child: ListedBlock,
  wanted: Wanted,
): Promise<Listed | undefined> {
  const { block, state } = child;
  const { position } = wanted;
  if (state !== undefined && position === undefined && !matches(state, wanted)) return undefined;
  if (child.quarantined !== undefined) return damagedEntry(child, child.quarantined);
  let read: BlockText;
  try {
    read = await (position === undefined ? kernel.read(block) : kernel.readAt(block, position));
  } catch (error) {
    if (!(error instanceof KumikoError) || error.code !== "quarantined") throw error;
    return damagedEntry(child, error.message);
  }
  return matches(read.state, wanted) ? { ...columns(read.state), ...summary(read) } : undefined;
}

function matches({ kind, status, metadata }: BlockState, wanted: Wanted): boolean {
  if (wanted.kind !== undefined && wanted.kind !== kind) return false;
  if (wanted.status !== undefined && wanted.status !== status) return false;
  if (wanted.path_prefix === undefined) return true;
  const { path } = metadata;
  return typeof path === "string" && path.startsWith(wanted.path_prefix);
}

function columns(state: BlockState): Omit<Listed, "summary" | "version"> {
  const { path } = state.metadata;
  return {
    block_id: state.block,
    parent_id: state.parent,
    role: state.role,
    kind: state.kind,
    status: state.status,
    ...(typeof path === "string" && { path }),
  };
}

function summary({ text, version }: BlockText): Pick<Listed, "summary" | "version"> {
  if (text.length <= SUMMARY_UNITS) return { summary: text, version };
  const beginning = text.slice(0, SUMMARY_UNITS).toWellFormed();
  return { summary: `${beginning}… (${lineCount(text)} lines)`, version };
}

function lineCount(text: string): number {
  let count = text.endsWith("\n") ? 0 : 1;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) count += 1;
  return count;
}

function damagedEntry({ block, state }: ListedBlock, quarantined: string): Listed {
  const known =
    state === undefined
      ? { block_id: block, parent_id: null, role: null, kind: null, status: null }
      : columns(state);
  return { ...known, summary: "", version: null, quarantined };
}
