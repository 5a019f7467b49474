import * as z from "zod";
import type { BlockState, BlockText, Invocation, Kernel, ListedBlock } from "../../kernel/index.ts";
import { KumikoError } from "../../base/index.ts";
import { blockKind, blockRole, blockStatus } from "../../protocol/index.ts";
import { defineTool } from "../define-tool.ts";
import { checkBlock } from "./shared.ts";

const SUMMARY_UNITS = 80;
/** Blocks asked for at once. */
const PAGE = 200;
/** As many blocks of one status are put in order; of more, walking soon finds enough. */
const RARE = 1000;

const listed = z.strictObject({
  block_id: z.string(),
  parent_id: z.string().nullable(),
  role: blockRole.nullable(),
  kind: blockKind.nullable(),
  status: blockStatus.nullable(),
  path: z.string().optional(),
  summary: z.string(),
  version: z.int().nullable(),
  dirty: z
    .boolean()
    .describe(
      "whether a file's block has changes that its file lacks; false until files are mounted",
    ),
  quarantined: z
    .string()
    .optional()
    .describe("why the block cannot be read; what is null or empty is then unknown"),
  denied: z.string().optional().describe("why you may not read it; its text is then not told"),
});

export const blockList = defineTool({
  name: "block_list",
  description:
    "Lists blocks of a conversation in its order: those without a parent, or the children of parent_id, depth levels deep. " +
    "Filters by kind, status and path. Stops at limit and says where to go on. With position, everything is as it stood then; " +
    "without any conversation it is then the whole kernel, conversation by conversation.",
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
    const { position, parent_id: parent = null, after, limit = 100 } = input;
    if (position !== undefined) kernel.feed.checkPosition(position);
    if (parent !== null) await checkParent(kernel, parent);
    const contexts = await contextsOf(kernel, input, invocation);
    const blocks: Listed[] = [];
    let truncated = false;
    const visit = async (child: ListedBlock): Promise<boolean> => {
      const certain = isAsItWas(child, position) ? matches(child.state, input) : undefined;
      if (certain === false) return true;
      truncated = certain === true && blocks.length === limit;
      // No text is read of what is only counted.
      const described = truncated ? undefined : await describe(kernel, invocation, child, input);
      if (described === undefined) return !truncated;
      truncated = blocks.length === limit;
      if (!truncated) blocks.push(described);
      return !truncated;
    };
    const path = after === undefined ? [] : await pathTo(kernel, parent, after);
    const filtered = (input.kind ?? input.status ?? input.path_prefix) !== undefined;
    const page = filtered ? PAGE : Math.min(PAGE, limit + 1);
    let begun = path[0] === undefined;
    for (const context of contexts) {
      const query: Walk = { ...input, context, page };
      const from = begun || context !== path[0]!.context ? [] : path;
      begun ||= from.length > 0;
      if (begun && !(await visitAll(kernel, query, parent, from, visit))) break;
    }
    return { blocks, truncated, after: truncated ? blocks.at(-1)!.block_id : undefined };
  },
});

/** What stands below a damaged block can still be listed; what stands below none cannot. */
async function checkParent(kernel: Kernel, parent: string): Promise<void> {
  try {
    await kernel.state(checkBlock(parent));
  } catch (error) {
    if (!(error instanceof KumikoError) || error.code !== "quarantined") throw error;
  }
}

/** The one that is named or that the caller is in; at a position and with neither, every one. */
async function contextsOf(
  kernel: Kernel,
  input: { context?: string | undefined; parent_id?: string | undefined } & Wanted,
  invocation: Invocation,
): Promise<readonly string[]> {
  const context = input.context ?? invocation.context;
  if (context !== undefined) {
    await kernel.contexts.check(context);
    return [context];
  }
  if (input.position !== undefined && input.parent_id === undefined)
    return (await kernel.contexts.list()).map((info) => info.context);
  throw new KumikoError(
    "invalid_argument",
    "Say which context to list: pass context. With position and without parent_id, all are listed.",
    {},
  );
}

type Listed = z.input<typeof listed>;

interface Wanted {
  readonly kind?: string | undefined;
  readonly status?: string | undefined;
  readonly path_prefix?: string | undefined;
  readonly position?: number | undefined;
}

