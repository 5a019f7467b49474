import * as z from "zod";
import type { FoundLine } from "../kernel/index.ts";

/** What every search takes. */
export const searching = {
  query: z
    .string()
    .min(1)
    .max(4096)
    .describe("a regular expression of JavaScript, or any text when literal is true"),
  literal: z.boolean().optional().describe("look for the query as it stands"),
  ignore_case: z.boolean().optional().describe("upper and lower case are the same"),
};

export function contextLines(byDefault: number): z.ZodOptional<z.ZodInt> {
  return z
    .int()
    .min(0)
    .max(20)
    .optional()
    .describe(`lines shown before and after each match; ${byDefault} by default`);
}

export const foundLine = z.strictObject({
  line: z.int().describe("counted from 0, as in block_read and block_edit"),
  match_start: z.int().describe("column of the first match on the line, in UTF-16 units from 0"),
  match_end: z.int().describe("column behind it"),
  end_line: z.int().optional().describe("where the match ends, if on a later line"),
  content: z.string().describe("the line"),
  shortened: z
    .strictObject({ from: z.int(), length: z.int() })
    .optional()
    .describe("the line is too long: content begins at this column of a line of this length"),
  before: z.array(z.string()),
  after: z.array(z.string()),
});

export function showLine(found: FoundLine): z.input<typeof foundLine> {
  const { line, endLine, start, end, content, from, length, before, after } = found;
  return {
    line,
    match_start: start,
    match_end: end,
    ...(endLine > line && { end_line: endLine }),
    content,
    ...(content.length < length && { shortened: { from, length } }),
    before: [...before],
    after: [...after],
  };
}
