import * as z from "zod";
import { blockState } from "./block.ts";

/** One replacement in a text, in UTF-16 units; those of one event are sequential. */
const splice = z.strictObject({
  at: z.int().min(0),
  remove: z.int().min(0),
  insert: z.string(),
});

const splices = z.array(splice).readonly();

/** What an event did to a block's text. Who keeps a text applies the splices, whatever the kind. */
const textChange = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.enum(["text", "baseline", "import"]), splices }),
  z.strictObject({ kind: z.literal("flip"), edit: z.string(), active: z.boolean(), splices }),
  z.strictObject({ kind: z.literal("birth"), hash: z.string() }),
  z.strictObject({ kind: z.literal("structure") }),
]);

/** One commit of one block: ordered by position, once each, after fsync. */
export const feedEvent = z.strictObject({
  position: z.int().min(1),
  block: z.string(),
  version: z.int().min(1).describe("it applies to the version just before"),
  edit: z.string(),
  actor: z.string(),
  time: z.int(),
  tool: z.string().optional().describe("which tool was called"),
  call: z.string().optional(),
  message: z.string().optional(),
  change: textChange,
  state: blockState.optional().describe("what the block is now, when more than its text changed"),
});
export type FeedEvent = Readonly<z.infer<typeof feedEvent>>;
