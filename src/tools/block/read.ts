import * as z from "zod";
import { KumikoError } from "../../base/index.ts";
import type { BlockText, Kernel } from "../../kernel/index.ts";
import { blockKind, blockMetadata, blockRole, blockStatus } from "../../protocol/index.ts";
import { defineTool, writing } from "../define-tool.ts";
import { lineRange } from "./line-range.ts";
import { blockArgument, checkBlock } from "./shared.ts";
import { shownLines } from "./shown-lines.ts";

export const blockRead = defineTool({
  name: "block_read",
  description:
    "Reads a block, with line numbers counted from 0; with line_numbers false its exact text. Your later edits by line mean the version " +
    "you read here, even if others write meanwhile.",
  writes: false,
  input: z.strictObject({
    block_id: blockArgument,
    line_numbers: z
      .boolean()
      .optional()
      .describe("put its number before each line; true by default"),
    range: lineRange,
    version: z.int().min(0).optional().describe("a past version; by default the current one"),
    position: z
      .int()
      .min(0)
      .optional()
      .describe("the block as it stood at this position of the journal, instead of a version"),
    reader: writing.reader,
  }),
  output: z.strictObject({
    content: z.string(),
    metadata: blockMetadata,
    role: blockRole,
    kind: blockKind,
    status: blockStatus,
    version: z.int(),
    line_count: z.int(),
  }),
  examples: [
    { when: "All of it.", input: { block_id: "main~claude~1" } },
    {
      when: "Lines 10 to 19.",
      input: { block_id: "main~claude~1", range: { start: 10, end: 20 } },
    },
  ],
  async run(kernel, { input, invocation }) {
    const block = checkBlock(input.block_id);
    const { state, version, text } = await readBlock(kernel, block, input);
    const shown = shownLines(text, input.range, input.line_numbers !== false);
    kernel.readers.show(invocation, block, version);
    return {
      content: shown.content,
      metadata: state.metadata,
      role: state.role,
      kind: state.kind,
      status: state.status,
      version,
      line_count: shown.count,
    };
  },
});

/** Only a past version needs the block's history; now and any position are read without it. */
function readBlock(
  kernel: Kernel,
  block: string,
  { version, position }: { version?: number | undefined; position?: number | undefined },
): Promise<BlockText> {
  if (version !== undefined && position !== undefined) {
    throw new KumikoError("invalid_argument", "Pass version or position, not both.", {
      version,
      position,
    });
  }
  if (position !== undefined) return kernel.readAt(block, position);
  if (version === undefined) return kernel.read(block);
  return kernel.look(block, ({ state, document }) => ({
    state,
    version,
    text: document.read(version),
  }));
}
