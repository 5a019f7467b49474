import * as z from "zod";
import { defineTool, writing } from "../../tools/index.ts";
import { fileStatus, pathArgument, placeFor } from "./shared.ts";

export const fileLoad = defineTool({
  name: "file_load",
  description:
    "Makes a file a block and says which: from then on its lines, versions and authors are those of the block, and what " +
    "others change on disk is merged in. Every block tool also takes the path itself and loads the file on its own.",
  writes: false,
  input: z.strictObject({ path: pathArgument, reader: writing.reader }),
  output: z.strictObject({
    block_id: z.string(),
    path: z.string(),
    version: z.int(),
    status: fileStatus,
  }),
  examples: [{ when: "Before you work on it.", input: { path: "src/main.ts" } }],
  async run(kernel, { input, invocation }) {
    const { mount, path } = await placeFor(kernel, invocation, input.path, "read");
    const file = await mount.source.load(path);
    return {
      block_id: file.block,
      path,
      version: await kernel.version(file.block),
      status: await mount.statusOf(path),
    };
  },
});
