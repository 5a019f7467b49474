import * as z from "zod";
import { translateSplice } from "../../blocks/index.ts";
import { defineTool, writing } from "../define-tool.ts";
import { blockArgument, editAnswer, editOneBlock } from "./shared.ts";

export const blockSplice = defineTool({
  name: "block_splice",
  description:
    "Replaces text by offset, for programs; models should prefer block_edit or block_replace. Offsets count UTF-8 bytes " +
    "unless unit says otherwise, and mean the version you read.",
  writes: true,
  input: z.strictObject({
    block_id: blockArgument,
    offset: z.int().min(0).describe("where, in the base version"),
    delete_count: z.int().min(0).describe("how much is removed there"),
    insert: z.string().optional().describe("what is put there"),
    unit: z
      .enum(["byte", "utf16", "codepoint"])
      .optional()
      .describe("what offset and delete_count count; byte by default"),
    ...writing,
  }),
  output: editAnswer,
  examples: [
    {
      when: "Replace the first five bytes.",
      input: { block_id: "main~claude~1", offset: 0, delete_count: 5, insert: "Hello" },
    },
  ],
  run(kernel, { input, invocation, fingerprint }) {
    const { block_id, offset, delete_count, insert, unit, base_version } = input;
    return editOneBlock(kernel, invocation, {
      block: block_id,
      base: base_version,
      fingerprint,
      translate: (target, base) =>
        translateSplice(target, { offset, deleteCount: delete_count, insert, unit, base }),
    });
  },
});
