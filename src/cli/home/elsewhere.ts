import { type Facts, isBlockId, KumikoError, nearest, parseBlockId } from "../../base/index.ts";
import type { RpcKernel } from "../../protocol/index.ts";
import type { OpenKernel } from "./access.ts";
import { DEFAULT_KERNEL } from "./options.ts";

type Holds = (kernel: RpcKernel) => Promise<boolean>;

/** Kernels that are looked into at most: whoever found nothing does not want to wait for long. */
const KERNELS = 8;
/** Blocks of a conversation among which a name is looked for that comes near. */
const BLOCKS = 1000;

/** The first other kernel of the home that has what this one has not; `main` before all others. */
export async function elsewhere(kernel: OpenKernel, holds: Holds): Promise<string | undefined> {
  const others = (await kernel.others()).toSorted(
    (a, b) => Number(b === DEFAULT_KERNEL) - Number(a === DEFAULT_KERNEL),
  );
  for (const other of others.slice(0, KERNELS))
    if ((await kernel.in(other, holds)) === true) return other;
  return undefined;
}

export async function hasContexts(kernel: RpcKernel): Promise<boolean> {
  return (await kernel.listContexts()).length > 0;
}

/** The same error, with what helps whoever looked for a block or a context that is not there. */
export async function withWhereabouts(kernel: OpenKernel, error: unknown): Promise<unknown> {
  if (!(error instanceof KumikoError)) return error;
  const { block, context } = error.facts;
  let known: Facts | undefined;
  if (error.code === "unknown_block" && typeof block === "string")
    known = await blockWhereabouts(kernel, block);
  if (error.code === "unknown_context" && typeof context === "string")
    known = await contextWhereabouts(kernel, context, error.facts["contexts"]);
  if (known === undefined) return error;
  const facts = { ...error.facts, ...known };
  return new KumikoError(error.code, error.message, facts, { cause: error });
}

async function blockWhereabouts(kernel: OpenKernel, block: string): Promise<Facts> {
  const other = await elsewhere(kernel, async (each) => {
    await each.history({ block_id: block, limit: 1 });
    return true;
  });
  if (other !== undefined) return { elsewhere: other };
  if (!isBlockId(block)) return {};
  const { context } = parseBlockId(block);
  const contexts = await kernel.ask((each) => each.listContexts());
  if (!contexts.some((each) => each.context === context)) return {};
  const { blocks } = await kernel.ask(async (each) => {
    using opened = await each.openContext({ context });
    return opened.show({ limit: BLOCKS });
  });
  const ids = (blocks as readonly { readonly block_id: string }[]).map(({ block_id }) => block_id);
  const near = nearest(block, ids);
  return { context, ...(near !== undefined && { nearest: near }) };
}

async function contextWhereabouts(
  kernel: OpenKernel,
  context: string,
  contexts: unknown,
): Promise<Facts> {
  const other = await elsewhere(kernel, async (each) =>
    (await each.listContexts()).some((known) => known.context === context),
  );
  if (other !== undefined) return { elsewhere: other };
  const known = Array.isArray(contexts) ? contexts.map(String) : [];
  const near = nearest(context, known);
  return near === undefined ? {} : { nearest: near };
}
