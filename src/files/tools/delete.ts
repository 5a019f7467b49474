import * as z from "zod";
import { defineTool, writing } from "../../tools/index.ts";
import { pathArgument, placeFor } from "./shared.ts";

export const fileDelete = defineTool({
  name: "file_delete",
  description:
    "Deletes a file on disk, if it is still what its block says. The block and its history stay: file_create with the old " +
    "text brings it back.",
  writes: true,
  input: z.strictObject({ path: pathArgument, reader: writing.reader, message: writing.message }),
  output: z.strictObject({ path: z.string(), block_id: z.string(), version: z.int() }),
  examples: [{ when: "It is not used any more.", input: { path: "src/old.ts" } }],
  async run(kernel, { input, invocation }) {
    const { mount, path } = await placeFor(kernel, invocation, input.path, "delete");
    const file = await mount.source.load(path);
    await mount.source.delete(file);
    return { path, block_id: file.block, version: await kernel.version(file.block) };
  },
});
