import { KumikoError } from "../../base/index.ts";
import type { Invocation, Kernel, ListedBlock } from "../../kernel/index.ts";
import type { RpcAnswers } from "../../protocol/index.ts";

type Page = RpcAnswers["Kernel"]["exportPage"];
type Exported = Page["blocks"][number];

/** Siblings asked for at once. */
const SIBLINGS = 200;
/** What the texts of one page may have in UTF-16 units; the first block always fits. */
const UNITS = 1_000_000;

export interface PageRequest {
  readonly context: string;
  readonly position?: number | undefined;
  readonly after?: string | undefined;
  readonly limit?: number | undefined;
}

/**
 * The blocks of a context, or of a folder's files (`@src`), with their texts, in conversation order, as they stood at a
 * position. A folder of whose files none was ever loaded has none.
 */
export async function exportPage(
  kernel: Kernel,
  invocation: Invocation,
  request: PageRequest,
): Promise<Page> {
  const { context, after, limit = 100 } = request;
  const position = request.position ?? kernel.feed.head;
  kernel.feed.checkPosition(position);
  if (!context.startsWith("@")) await kernel.contexts.check(context);
  const blocks: Exported[] = [];
  let units = 0;
  for await (const listed of conversation(kernel, context, after)) {
    if (listed.created > position) continue;
    const last = blocks.at(-1)?.block_id;
    if (last !== undefined && (blocks.length === limit || units > UNITS))
      return { position, blocks, after: last };
    const exported = await exportOne(kernel, invocation, listed, position);
    blocks.push(exported);
    units += exported.text?.length ?? 0;
  }
  return { position, blocks };
}

async function exportOne(
  kernel: Kernel,
  invocation: Invocation,
  { block, quarantined }: ListedBlock,
  position: number,
): Promise<Exported> {
  if (quarantined !== undefined) return { block_id: block, unreadable: quarantined };
  try {
    await kernel.checkReadable(invocation, block);
    const { state, version, text } = await kernel.readAt(block, position);
    const { parent, kind, role, status, flags, metadata, created } = state;
    return {
      block_id: block,
      parent_id: parent,
      kind,
      role,
      status,
      flags,
      metadata,
      created,
      version,
      text,
    };
  } catch (error) {
    const codes = ["quarantined", "denied"];
    if (!(error instanceof KumikoError) || !codes.includes(error.code)) throw error;
    return { block_id: block, unreadable: error.message };
  }
}

/** Depth first, children below their parents; however deep, without a stack of calls. */
async function* conversation(
  kernel: Kernel,
  context: string,
  after: string | undefined,
): AsyncGenerator<ListedBlock, void, void> {
  const open =
    after === undefined ? [childrenOf(kernel, context, null)] : await behind(kernel, after);
  while (open.length > 0) {
    const next = await open.at(-1)!.next();
    if (next.done === true) {
      open.pop();
    } else {
      yield next.value;
      open.push(childrenOf(kernel, context, next.value.block));
    }
  }
}

/** Where a walk stands that has just given a block: behind each of its ancestors, and before its children. */
async function behind(
  kernel: Kernel,
  block: string,
): Promise<AsyncGenerator<ListedBlock, void, void>[]> {
  const path = [await kernel.state(block), ...(await kernel.ancestors(block))].toReversed();
  const { context } = path[0]!;
  return [
    ...path.map(({ parent, order }) => childrenOf(kernel, context, parent, order)),
    childrenOf(kernel, context, block),
  ];
}

async function* childrenOf(
  kernel: Kernel,
  context: string,
  parent: string | null,
  from?: string,
): AsyncGenerator<ListedBlock, void, void> {
  let after = from;
  for (;;) {
    const page = await kernel.children({ context, parent, after, limit: SIBLINGS });
    yield* page;
    if (page.length < SIBLINGS) return;
    after = page.at(-1)!.order;
  }
}
