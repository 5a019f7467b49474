/** A zod schema that tells a model the form of its answer, and reads tool calls out of it while they come. */
import { PromptSchema } from "kumiko/prompt/schema";
import { z } from "zod";

const calls = new PromptSchema(
  "calls",
  z
    .array(
      z.discriminatedUnion("name", [
        z.object({ name: z.literal("read"), path: z.string() }),
        z.object({ name: z.literal("write"), path: z.string(), content: z.string() }),
      ]),
    )
    .meta({ item: "call" }),
);

console.log(calls.instructionText());

const stream = calls.stream();
for (const token of [
  '<calls><call name="read"><path>a.',
  'ts</path></call><call name="write"><pa',
  "th>b.html</path><content><b>hi</b></con",
  "tent></call></calls>",
]) {
  stream.feed(token);
  console.log(JSON.stringify(stream.partial));
}
const result = stream.end();
if (result.ok) for (const call of result.value) console.log(call.name, call.path);
