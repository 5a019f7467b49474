/** The goals of the doors: live edits, agents over MCP, many who follow. */
import type { Row } from "./harness.ts";
import { liveMeasures } from "./support/live/live-edits.ts";
import { subscriberMeasures } from "./support/live/subscribers.ts";
import { mcpMeasures } from "./support/mcp.ts";

export const parts = { live: liveMeasures, mcp: mcpMeasures, subscribers: subscriberMeasures };

export async function* measures(): AsyncGenerator<Row> {
  for (const part of Object.values(parts)) yield* part();
}
