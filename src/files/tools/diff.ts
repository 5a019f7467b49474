import * as z from "zod";
import { defineTool } from "../../tools/index.ts";
import { fileStatus, pathArgument, placeFor } from "./shared.ts";

export const fileDiff = defineTool({
  name: "file_diff",
  description:
    "What the block has that the file on disk has not, as a unified diff from disk to block, under a header that says how " +
    "they stand. Empty when they are the same.",
  writes: false,
  input: z.strictObject({ path: pathArgument }),
  output: z.strictObject({ path: z.string(), status: fileStatus, diff: z.string() }),
  examples: [{ when: "What is not saved yet?", input: { path: "src/main.ts" } }],
  async run(kernel, { input, invocation }) {
    const { mount, path } = await placeFor(kernel, invocation, input.path, "read");
    return { path, ...(await mount.diff(path)) };
  },
});
