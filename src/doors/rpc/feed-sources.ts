import type { FeedEvent, Kernel } from "../../kernel/index.ts";
import type { LiveEvent, LiveTopic } from "../../protocol/index.ts";
import { blockMessage, wireUnits } from "./plain-event.ts";
import type { Source } from "./subscription.ts";

/** What a live event takes in a message. */
const LIVE_UNITS = 300;

/** The topic of blocks, for who began when the feed was at `head`. */
export function blockSource(head: number, open: Source<FeedEvent>["open"]): Source<FeedEvent> {
  return {
    open,
    weigh: wireUnits,
    message: blockMessage,
    isPast: (events) => events.at(-1)!.position <= head,
  };
}

export function liveSource<Topic extends LiveTopic>(
  kernel: Kernel,
  topic: Topic,
): Source<LiveEvent<Topic>> {
  return {
    open: (signal) => kernel.flow.subscribe(topic, { signal }),
    weigh: () => LIVE_UNITS,
    message: (events) => ({ kind: "live", events: [...events] as never }),
    isPast: () => false,
  };
}

/** What `block_subscribe` gives. */
export async function* streamedEvents(
  batches: AsyncIterable<unknown>,
): AsyncGenerator<readonly FeedEvent[], void, void> {
  for await (const batch of batches) yield (batch as { events: readonly FeedEvent[] }).events;
}
