import * as z from "zod";
import { defineTool } from "../define-tool.ts";
import { flipAnswer, flipInput, showFlipped } from "./flip.ts";

export const blockRedo = defineTool({
  name: "block_redo",
  description:
    "Brings back an Edit that was undone, in every block it changed: the one you undid last, or the one you name. Once you " +
    "have written something new, only naming it brings it back.",
  writes: true,
  input: z.strictObject({
    edit: z.string().min(1).optional().describe("the Edit to bring back"),
    actor: z
      .string()
      .min(1)
      .optional()
      .describe("what this actor undid last; by default what you did"),
    ...flipInput,
  }),
  output: flipAnswer,
  examples: [
    { when: "You undid too much.", input: {} },
    { when: "Bring one Edit back.", input: { edit: "e7-12" } },
  ],
  async run(kernel, { input, invocation, fingerprint }) {
    const { edit, actor } = input;
    return showFlipped(
      kernel,
      invocation,
      await kernel.redo(invocation, { edit, actor, fingerprint }),
    );
  },
});
