import { z } from "zod";
import { KumikoError } from "../../base/index.ts";
import { defineTool } from "../define-tool.ts";
import { blockArgument, checkBlock } from "./shared.ts";

const version = z.union([z.int().min(0), z.enum(["now", "disk"])]);

export const blockDiff = defineTool({
  name: "block_diff",
  description:
    "Shows what changed between two versions of a block as a unified diff. now is the current version, disk the file of " +
    "a block that has one.",
  writes: false,
  input: z.strictObject({
    block_id: blockArgument,
    from: version.describe("a version, now or disk"),
    to: version.optional().describe("a version, now or disk; now by default"),
  }),
  output: z.strictObject({ diff: z.string(), from: z.int(), to: z.int() }),
  examples: [
    { when: "Everything since version 3.", input: { block_id: "main~claude~1", from: 3 } },
  ],
  run(kernel, { input }) {
    return kernel.look(checkBlock(input.block_id), ({ document }) => {
      const number = (named: number | "now" | "disk"): number => {
        if (named === "disk") throw withoutFile(input.block_id);
        return named === "now" ? document.version : named;
      };
      const from = number(input.from);
      const to = number(input.to ?? "now");
      return { diff: document.diff(from, to), from, to };
    });
  },
});

function withoutFile(block: string): KumikoError {
  return new KumikoError(
    "not_on_disk",
    `${block} has no file on disk to compare with: compare versions, or now.`,
    { block },
  );
}
