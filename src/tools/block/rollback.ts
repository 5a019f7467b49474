import * as z from "zod";
import { defineTool, writing } from "../define-tool.ts";
import { blockArgument, editAnswer, editOneBlock } from "./shared.ts";

export const blockRollback = defineTool({
  name: "block_rollback",
  description:
    "Makes a block's text what it was at a version, as a new version: nothing is rewritten, and it can be undone. It takes " +
    "back everybody's later changes; to take back only one, use block_undo. A file that was deleted is made again.",
  writes: true,
  operation: "restore",
  input: z.strictObject({
    block_id: blockArgument,
    version: z.int().min(0).describe("the version whose text it gets"),
    ...writing,
  }),
  output: editAnswer,
  examples: [
    { when: "Back to version 4.", input: { block_id: "main~claude~1", version: 4 } },
    { when: "The same of a file.", input: { block_id: "src/main.ts", version: 4 } },
  ],
  run(kernel, { input, invocation, fingerprint }) {
    return editOneBlock(kernel, invocation, {
      block: input.block_id,
      base: input.base_version,
      fingerprint,
      restores: true,
      translate: (target) => target.translateRollback(input.version),
    });
  },
});
