import { KumikoError, parseBlockId } from "../../base/index.ts";
import type { Kernel, ListedBlock } from "../../kernel/index.ts";
import type { Host } from "./host.ts";
import { kernelFor } from "./places.ts";
import { parseResourceUri, type ResourceName, resourceUri } from "./resource-uri.ts";
import type { CallSight, Sight } from "./sight.ts";
import type { Answer } from "./plain-words.ts";
import { answerText } from "./tool-text.ts";

const PAGE = 100;
/** What a completion may give, by the protocol. */
const COMPLETIONS = 100;
/** As many blocks of a conversation are told at once; the text says how to go on. */
const TOLD = 1000;

export interface ListedResource {
  [key: string]: unknown;
  uri: string;
  name: string;
  description: string;
  mimeType: string;
}

export interface ReadResource {
  [key: string]: unknown;
  uri: string;
  mimeType: string;
  text: string;
  _meta: { [key: string]: unknown };
}

/** Conversations first, then all blocks in the order of their ids. A cursor is the name to go on behind. */
export async function listResources(
  host: Host,
  sight: Sight,
  cursor: string | undefined,
): Promise<{ resources: ListedResource[]; nextCursor?: string }> {
  host.allowReading();
  const kernel = await kernelFor(host, sight);
  const from = cursor === undefined ? undefined : parseCursor(cursor);
  const resources: ListedResource[] = [];
  const next = (kind: ResourceName["kind"], id: string) => ({
    resources,
    nextCursor: `${kind}/${id}`,
  });
  if (from?.kind !== "blocks") {
    const contexts = (await kernel.contexts.list()).map(({ context }) => context).toSorted();
    for (const context of contexts) {
      if (from !== undefined && context <= from.id) continue;
      if (resources.length === PAGE) return next("contexts", lastId(resources));
      resources.push(contextEntry(kernel, context));
    }
  }
  const after = from?.kind === "blocks" ? from.id : undefined;
  let last = after;
  for await (const block of kernel.blocks(undefined, after)) {
    if (resources.length === PAGE)
      return last === undefined ? next("contexts", lastId(resources)) : next("blocks", last);
    resources.push(blockEntry(kernel, block));
    last = block.block;
  }
  return { resources };
}

/** The exact text of a block, or what a conversation holds; both by the tools, as everybody reads. */
export async function readResource(
  host: Host,
  sight: CallSight,
  uri: string,
  signal: AbortSignal,
): Promise<ReadResource> {
  const name = parseResourceUri(uri);
  const kernel = await host.kernel(name.kernel);
  const { actor, reader, trace } = sight;
  const given = { actor, reader, trace, signal };
  const call = async (tool: string, input: Answer): Promise<Answer> =>
    (await host.call(kernel, { name: tool, input, given, filter: { kind: "all" } })) as Answer;
  if (name.kind === "contexts") {
    const input = { context: name.id, depth: 100, limit: TOLD };
    const text = answerText("block_list", await call("block_list", input), input);
    return { uri, mimeType: "text/plain", text, _meta: { "kumiko/position": kernel.feed.head } };
  }
  const answer = await call("block_read", { block_id: name.id, line_numbers: false });
  const { content, ...numbers } = answer;
  return {
    uri,
    mimeType: "text/plain",
    text: String(content),
    _meta: { "kumiko/answer": numbers },
  };
}

/** Refuses what cannot be listened to: another's kernel, a block or conversation that is not there. */
export async function checkResource(host: Host, uri: string): Promise<ResourceName> {
  host.allowReading();
  const name = parseResourceUri(uri);
  const kernel = await host.kernel(name.kernel);
  if (name.kind === "contexts") await kernel.contexts.check(name.id);
  else {
    parseBlockId(name.id);
    await kernel.state(name.id);
  }
  return name;
}

/** What an argument of a template may be, by its beginning. */
export async function completeResource(
  host: Host,
  sight: Sight,
  { name, value, chosen }: { name: string; value: string; chosen: { [name: string]: string } },
): Promise<{ values: string[]; hasMore: boolean }> {
  host.allowReading();
  const all = (values: readonly string[]) => {
    const fitting = values.filter((each) => each.startsWith(value));
    return { values: fitting.slice(0, COMPLETIONS), hasMore: fitting.length > COMPLETIONS };
  };
  if (name === "kernel") return all(await host.kernels());
  const kernel = await kernelFor(host, { kernel: chosen["kernel"] ?? sight.kernel });
  if (name === "context")
    return all((await kernel.contexts.list()).map(({ context }) => context).toSorted());
  if (name !== "block") return all([]);
  const values: string[] = [];
  // Ids are in order: those that begin so stand together, behind the beginning itself.
  for await (const { block } of kernel.blocks(undefined, value)) {
    if (!block.startsWith(value)) break;
    if (values.length === COMPLETIONS) return { values, hasMore: true };
    values.push(block);
  }
  return { values, hasMore: false };
}

function parseCursor(cursor: string): Pick<ResourceName, "kind" | "id"> {
  const [, kind, id] = /^(contexts|blocks)\/([a-z0-9@~-]{1,128})$/.exec(cursor) ?? [];
  if ((kind === "contexts" || kind === "blocks") && id !== undefined) return { kind, id };
  throw new KumikoError("invalid_argument", `The cursor ${cursor} was not given by this server.`, {
    cursor,
  });
}

function lastId(resources: readonly ListedResource[]): string {
  return parseResourceUri(resources.at(-1)!.uri).id;
}

function contextEntry(kernel: Kernel, context: string): ListedResource {
  return {
    uri: resourceUri({ kernel: kernel.id, kind: "contexts", id: context }),
    name: context,
    description: "a conversation",
    mimeType: "text/plain",
  };
}

function blockEntry(kernel: Kernel, { block, state, quarantined }: ListedBlock): ListedResource {
  const path = state?.metadata["path"];
  const what = state === undefined ? "" : `${state.role} ${state.kind}, ${state.status}`;
  return {
    uri: resourceUri({ kernel: kernel.id, kind: "blocks", id: block }),
    name: typeof path === "string" ? path : block,
    description: quarantined === undefined ? what : `${what} cannot be read: ${quarantined}`.trim(),
    mimeType: "text/plain",
  };
}
