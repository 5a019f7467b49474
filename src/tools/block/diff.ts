import { z } from "zod";
import { defineTool } from "../define-tool.ts";
import { blockArgument, checkBlock } from "./shared.ts";

const version = z.union([z.int().min(0), z.literal("now")]);

export const blockDiff = defineTool({
  name: "block_diff",
  description: "Shows what changed between two versions of a block as a unified diff.",
  writes: false,
  input: z.strictObject({ block_id: blockArgument, from: version, to: version.optional() }),
  output: z.strictObject({ diff: z.string(), from: z.int(), to: z.int() }),
  examples: [
    { when: "Everything since version 3.", input: { block_id: "main~claude~1", from: 3 } },
  ],
  run(kernel, { input }) {
    return kernel.look(checkBlock(input.block_id), ({ document }) => {
      const number = (named: number | "now"): number =>
        named === "now" ? document.version : named;
      const from = number(input.from);
      const to = number(input.to ?? "now");
      return { diff: document.diff(from, to), from, to };
    });
  },
});
