import * as z from "zod";
import { KumikoError } from "../../base/index.ts";
import { eventUnits, type FeedEvent, type Kernel } from "../../kernel/index.ts";
import { blockArgument } from "./shared.ts";

/** What a client has of a block. */
export const heldVersion = z.strictObject({
  block_id: blockArgument,
  version: z.int().min(0).describe("the version you hold; 0 for none"),
});

/** Events read at once; fewer where each carries much. */
const MOST = 256;
/** What is read at once should not carry more, in UTF-16 units. */
const PAGE_UNITS = 256_000;

/**
 * A block's events behind a version that it has had, a bounded page at a time: the first has one event, so
 * that following many blocks does not hold many pages of each.
 */
export async function* eventsSince(
  kernel: Kernel,
  block: string,
  version: number,
): AsyncGenerator<readonly FeedEvent[], void, void> {
  // The event of that version comes along to show that there was one.
  const first = await kernel.feed.ofBlock(block, Math.max(0, version - 1), version + 1);
  if (version === 0 ? first.length === 0 : first[0]?.version !== version) {
    const { version: current } = await kernel.read(block);
    throw new KumikoError(
      "out_of_range",
      `${block} has no version ${version}: it is at version ${current}. Drop your copy and begin at version 0.`,
      { block, version, minimum: 0, maximum: current },
    );
  }
  let size = 1;
  for (let page = first.filter((event) => event.version > version); page.length > 0;) {
    yield page;
    const units = page.reduce((sum, event) => sum + eventUnits(event), 0);
    size = Math.max(1, Math.min(MOST, 2 * size, Math.floor((PAGE_UNITS * page.length) / units)));
    const reached = page.at(-1)!.version;
    page = await kernel.feed.ofBlock(block, reached, reached + size);
  }
}
