import { expect, test } from "vitest";
import * as z from "zod";
import { problemWords } from "./problem-words.ts";

const operation = z.discriminatedUnion("op", [
  z.strictObject({ op: z.literal("insert"), line: z.int().min(0) }),
  z.strictObject({ op: z.literal("delete") }),
]);

/** What is said of a value that does not fit. */
function said(schema: z.ZodType, input: unknown): string[] {
  const { error } = schema.safeParse(input, { error: problemWords });
  return error!.issues.map(({ path, message }) => [...path, message].join(" "));
}

test.each<[schema: z.ZodType, input: unknown, ...said: string[]]>([
  [z.string(), 5, "it must be a text, not the number 5"],
  [z.number(), "5", "it must be a number, not a text"],
  [z.int(), 1.5, "it must be a whole number, not the number 1.5"],
  [z.boolean(), null, "it must be true or false, not null"],
  [z.array(z.string()), { a: "b" }, "it must be a list, not an object"],
  [z.tuple([z.int(), z.int()]), "1:2", "it must be a list, not a text"],
  [z.record(z.string(), z.int()), ["a"], "it must be an object, not a list"],
  [z.strictObject({ a: z.string() }), {}, "a it is missing"],
  [z.string().min(1), "", "it may not be empty"],
  [z.array(z.int()).min(1), [], "it may not be empty"],
  [z.string().min(3), "ab", "it must have 3 characters or more"],
  [z.string().max(2), "abc", "it may have 2 characters at most"],
  [z.array(z.int()).max(1), [1, 2], "it may have 1 element at most"],
  [z.tuple([z.int(), z.int()]), [1], "it must have 2 elements or more"],
  [z.int().min(1), 0, "it must be 1 or more, not the number 0"],
  [z.int().max(9), 10, "it must be 9 or less, not the number 10"],
  [z.number().gt(0), 0, "it must be more than 0, not the number 0"],
  [z.number().lt(9), 9, "it must be less than 9, not the number 9"],
  [z.enum(["user", "tool", "model"]), "usr", 'it must be "user", "tool" or "model", not "usr"'],
  [z.literal(true), "yes", 'it must be true, not "yes"'],
  [
    z.union([z.enum(["first", "all"]), z.int().min(1)]),
    "second",
    'it must be "first", "all" or a number, not "second"',
  ],
  [z.union([z.string(), z.array(z.int())]), [1, "x"], "1: it must be a number, not a text"],
  [operation, { op: "insrt", line: 1 }, 'op it must be "insert" or "delete", not "insrt"'],
  [operation, {}, 'op it must be "insert" or "delete"'],
  [operation, { op: "insert", line: "1" }, "line it must be a number, not a text"],
  [z.string().regex(/^[a-z]+$/), "A", "it must match /^[a-z]+$/"],
  [z.string().regex(/^[a-z]+$/, "small letters, please"), "A", "small letters, please"],
  [z.string().refine((text) => text === "a", "only a"), "b", "only a"],
])("what does not fit is said in words (%#)", (schema, input, ...expected) => {
  expect(said(schema, input)).toEqual(expected);
});

test("a long text that is not one of few is not repeated whole", () => {
  expect(said(z.enum(["a", "b"]), "x".repeat(1000))).toEqual([
    `it must be "a" or "b", not "${"x".repeat(40)}…"`,
  ]);
});
