import * as z from "zod";
import { defineTool } from "../define-tool.ts";
import { contextLines, foundLine, searching, showLine } from "../searching.ts";
import { blockArgument, checkBlock } from "./shared.ts";

const CONTEXT_LINES = 2;
const MATCHES = 20;

export const blockSearch = defineTool({
  name: "block_search",
  description:
    "Finds lines in a block that match a regular expression (JavaScript's, line by line; a query that contains \\n is matched " +
    "over line ends). One result per line, at its first match. Lines are counted from 0 and mean the version in the answer: pass " +
    "it as base_version to edit by these lines. Stops at max_matches and says truncated; an expression that takes too long is " +
    "ended, and the answer says timed_out with what was found until then.",
  writes: false,
  input: z.strictObject({
    block_id: blockArgument,
    ...searching,
    context_lines: contextLines(CONTEXT_LINES),
    max_matches: z.int().min(1).max(1000).optional().describe(`${MATCHES} by default`),
    version: z.int().min(0).optional().describe("a past version; by default the current one"),
  }),
  output: z.strictObject({
    block_id: z.string(),
    version: z.int().describe("what the lines mean; pass it as base_version"),
    matches: z.array(foundLine),
    truncated: z.boolean(),
    timed_out: z.boolean(),
  }),
  examples: [
    {
      when: "Where is it defined?",
      input: { block_id: "main~claude~1", query: "function \\w+\\(" },
    },
    {
      when: "A text with signs in it.",
      input: { block_id: "main~claude~1", query: "a[0] += 1", literal: true },
    },
  ],
  async run(kernel, { input, invocation }) {
    const block = checkBlock(input.block_id);
    const { query, literal = false, ignore_case: ignoreCase = false } = input;
    const found = await kernel.search.inBlock(invocation, {
      block,
      version: input.version,
      query: { query, literal, ignoreCase },
      contextLines: input.context_lines ?? CONTEXT_LINES,
      lines: input.max_matches ?? MATCHES,
    });
    return {
      block_id: block,
      version: found.version,
      matches: found.lines.map(showLine),
      truncated: found.truncated,
      timed_out: found.timedOut,
    };
  },
});
