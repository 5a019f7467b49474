import * as z from "zod";
import { KumikoError } from "../../base/index.ts";
import type { FlippedFiles, Invocation, Kernel } from "../../kernel/index.ts";
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
      made: z
        .boolean()
        .optional()
        .describe("the Edit makes this file: true, it is there again; false, it is deleted"),
      back: z.literal(true).optional().describe("the file had been deleted; it is there again"),
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
  { edit, flipped, actor: author, blocks, back }: FlippedFiles,
): Promise<z.input<typeof flipAnswer>> {
  for (const { block, version } of blocks) {
    if (kernel.readers.shown(invocation, block) === version - 1) {
      kernel.readers.advance(invocation, block, version);
    }
  }
  const told = await Promise.all(
    blocks.map(async ({ block, ...rest }) => {
      const path = await pathOf(kernel, block);
      const made = path === undefined ? undefined : await isMade(kernel, block);
      return {
        block_id: block,
        ...(path !== undefined && { path }),
        ...rest,
        ...(made !== undefined && { made }),
        ...(made === undefined && back.has(block) && { back: true as const }),
      };
    }),
  );
  return { edit, flipped, actor: author, blocks: told };
}

/** Whether the file is there, if that is what was decided and it is so; where files are saved by hand, it is so then. */
async function isMade(kernel: Kernel, block: string): Promise<boolean | undefined> {
  const isUnmade = await kernel.isUnmade(block);
  if (!isUnmade && !(await kernel.isRemade(block))) return undefined;
  return (await isThere(kernel, block)) === isUnmade ? undefined : !isUnmade;
}

async function isThere(kernel: Kernel, block: string): Promise<boolean> {
  try {
    await kernel.onDisk(block);
    return true;
  } catch (error) {
    // What cannot be read as text is there.
    if (!(error instanceof KumikoError)) throw error;
    return error.code !== "not_on_disk";
  }
}

/** Undefined for a block that is no file. */
async function pathOf(kernel: Kernel, block: string): Promise<string | undefined> {
  if (!block.startsWith("@")) return undefined;
  const path = await kernel.look(block, ({ state }) => state.metadata["path"]);
  return typeof path === "string" ? path : undefined;
}
