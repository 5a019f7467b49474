import { z } from "zod";
import { translateReplace } from "../../blocks/index.ts";
import { defineTool, writing } from "../define-tool.ts";
import { blockArgument, editAnswer, editOneBlock } from "./shared.ts";

export const blockReplace = defineTool({
  name: "block_replace",
  description:
    "Replaces a text wherever it stands now, without line numbers. It must occur exactly once unless occurrence says first, " +
    "all or which one (counted from 1). When it does not occur you are shown the closest text.",
  writes: true,
  input: z.strictObject({
    block_id: blockArgument,
    old: z.string().min(1),
    new: z.string(),
    occurrence: z.union([z.enum(["first", "all"]), z.int().min(1)]).optional(),
    ...writing,
  }),
  output: editAnswer,
  examples: [
    { when: "Rename once.", input: { block_id: "main~claude~1", old: "colour", new: "color" } },
  ],
  run(kernel, { input, invocation, fingerprint }) {
    return editOneBlock(kernel, invocation, {
      block: input.block_id,
      base: input.base_version,
      fingerprint,
      // Content is looked for in the current text: only a base that was named makes it mean a past one.
      translate: (target) =>
        translateReplace(target, {
          find: { old: input.old, new: input.new },
          occurrence: input.occurrence,
          base: input.base_version,
        }),
    });
  },
});
