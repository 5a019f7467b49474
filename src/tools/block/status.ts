import { z } from "zod";
import { blockStatus } from "../../protocol/index.ts";
import { defineTool, writing } from "../define-tool.ts";
import { blockArgument, checkBlock } from "./shared.ts";

export const blockStatusTool = defineTool({
  name: "block_status",
  description: "Says that a block is running, done or in error. A block that has ended stays so.",
  writes: true,
  input: z.strictObject({
    block_id: blockArgument,
    status: blockStatus,
    reader: writing.reader,
    call_id: writing.call_id,
    message: writing.message,
  }),
  output: z.strictObject({ version: z.int(), status: blockStatus }),
  examples: [
    { when: "You finished writing.", input: { block_id: "main~claude~1", status: "done" } },
  ],
  run(kernel, { input, invocation, fingerprint }) {
    return kernel.changeState(invocation, checkBlock(input.block_id), {
      fingerprint,
      change: (state) => ({
        ...state,
        status: input.status,
        owner: input.status === "running" ? invocation.actor : null,
      }),
      answer: ({ version, state }) => ({ version, status: state.status }),
    });
  },
});
