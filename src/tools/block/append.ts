import { z } from "zod";
import { defineTool, writing } from "../define-tool.ts";
import { blockArgument, checkBlock } from "./shared.ts";

export const blockAppend = defineTool({
  name: "block_append",
  description:
    "Adds text at the end of a block while you produce it; no version is needed. The answer is a receipt: the text is kept " +
    "on disk within a moment, up to durable_version already. Pass flush to wait until all of it is.",
  writes: true,
  input: z.strictObject({
    block_id: blockArgument,
    text: z.string().min(1),
    flush: z.boolean().optional(),
    reader: writing.reader,
  }),
  output: z.strictObject({ accepted: z.int(), durable_version: z.int() }),
  examples: [{ when: "The next words.", input: { block_id: "main~claude~1", text: "and then" } }],
  run(kernel, { input, invocation }) {
    const options = input.flush === undefined ? {} : { flush: input.flush };
    return kernel.append(invocation, checkBlock(input.block_id), input.text, options);
  },
});
