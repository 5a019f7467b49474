/** The goals of the doors: live edits, agents over MCP, many who follow. */
import type { Row } from "./harness.ts";
import { liveMeasures } from "./support/live/live-edits.ts";
import { subscriberMeasures } from "./support/live/subscribers.ts";
import { mcpMeasures } from "./support/mcp.ts";

export async function* measures(): AsyncGenerator<Row> {
  yield* liveMeasures();
  yield* mcpMeasures();
  yield* subscriberMeasures();
}
