import * as z from "zod";
import { feedEvent } from "./feed-event.ts";
import { liveEvent } from "./live-events.ts";

const live = (
  ["context", "resource", "config", "progress", "elicitation", "approval"] as const
).map((topic) => liveEvent(topic));

/** What a callback is told. It answers when it is done with it: two are under way at most. */
export const feedMessage = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("begun"),
    position: z.int().describe("everything behind it will be told"),
    head: z.int().describe("the newest position when it began"),
  }),
  z.strictObject({
    kind: z.literal("blocks"),
    events: z.array(feedEvent),
    position: z.int().describe("everything up to here was told; go on from it"),
  }),
  z.strictObject({ kind: z.literal("live"), events: z.array(z.union(live)) }),
  z.strictObject({
    kind: z.literal("ended"),
    reason: z
      .enum(["resync", "closing", "unauthorised", "released", "failed"])
      .describe("failed: the error says why, and nothing more will come"),
    error: z
      .strictObject({
        code: z.string().describe("a newer server may have codes of its own"),
        message: z.string(),
        facts: z.record(z.string(), z.json()),
      })
      .describe("as every error crosses a boundary"),
  }),
]);
export type FeedMessage = z.output<typeof feedMessage>;
export type EndReason = Extract<FeedMessage, { kind: "ended" }>["reason"];
