import * as z from "zod";
import { defineTool, writing } from "../define-tool.ts";
import { blockArgument, checkBlock } from "./shared.ts";

export const blockAppend = defineTool({
  name: "block_append",
  description:
    "Adds text at the end of a block while you produce it; no version is needed. The answer is a receipt: the text is kept " +
    "on disk within a moment, up to durable_version already. Pass flush to wait until all of it is; call_id waits as well.",
  writes: true,
  operation: "append",
  input: z.strictObject({
    block_id: blockArgument,
    text: z.string().min(1).describe("what comes next, added exactly as it is"),
    flush: z.boolean().optional().describe("wait until it is on disk"),
    reader: writing.reader,
    call_id: writing.call_id,
    message: writing.message,
  }),
  output: z.strictObject({
    accepted: z
      .int()
      .describe("UTF-16 units taken in so far, since the block's last status change"),
    durable_version: z.int().describe("up to this version it is on disk"),
  }),
  examples: [{ when: "The next words.", input: { block_id: "main~claude~1", text: "and then" } }],
  run(kernel, { input, invocation, fingerprint }) {
    const { block_id, text, flush, call_id } = input;
    return kernel.append(invocation, checkBlock(block_id), text, {
      ...(flush !== undefined && { flush }),
      // Only a caller that asks for it waits: a stream's calls all have ids of their own.
      ...(call_id !== undefined && { fingerprint }),
    });
  },
});
