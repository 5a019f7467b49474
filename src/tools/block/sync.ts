import * as z from "zod";
import { KumikoError } from "../../base/index.ts";
import { eventUnits, type FeedEvent, type Invocation, type Kernel } from "../../kernel/index.ts";
import { blockState, errorBody, feedEvent } from "../../protocol/index.ts";
import { defineTool } from "../define-tool.ts";
import { eventsSince, heldVersion } from "./held-version.ts";
import { checkBlock } from "./shared.ts";

/** What one answer may carry, in UTF-16 units; the first item always fits. */
const UNITS = 1_000_000;
/** What a block that is given whole takes beside its text. */
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
  run(kernel, { input, invocation }) {
    const { versions, position, context, limit = 1000 } = input;
    if (versions !== undefined && position === undefined)
      return byVersions(kernel, invocation, versions, limit);
    if (position !== undefined && versions === undefined)
      return byPosition(kernel, invocation, { position, context, limit });
    throw new KumikoError(
      "invalid_argument",
      "Pass versions (of blocks you name) or position (for everything), one of the two.",
      {},
    );
  },
});

async function byVersions(
  kernel: Kernel,
  invocation: Invocation,
  held: readonly z.output<typeof heldVersion>[],
  limit: number,
): Promise<Synced> {
  await kernel.settle(held.map(({ block_id }) => block_id));
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
      const room = { events: limit - answer.events.length, units };
      const block = await kernel.target(invocation, each.block_id, "read");
      const lacking = await lackingOf(kernel, block, each.version, room);
      if ("text" in lacking) {
        answer.whole.push(lacking);
        units -= lacking.text.length + BARE;
        continue;
      }
      answer.events.push(...lacking.events);
      units -= weigh(lacking.events);
      if (lacking.more)
        left.push({ block_id: each.block_id, version: lacking.events.at(-1)!.version });
    } catch (error) {
      if (!(error instanceof KumikoError)) throw error;
      unavailable.push({ block_id: each.block_id, error: errorBody.parse(error.toJSON()) });
    }
  }
  return { ...answer, unavailable, position, versions: left, truncated: left.length > 0 };
}

type Lacking = z.input<typeof whole> | { readonly events: FeedEvent[]; readonly more: boolean };

/** Its events as far as there is room, or all of it when that is shorter. */
async function lackingOf(
  kernel: Kernel,
  block: string,
  version: number,
  room: { readonly events: number; readonly units: number },
): Promise<Lacking> {
  const asWhole = async (): Promise<z.input<typeof whole>> => ({
    block_id: block,
    ...(await kernel.read(checkBlock(block))),
  });
  if (version === 0) return asWhole();
  const events: FeedEvent[] = [];
  let units = 0;
  let more = false;
  for await (const page of eventsSince(kernel, checkBlock(block), version)) {
    for (const event of page) {
      more = events.length > 0 && (events.length >= room.events || units > room.units);
      if (more) break;
      events.push(event);
      units += eventUnits(event);
    }
    if (more) break;
  }
  if (events.length === 0) return { events, more };
  const now = await asWhole();
  return units > now.text.length + BARE ? now : { events, more };
}

async function byPosition(
  kernel: Kernel,
  invocation: Invocation,
  asked: { position: number; context: string | undefined; limit: number },
): Promise<Synced> {
  const { position, context, limit } = asked;
  kernel.feed.checkPosition(position);
  if (context !== undefined) await kernel.contexts.check(context);
  await kernel.settle();
  const { head } = kernel.feed;
  const page = await kernel.feed.page(position, limit);
  return {
    events: page.events.filter(
      ({ block }) =>
        (context === undefined || block.startsWith(`${context}~`)) &&
        kernel.mayRead(invocation, block),
    ),
    whole: [],
    unavailable: page.damage.map(refused),
    position: page.position,
    versions: [],
    truncated: page.position < head,
  };
}

function refused(error: KumikoError): Synced["unavailable"][number] {
  const { block } = error.facts;
  return {
    block_id: typeof block === "string" ? block : null,
    error: errorBody.parse(error.toJSON()),
  };
}

function weigh(events: readonly FeedEvent[]): number {
  return events.reduce((sum, event) => sum + eventUnits(event), 0);
}
