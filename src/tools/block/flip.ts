import { z } from "zod";
import type { Flipped, Invocation, Kernel } from "../../kernel/index.ts";
import { writing } from "../define-tool.ts";

export const flipInput = {
  reader: writing.reader,
  call_id: writing.call_id,
  message: writing.message,
};

/** What undo and redo answer. */
export const flipAnswer = z.strictObject({
  edit: z.string().describe("this change itself; undoing it reverses it"),
  flipped: z.string().describe("the Edit that was taken back or brought back"),
  actor: z.string().describe("who made that Edit"),
  blocks: z.array(
    z.strictObject({
      block_id: z.string(),
      version: z.int(),
      diff: z.string().describe("what changed, as a unified diff"),
      stayed: z
        .int()
        .describe("UTF-16 units of the Edit that stay hidden, because another Edit removed them"),
    }),
  ),
});

/** A reader who knew a block just before has seen all of it by the diff. */
export function showFlipped(
  kernel: Kernel,
  invocation: Invocation,
  { edit, flipped, actor: author, blocks }: Flipped,
): z.input<typeof flipAnswer> {
  for (const { block, version } of blocks) {
    if (kernel.readers.shown(invocation, block) === version - 1) {
      kernel.readers.advance(invocation, block, version);
    }
  }
  const told = blocks.map(({ block, ...rest }) => ({ block_id: block, ...rest }));
  return { edit, flipped, actor: author, blocks: told };
}
