import { z } from "zod";
import { parseBlockId } from "../../base/index.ts";
import { type EditTarget, type Splice, unifiedDiff } from "../../blocks/index.ts";
import type { Invocation, Kernel } from "../../kernel/index.ts";

export const blockArgument = z.string().describe("the block, written context~actor~number");

/** What every edit of text answers. */
export const editAnswer = z.strictObject({
  block_id: z.string(),
  version: z.int(),
  edit: z.string().describe("pass it to block_undo to take this back"),
  since: z
    .string()
    .describe(
      "a unified diff of what others changed since the version you read; empty when nothing",
    ),
});

export function checkBlock(block: string): string {
  parseBlockId(block);
  return block;
}

/** The version a caller's positions mean: named, or the one its reader was shown last. */
function baseVersion(
  kernel: Kernel,
  { actor, reader }: Invocation,
  block: string,
  named: number | undefined,
): number | undefined {
  return named ?? kernel.readers.shown(reader ?? actor, block);
}

export interface EditOfOneBlock {
  readonly block: string;
  readonly base: number | undefined;
  readonly fingerprint: string;
  readonly translate: (target: EditTarget, base: number | undefined) => readonly Splice[];
}

/** Edits one block, answers with what happened since the base, and notes that the caller has seen it. */
export async function editOneBlock(
  kernel: Kernel,
  invocation: Invocation,
  { block, base, fingerprint, translate }: EditOfOneBlock,
): Promise<z.input<typeof editAnswer>> {
  const from = baseVersion(kernel, invocation, checkBlock(block), base);
  let since = "";
  const answer = await kernel.editText(invocation, {
    blocks: [block],
    operation: "change",
    fingerprint,
    translate: (target) => {
      const splices = translate(target, from);
      if (from !== undefined && from < target.version) {
        const names = { oldName: `version ${from}`, newName: `version ${target.version}` };
        since = unifiedDiff(target.read(from), target.read(), names);
      }
      return splices;
    },
    answer: ({ edit, changes }) => ({ block_id: block, version: changes[0]!.version, edit, since }),
  });
  kernel.readers.show(invocation.reader ?? invocation.actor, block, answer.version);
  return answer;
}
