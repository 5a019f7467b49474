import { z } from "zod";
import { KumikoError } from "../../base/index.ts";
import type { FeedEvent, Kernel } from "../../kernel/index.ts";
import { blockArgument } from "./shared.ts";

/** What a client has of a block. */
export const heldVersion = z.strictObject({
  block_id: blockArgument,
  version: z.int().min(0).describe("the version you hold; 0 for none"),
});

/** A block's events behind a version that it has had. */
export async function eventsSince(
  kernel: Kernel,
  block: string,
  version: number,
): Promise<FeedEvent[]> {
  // The event of that version comes along to show that there was one.
  const events = await kernel.feed.ofBlock(block, Math.max(0, version - 1));
  if (version === 0 && events.length > 0) return events;
  if (version > 0 && events[0]?.version === version) return events.slice(1);
  const { version: current } = await kernel.read(block);
  throw new KumikoError(
    "out_of_range",
    `${block} has no version ${version}: it is at version ${current}. Drop your copy and begin at version 0.`,
    { block, version, minimum: 0, maximum: current },
  );
}
