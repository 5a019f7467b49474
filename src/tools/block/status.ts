import * as z from "zod";
import { KumikoError } from "../../base/index.ts";
import { blockFlags, blockMetadata, blockStatus } from "../../protocol/index.ts";
import { defineTool, writing } from "../define-tool.ts";
import { baseVersion, blockArgument, changesSince, checkBlock, editAnswer } from "./shared.ts";

export const blockStatusTool = defineTool({
  name: "block_status",
  description:
    "Says that a block is running, done or in error; a block that has ended stays so. Also sets flags and metadata, which " +
    "may change at any time: those you do not name stay as they are, null removes a metadata entry.",
  writes: true,
  input: z.strictObject({
    block_id: blockArgument,
    status: blockStatus.optional().describe("the new status; it goes one way"),
    flags: blockFlags.optional().describe("flags to set or clear"),
    metadata: blockMetadata.optional().describe("entries to set; null removes one"),
    ...writing,
  }),
  output: z.strictObject({
    ...editAnswer.omit({ unchanged: true }).shape,
    status: blockStatus,
    flags: blockFlags,
    metadata: blockMetadata,
  }),
  examples: [
    { when: "You finished writing.", input: { block_id: "main~claude~1", status: "done" } },
    {
      when: "Keep it out of what models are given.",
      input: { block_id: "main~claude~1", flags: { excluded: true } },
    },
  ],
  async run(kernel, { input, invocation, fingerprint }) {
    const { block_id: block, status, flags, metadata } = input;
    if (status === undefined && flags === undefined && metadata === undefined) {
      throw new KumikoError(
        "invalid_argument",
        "Say what to change: pass status, flags or metadata.",
        { block },
      );
    }
    if (block.startsWith("@") && metadata !== undefined && "path" in metadata) {
      throw new KumikoError(
        "invalid_argument",
        `${block} is a file, and its path is where it is on disk: move it with file_move.`,
        { block },
      );
    }
    const base = baseVersion(kernel, invocation, checkBlock(block), input.base_version);
    let since = "";
    const answer = await kernel.changeState(invocation, block, {
      fingerprint,
      change: (state, target) => {
        since = changesSince(target, base, (author) => kernel.isOwn(author, invocation));
        return {
          ...state,
          status: status ?? state.status,
          flags: { ...state.flags, ...flags },
          metadata: merged(state.metadata, metadata),
        };
      },
      answer: ({ version, state }, edit) => ({
        block_id: block,
        version,
        edit,
        since,
        status: state.status,
        flags: state.flags,
        metadata: state.metadata,
      }),
    });
    if (base !== undefined) kernel.readers.advance(invocation, block, answer.version);
    return answer;
  },
});

type Metadata = z.infer<typeof blockMetadata>;

function merged(before: Metadata, changes: Metadata = {}): Metadata {
  const entries = Object.entries({ ...before, ...changes });
  return Object.fromEntries(entries.filter(([name]) => changes[name] !== null));
}
