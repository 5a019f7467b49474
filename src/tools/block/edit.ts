import * as z from "zod";
import { translateEdit } from "../../blocks/index.ts";
import { editOperation } from "../../protocol/index.ts";
import { defineTool, writing } from "../define-tool.ts";
import { blockArgument, editAnswer, editOneBlock } from "./shared.ts";

export const blockEdit = defineTool({
  name: "block_edit",
  description:
    "Changes lines of a block: insert, delete, replace. Lines count from 0, ends are exclusive, and all mean the version " +
    "you read: others may have changed other lines meanwhile. All operations land or none. When somebody changed the same " +
    "lines, you get a conflict with the current text; look at it and try again. expected_text guards a range.",
  writes: true,
  input: z.strictObject({
    block_id: blockArgument,
    operations: z
      .array(editOperation)
      .min(1)
      .max(1000)
      .describe("insert, delete and replace; they may not overlap"),
    ...writing,
  }),
  output: editAnswer,
  examples: [
    {
      when: "Replace line 3 (the fourth) and add a line at the top.",
      input: {
        block_id: "main~claude~1",
        operations: [
          { op: "insert", line: 0, content: "# Title" },
          {
            op: "replace",
            start_line: 3,
            end_line: 4,
            content: "new text",
            expected_text: "old text",
          },
        ],
      },
    },
  ],
  run(kernel, { input, invocation, fingerprint }) {
    return editOneBlock(kernel, invocation, {
      block: input.block_id,
      base: input.base_version,
      fingerprint,
      translate: (target, base) => translateEdit(target, input.operations, base),
    });
  },
});
