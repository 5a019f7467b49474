import * as z from "zod";
import { defineTool, writing } from "../../tools/index.ts";
import { pathArgument, placeFor } from "./shared.ts";

export const fileCreate = defineTool({
  name: "file_create",
  description:
    "Makes a new file with its folders, on disk before the answer. Never over a file that is there: edit that one.",
  writes: true,
  keepsAnswer: true,
  input: z.strictObject({
    path: pathArgument,
    content: z.string().optional().describe("its text; empty by default"),
    reader: writing.reader,
    call_id: writing.call_id,
    message: writing.message,
  }),
  output: z.strictObject({ block_id: z.string(), path: z.string(), version: z.int() }),
  examples: [
    { when: "A new module.", input: { path: "src/new.ts", content: "export const one = 1;\n" } },
  ],
  async run(kernel, { input, invocation }) {
    const { mount, path } = await placeFor(kernel, invocation, input.path, "create");
    const { block } = await mount.source.making.create(invocation, path, input.content ?? "");
    const version = await kernel.version(block);
    kernel.readers.show(invocation, block, version);
    return { block_id: block, path, version };
  },
});
