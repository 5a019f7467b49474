import * as z from "zod";
import { lineAt, lineCount, lineStart } from "../../base/index.ts";
import { defineTool } from "../define-tool.ts";
import { lineRange, linesWithin } from "./line-range.ts";
import { blockArgument, checkBlock } from "./shared.ts";

export const blockBlame = defineTool({
  name: "block_blame",
  description: "Says for each stretch of a block who wrote it, in which Edit, when and why.",
  writes: false,
  input: z.strictObject({
    block_id: blockArgument,
    range: lineRange,
  }),
  output: z.strictObject({
    version: z.int(),
    runs: z.array(
      z.strictObject({
        start_line: z.int().describe("counted from 0"),
        end_line: z.int().describe("the line its last character is on, inclusive"),
        text: z.string(),
        actor: z.string(),
        model: z.string().optional(),
        edit: z.string(),
        time: z.int().describe("milliseconds since 1970"),
        message: z.string().optional(),
      }),
    ),
  }),
  examples: [
    {
      when: "Who wrote the first line?",
      input: { block_id: "main~claude~1", range: { start: 0, end: 1 } },
    },
  ],
  run(kernel, { input }) {
    return kernel.look(checkBlock(input.block_id), ({ document }) => {
      const text = document.current;
      const { first, last } = linesWithin(input.range, lineCount(text));
      const blamed = document.blame(lineStart(text, first), lineStart(text, last));
      const runs = blamed.map(({ start, length, edit, version }) => {
        const { actor, model, time, message } = document.entry(version);
        const end = start + length;
        const written = text.slice(start, end);
        return {
          start_line: lineAt(text, start),
          // Asked behind the run: its last unit may be the second half of a character.
          end_line: lineAt(text, end) - (written.endsWith("\n") ? 1 : 0),
          text: written,
          actor,
          model,
          edit,
          time,
          message,
        };
      });
      return { version: document.version, runs };
    });
  },
});
