import { z } from "zod";
import { defineTool } from "../define-tool.ts";
import { blockArgument, checkBlock } from "./shared.ts";

const entry = z.strictObject({
  version: z.int(),
  kind: z.string(),
  actor: z.string(),
  edit: z.string(),
  time: z.int(),
  call: z.string().optional(),
  message: z.string().optional(),
  model: z.string().optional(),
  turn: z.string().optional(),
  inserted: z.int().describe("UTF-16 units"),
  removed: z.int(),
});

export const blockHistory = defineTool({
  name: "block_history",
  description:
    "Lists the versions of a block, newest first: who, when, why, how much. Pages with before.",
  writes: false,
  input: z.strictObject({
    block_id: blockArgument,
    before: z.int().min(1).optional().describe("versions older than this one"),
    limit: z.int().min(1).max(1000).optional(),
  }),
  output: z.strictObject({
    versions: z.array(entry),
    before: z.int().optional().describe("pass it for the next page"),
  }),
  examples: [{ when: "The last ten changes.", input: { block_id: "main~claude~1", limit: 10 } }],
  run(kernel, { input }) {
    return kernel.look(checkBlock(input.block_id), ({ document }) => {
      const { before, limit } = input;
      const page = document.history({
        ...(before !== undefined && { before }),
        limit: limit ?? 50,
      });
      return { versions: [...page.entries], before: page.before };
    });
  },
});
