import * as z from "zod";
import { KumikoError } from "../../base/index.ts";
import { unifiedDiff } from "../../blocks/index.ts";
import { defineTool } from "../define-tool.ts";
import { blockArgument, checkBlock } from "./shared.ts";

const version = z.union([z.int().min(0), z.enum(["now", "disk"])]);
const compared = z.union([z.int(), z.literal("disk")]);

export const blockDiff = defineTool({
  name: "block_diff",
  description:
    "Shows what changed between two versions of a block as a unified diff. now is the current version, disk what the file of " +
    "the block says, if it has one.",
  writes: false,
  input: z.strictObject({
    block_id: blockArgument,
    from: version.describe("a version, now or disk"),
    to: version.optional().describe("a version, now or disk; now by default"),
  }),
  output: z.strictObject({ diff: z.string(), from: compared, to: compared }),
  examples: [
    { when: "Everything since version 3.", input: { block_id: "main~claude~1", from: 3 } },
  ],
  async run(kernel, { input }) {
    const block = checkBlock(input.block_id);
    const { from, to = "now" } = input;
    const asksForFile = from === "disk" || to === "disk";
    const file = asksForFile ? await kernel.onDisk(block) : undefined;
    if (asksForFile && file === undefined) throw withoutFile(block);
    return kernel.look(block, ({ document }) => {
      const sideOf = (named: number | "now" | "disk"): Side => {
        if (named === "disk") return { text: file!, name: "disk", version: "disk" };
        const number = named === "now" ? document.version : named;
        return { text: document.read(number), name: `version ${number}`, version: number };
      };
      const [old, now] = [sideOf(from), sideOf(to)];
      const names = { oldName: old.name, newName: now.name };
      return { diff: unifiedDiff(old.text, now.text, names), from: old.version, to: now.version };
    });
  },
});

interface Side {
  readonly text: string;
  readonly name: string;
  readonly version: number | "disk";
}

function withoutFile(block: string): KumikoError {
  return new KumikoError(
    "not_on_disk",
    `${block} has no file on disk to compare with: compare versions, or now.`,
    { block },
  );
}
