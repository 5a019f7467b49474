import * as z from "zod";

/** Some lines of a block, as every tool takes them. */
export const lineRange = z
  .strictObject({ start: z.int().min(0), end: z.int().min(0) })
  .optional()
  .describe("lines, counted from 0, end exclusive");

/** Those of them that a text of so many lines has, or all of it: whoever asks for more is given what there is. */
export function linesWithin(
  range: z.output<typeof lineRange>,
  count: number,
): { first: number; last: number } {
  const first = Math.min(range?.start ?? 0, count);
  return { first, last: Math.max(first, Math.min(range?.end ?? count, count)) };
}
