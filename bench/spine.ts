/** The goals of the kernel: streams, many callers, opening, search and the feed. */
import type { Row } from "./harness.ts";
import { callerMeasures } from "./support/callers.ts";
import { contextMeasures } from "./support/contexts.ts";
import { feedMeasures } from "./support/feed.ts";
import { openingMeasures } from "./support/opening.ts";
import { searchMeasures } from "./support/search.ts";
import { streamingMeasures } from "./support/streaming.ts";

export async function* measures(): AsyncGenerator<Row> {
  yield* streamingMeasures();
  yield* callerMeasures();
  yield* openingMeasures();
  yield* feedMeasures();
  yield* contextMeasures();
  yield* searchMeasures();
}
