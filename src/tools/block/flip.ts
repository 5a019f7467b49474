import * as z from "zod";
import { KumikoError } from "../../base/index.ts";
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
      path: z.string().optional().describe("of a file: where it is in its folder"),
      version: z.int(),
      diff: z.string().describe("what changed, as a unified diff"),
      file: z
        .enum(["moves", "deletes"])
        .optional()
        .describe("what the Edit did to the whole file, which is taken back or done again"),
      gone: z.literal(true).optional().describe("the Edit had made this file, which is deleted"),
      stayed: z
        .int()
        .describe(
          "UTF-16 units of the Edit that stay as they are, because others have removed or replaced them since",
        ),
    }),
  ),
});

/** A reader who knew a block just before has seen all of it by the diff. */
export async function showFlipped(
  kernel: Kernel,
  invocation: Invocation,
  { edit, flipped, actor: author, blocks }: Flipped,
): Promise<z.input<typeof flipAnswer>> {
  for (const { block, version } of blocks) {
    if (kernel.readers.shown(invocation, block) === version - 1) {
      kernel.readers.advance(invocation, block, version);
    }
  }
  const told = await Promise.all(
    blocks.map(async ({ block, ...rest }) => {
      const path = await pathOf(kernel, block);
      const gone = path !== undefined && (await isGone(kernel, block));
      return {
        block_id: block,
        ...(path !== undefined && { path }),
        ...rest,
        ...(gone && { gone: true as const }),
      };
    }),
  );
  return { edit, flipped, actor: author, blocks: told };
}

/** Where files are saved by hand, it stays until then. */
async function isGone(kernel: Kernel, block: string): Promise<boolean> {
  if (!(await kernel.isUnmade(block))) return false;
  try {
    await kernel.onDisk(block);
    return false;
  } catch (error) {
    // What cannot be read as text is there.
    if (!(error instanceof KumikoError)) throw error;
    return error.code === "not_on_disk";
  }
}

/** Undefined for a block that is no file. */
async function pathOf(kernel: Kernel, block: string): Promise<string | undefined> {
  if (!block.startsWith("@")) return undefined;
  const path = await kernel.look(block, ({ state }) => state.metadata["path"]);
  return typeof path === "string" ? path : undefined;
}