interface Walk {
  readonly context: string;
  readonly status?: BlockState["status"] | undefined;
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

type Visit = (child: ListedBlock) => Promise<boolean>;

/** Those of a status that few have are asked for by it; everything else is walked through. */
async function visitAll(
  kernel: Kernel,
  query: Walk,
  parent: string | null,
  path: readonly BlockState[],
  visit: Visit,
): Promise<boolean> {
  const rare = await ofStatus(kernel, query, parent);
  if (rare === undefined) return walk(kernel, query, parent, path, visit);
  const compare = conversationOrder(query.newest_first ?? false);
  const from = path.map(({ order }) => order);
  const sorted = rare.toSorted((a, b) => compare(a.path, b.path));
  for (const { child, path: place } of sorted) {
    if (from.length > 0 && compare(place, from) <= 0) continue;
    if (!(await visit(child))) return false;
  }
  return true;
}

interface Placed {
  readonly child: ListedBlock;
  /** The order of each block from below the parent down to it. */
  readonly path: readonly string[];
}

/** Undefined when walking is better: at a position, or when many blocks have that status. */
async function ofStatus(
  kernel: Kernel,
  { context, status, position, depth = 1 }: Walk,
  parent: string | null,
): Promise<Placed[] | undefined> {
  if (status === undefined || status === "done" || position !== undefined) return undefined;
  const found = (await kernel.blocksWithStatus(status)).filter(
    ({ state }) => state?.context === context,
  );
  if (found.length > RARE) return undefined;
  const placed: Placed[] = [];
  for (const child of found) {
    try {
      const up = [child.state!, ...(await kernel.ancestors(child.block))];
      const top = up.findIndex((state) => state.parent === parent);
      if (top < 0 || top >= depth) continue;
      placed.push({
        child,
        path: up
          .slice(0, top + 1)
          .map(({ order }) => order)
          .toReversed(),
      });
    } catch (error) {
      // One above it cannot be read: it is found from there.
      if (error instanceof KumikoError && error.code === "quarantined") return undefined;
      throw error;
    }
  }
  return placed;
}

/** A block before what stands below it, siblings by their order. */
function conversationOrder(newestFirst: boolean) {
  return (a: readonly string[], b: readonly string[]): number => {
    for (let at = 0; at < a.length && at < b.length; at++) {
      const [left, right] = [a[at]!, b[at]!];
      if (left !== right) return left < right === newestFirst ? 1 : -1;
    }
    return a.length - b.length;
  };
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
  visit: Visit,
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
  invocation: Invocation,
  child: ListedBlock,
  wanted: Wanted,
): Promise<Listed | undefined> {
  const { block } = child;
  const { position } = wanted;
  if (child.quarantined !== undefined) return damagedEntry(child, child.quarantined);
  let read: BlockText;
  try {
    read = await (position === undefined ? kernel.read(block) : kernel.readAt(block, position));
  } catch (error) {
    if (!(error instanceof KumikoError) || error.code !== "quarantined") throw error;
    return damagedEntry(child, error.message);
  }
  if (!matches(read.state, wanted)) return undefined;
  if (kernel.mayRead(invocation, block)) return { ...columns(read.state), ...summary(read) };
  const denied = await whyDenied(kernel, invocation, block);
  return { ...columns(read.state), summary: "", version: read.version, denied };
}

async function whyDenied(kernel: Kernel, invocation: Invocation, block: string): Promise<string> {
  try {
    await kernel.checkReadable(invocation, block);
  } catch (error) {
    if (error instanceof KumikoError && error.code === "denied") return error.message;
    throw error;
  }
  return "It was not allowed a moment ago: ask again.";
}

/** Whether what the block is now is also what it was at the moment that is asked for. */
function isAsItWas(
  child: ListedBlock,
  position: number | undefined,
): child is ListedBlock & { readonly state: BlockState } {
  return child.state !== undefined && (position === undefined || child.changed <= position);
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
    dirty: false,
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
      ? { block_id: block, parent_id: null, role: null, kind: null, status: null, dirty: false }
      : columns(state);
  return { ...known, summary: "", version: null, quarantined };
}
