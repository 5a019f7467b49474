import * as z from "zod";
import { defineTool } from "../define-tool.ts";
import { flipAnswer, flipInput, showFlipped } from "./flip.ts";

export const blockUndo = defineTool({
  name: "block_undo",
  description:
    "Takes one Edit back in every block it changed: the newest of your session, or the one you name. What others wrote stays, also " +
    "inside it and in its place, and text that comes back keeps its author. Any order works; block_redo brings it back.",
  writes: true,
  input: z.strictObject({
    edit: z.string().min(1).optional().describe("the Edit to take back; by default the newest"),
    actor: z.string().min(1).optional().describe("whose newest Edit; by default your own"),
    ...flipInput,
  }),
  output: flipAnswer,
  examples: [
    { when: "Take back what you did last.", input: {} },
    { when: "Take back one Edit.", input: { edit: "e7-12", message: "it broke the build" } },
  ],
  async run(kernel, { input, invocation, fingerprint }) {
    const { edit, actor } = input;
    return showFlipped(
      kernel,
      invocation,
      await kernel.undo(invocation, { edit, actor, fingerprint }),
    );
  },
});
