import * as z from "zod";
import { defineTool } from "../define-tool.ts";
import { blockArgument, checkBlock } from "./shared.ts";

const entry = z.strictObject({
  version: z.int(),
  kind: z.string().describe("text, structure, undo, redo, import, baseline or birth"),
  actor: z.string(),
  edit: z.string(),
  time: z.int().describe("milliseconds since 1970"),
  tool: z.string().optional().describe("which tool was called"),
  call: z.string().optional().describe("the tool call that made it"),
  message: z.string().optional(),
  model: z.string().optional(),
  turn: z.string().optional(),
  inserted: z.int().describe("UTF-16 units"),
  removed: z.int().describe("UTF-16 units"),
});

export const blockHistory = defineTool({
  name: "block_history",
  description:
    "Lists the versions of a block, newest first: who, with which tool, when, why, how much. Pages with before.",
  writes: false,
  input: z.strictObject({
    block_id: blockArgument,
    before: z.int().min(1).optional().describe("versions older than this one"),
    limit: z.int().min(1).max(1000).optional().describe("versions in one page; 50 by default"),
  }),
  output: z.strictObject({
    versions: z.array(entry),
    before: z.int().optional().describe("pass it for the next page"),
    gaps: z
      .array(
        z.strictObject({
          by: z.string(),
          time: z.int(),
          units: z.int().describe("UTF-16 units that were replaced, over all versions"),
          why: z.string().optional(),
        }),
      )
      .optional()
      .describe("where something was purged for good: versions from before show a filler there"),
  }),
  examples: [{ when: "The last ten changes.", input: { block_id: "main~claude~1", limit: 10 } }],
  async run(kernel, { input }) {
    const block = checkBlock(input.block_id);
    const { before, limit } = input;
    const page = await kernel.look(block, ({ document }) =>
      document.history({ ...(before !== undefined && { before }), limit: limit ?? 50 }),
    );
    const gaps = (await kernel.gaps(block)).map(({ by, time, units, why }) => ({
      by,
      time,
      units,
      ...(why !== null && { why }),
    }));
    return {
      versions: [...page.entries],
      before: page.before,
      ...(gaps.length > 0 && { gaps }),
    };
  },
});
