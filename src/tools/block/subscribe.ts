import * as z from "zod";
import { KumikoError } from "../../base/index.ts";
import { eventUnits, type FeedEvent, type Invocation, type Kernel } from "../../kernel/index.ts";
import { feedEvent } from "../../protocol/index.ts";
import { defineStream } from "../define-tool.ts";
import { eventsSince, heldVersion } from "./held-version.ts";
import { checkBlock } from "./shared.ts";

const BATCH = 1024;
const BATCH_UNITS = 1_000_000;

export const blockSubscribe = defineStream({
  name: "block_subscribe",
  description:
    "Follows blocks as they change: every commit in order, once, when it is on disk. Begins now, behind a position (from), or " +
    "behind the versions you hold of some blocks (from_versions). An event applies to the version just before it: leave out " +
    "those you already have. Who is too slow is ended with resync: call block_sync, then subscribe again. A commit that is damaged " +
    "on disk ends it with damaged and its position, from which the others go on.",
  writes: false,
  input: z.strictObject({
    block_ids: z
      .array(z.string())
      .max(10_000)
      .optional()
      .describe("only these blocks; all when empty or left out"),
    context: z.string().optional().describe("only blocks of this conversation"),
    from: z.int().min(0).optional().describe("everything behind this position, then what comes"),
    from_versions: z
      .array(heldVersion)
      .max(1000)
      .optional()
      .describe("what you lack of these blocks first; not together with from"),
  }),
  output: z.strictObject({
    events: z.array(feedEvent),
    position: z.int().describe("you have seen everything up to here; pass it as from to go on"),
  }),
  examples: [
    { when: "Everything from now on.", input: {} },
    {
      when: "After a lost connection.",
      input: { context: "main", from: 1200 },
    },
    {
      when: "You have version 7 of one block.",
      input: {
        block_ids: ["main~claude~1"],
        from_versions: [{ block_id: "main~claude~1", version: 7 }],
      },
    },
  ],
  stream(kernel, { input, invocation }) {
    const { from, context, from_versions = [] } = input;
    const named = input.block_ids ?? [];
    const blocks = named.length === 0 ? undefined : named.map(checkBlock);
    if (from !== undefined && from_versions.length > 0) {
      throw new KumikoError(
        "invalid_argument",
        "Pass from or from_versions: a position already says which version of every block you have.",
        { from, from_versions: from_versions.length },
      );
    }
    const outside = from_versions.find(
      ({ block_id }) => blocks !== undefined && !blocks.includes(block_id),
    );
    if (outside !== undefined) {
      throw new KumikoError(
        "invalid_argument",
        `from_versions names ${outside.block_id}, which is not among block_ids.`,
        { block: outside.block_id },
      );
    }
    const { head } = kernel.feed;
    const where = ({ block }: FeedEvent): boolean => kernel.mayRead(invocation, block);
    const live = kernel.feed.subscribe({ from, blocks, context, where, signal: invocation.signal });
    return follow(kernel, { invocation, held: from_versions, head, live });
  },
});

async function* follow(
  kernel: Kernel,
  {
    invocation,
    held,
    head,
    live,
  }: {
    readonly invocation: Invocation;
    readonly held: readonly z.output<typeof heldVersion>[];
    readonly head: number;
    readonly live: AsyncIterable<readonly FeedEvent[]>;
  },
): AsyncGenerator<{ events: FeedEvent[]; position: number }, void, void> {
  for (const { block_id } of held) await kernel.checkReadable(invocation, block_id);
  let events: FeedEvent[] = [];
  let units = 0;
  for await (const event of lackingIn(kernel, held, head)) {
    if (events.length === BATCH || (events.length > 0 && units > BATCH_UNITS)) {
      yield { events, position: events.at(-1)!.position };
      [events, units] = [[], 0];
    }
    events.push(event);
    units += eventUnits(event);
  }
  // Other blocks have nothing in between: they begin at the head.
  if (events.length > 0) yield { events, position: head };
  for await (const batch of live) yield { events: [...batch], position: batch.at(-1)!.position };
}

interface Line {
  readonly pages: AsyncGenerator<readonly FeedEvent[], void, void>;
  waiting: FeedEvent[];
}

/** What is lacking of several blocks, in the order of positions. What comes after the head comes with the feed. */
async function* lackingIn(
  kernel: Kernel,
  held: readonly z.output<typeof heldVersion>[],
  head: number,
): AsyncGenerator<FeedEvent, void, void> {
  const lines: Line[] = [];
  /** Sorted, the line whose next event comes first last. */
  const enter = async (line: Line): Promise<void> => {
    if (line.waiting.length === 0) line.waiting = [...((await line.pages.next()).value ?? [])];
    const position = line.waiting[0]?.position;
    if (position === undefined || position > head) return;
    const at = lines.findLastIndex(({ waiting }) => waiting[0]!.position > position);
    lines.splice(at + 1, 0, line);
  };
  for (const { block_id, version } of held)
    await enter({ pages: eventsSince(kernel, checkBlock(block_id), version), waiting: [] });
  for (let line = lines.pop(); line !== undefined; line = lines.pop()) {
    yield line.waiting.shift()!;
    await enter(line);
  }
}
