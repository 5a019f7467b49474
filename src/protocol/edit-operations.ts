import * as z from "zod";

const line = z.int().min(0).describe("a line number, counted from 0");

/** The operations of `block_edit`. Lines count from 0, ends are exclusive. */
export const editOperation = z.discriminatedUnion("op", [
  z.strictObject({
    op: z.literal("insert"),
    line: line.describe("insert before this line; the line count adds at the end"),
    content: z.string(),
  }),
  z.strictObject({
    op: z.literal("delete"),
    start_line: line,
    end_line: line,
    expected_text: z.string().optional(),
  }),
  z.strictObject({
    op: z.literal("replace"),
    start_line: line,
    end_line: line,
    content: z.string(),
    expected_text: z.string().optional(),
  }),
]);

export type EditOperation = z.infer<typeof editOperation>;
