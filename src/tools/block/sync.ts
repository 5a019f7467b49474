import { z } from "zod";
import { KumikoError } from "../../base/index.ts";
import type { FeedEvent, Kernel } from "../../kernel/index.ts";
import { blockState, errorBody, feedEvent } from "../../protocol/index.ts";
import { defineTool } from "../define-tool.ts";
import { eventsSince, heldVersion } from "./held-version.ts";
import { checkBlock } from "./shared.ts";

/** What one answer may carry, in UTF-16 units; the first item always fits. */
const UNITS = 1_000_000;
/** What an event without text takes. */
const BARE = 200;

const whole = z.strictObject({
  block_id: z.string(),
  version: z.int(),
  text: z.string(),
  state: blockState,
});

const output = z.strictObject({
  events: z.array(feedEvent).describe("per block in order; leave out those you already have"),
  whole: z
    .array(whole)
    .describe("blocks given as they are, when that is shorter than their events: replace yours"),
  unavailable: z
    .array(z.strictObject({ block_id: z.string().nullable(), error: errorBody }))
    .describe("blocks that cannot be given, each with why; the others are not affected"),
  position: z.int().describe("go on from here: pass it as position, or to block_subscribe as from"),
  versions: z.array(heldVersion).describe("what did not fit: pass it as versions to go on"),
  truncated: z.boolean().describe("there is more: go on"),
});

type Synced = z.input<typeof output>;

export const blockSync = defineTool({
  name: "block_sync",
  description:
    "Gives what you lack, once, without a subscription: pass the versions you hold of some blocks (0 when you have none), or " +
    "the position up to which you have seen everything. The answer has the missing events, or whole texts where those are " +
    "shorter. It stops at limit and says where to go on.",
  writes: false,
  input: z.strictObject({
    versions: z
      .array(heldVersion)
      .min(1)
      .max(1000)
      .optional()
      .describe("the blocks you want and what you hold of each"),
    position: z
      .int()
      .min(0)
      .optional()
      .describe("all events behind it, new blocks included; not together with versions"),
    context: z.string().optional().describe("with position: only blocks of this conversation"),
    limit: z
      .int()
      .min(1)
      .max(10_000)
      .optional()
      .describe("events to give or, by position, to look through; 1000 by default"),
  }),
  output,
  examples: [
    {
      when: "You hold version 7 of one block and nothing of another.",
      input: {
        versions: [
          { block_id: "main~claude~1", version: 7 },
          { block_id: "main~ann~2", version: 0 },
        ],
      },
    },
    { when: "You were away since position 1200.", input: { position: 1200, context: "main" } },
  ],
  run(kernel, { input }) {
    const { versions, position, context, limit = 1000 } = input;
    if (versions !== undefined && position === undefined)
      return byVersions(kernel, versions, limit);
    if (position !== undefined && versions === undefined)
      return byPosition(kernel, position, context, limit);
    throw new KumikoError(
      "invalid_argument",
      "Pass versions (of blocks you name) or position (for everything), one of the two.",
      {},
    );
  },
});

async function byVersions(
  kernel: Kernel,
  held: readonly z.output<typeof heldVersion>[],
  limit: number,
): Promise<Synced> {
  // Taken first: whoever goes on from here gets some events again, and none too few.
  const position = kernel.feed.head;
  const answer = { events: [] as FeedEvent[], whole: [] as Synced["whole"] };
  const unavailable: Synced["unavailable"] = [];
  const left: Synced["versions"] = [];
  let units = UNITS;
  for (const each of held) {
    if (units <= 0 || answer.events.length >= limit) {
      left.push(each);
      continue;
    }
    try {
      const lacking = await lackingOf(kernel, each.block_id, each.version);
      if ("text" in lacking) {
        answer.whole.push(lacking);
        units -= lacking.text.length + BARE;
        continue;
      }
      const given = lacking.events.slice(0, limit - answer.events.length);
      answer.events.push(...given);
      units -= weigh(given);
      if (given.length < lacking.events.length)
        left.push({ block_id: each.block_id, version: given.at(-1)!.version });
    } catch (error) {
      if (!(error instanceof KumikoError)) throw error;
      unavailable.push({ block_id: each.block_id, error: errorBody.parse(error.toJSON()) });
    }
  }
  return { ...answer, unavailable, position, versions: left, truncated: left.length > 0 };
}

async function lackingOf(
  kernel: Kernel,
  block: string,
  version: number,
): Promise<z.input<typeof whole> | { events: FeedEvent[] }> {
  const events = version === 0 ? [] : await eventsSince(kernel, checkBlock(block), version);
  if (version > 0 && events.length === 0) return { events };
  const now = await kernel.read(checkBlock(block));
  return version === 0 || weigh(events) > now.text.length + BARE
    ? { block_id: block, ...now }
    : { events };
}

async function byPosition(
  kernel: Kernel,
  position: number,
  context: string | undefined,
  limit: number,
): Promise<Synced> {
  const { head } = kernel.feed;
  if (position > head) {
    throw new KumikoError(
      "out_of_range",
      `There is no position ${position}: this kernel has positions 0 to ${head}.`,
      { position, minimum: 0, maximum: head },
    );
  }
  if (context !== undefined) await kernel.contexts.check(context);
  const page = await kernel.feed.page(position, limit);
  const events = fitting(page.events);
  const cut = events.length < page.events.length;
  const reached = cut ? events.at(-1)!.position : page.position;
  return {
    events: events.filter(({ block }) => context === undefined || block.startsWith(`${context}~`)),
    whole: [],
    unavailable: page.damage.map(refused),
    position: reached,
    versions: [],
    truncated: reached < head,
  };
}

function refused(error: KumikoError): Synced["unavailable"][number] {
  const { block } = error.facts;
  return {
    block_id: typeof block === "string" ? block : null,
    error: errorBody.parse(error.toJSON()),
  };
}

/** As many as one answer may carry, and at least one. */
function fitting(events: readonly FeedEvent[]): FeedEvent[] {
  let units = 0;
  const end = events.findIndex((event, index) => {
    units += weigh([event]);
    return index > 0 && units > UNITS;
  });
  return end < 0 ? [...events] : events.slice(0, end);
}

function weigh(events: readonly FeedEvent[]): number {
  let units = 0;
  for (const { change } of events) {
    units += BARE;
    if ("splices" in change) for (const { insert } of change.splices) units += insert.length;
  }
  return units;
}
