import * as z from "zod";
import { defineTool, writing } from "../../tools/index.ts";
import { pathArgument, placeFor } from "./shared.ts";

export const fileReload = defineTool({
  name: "file_reload",
  description:
    "Makes a block what its file says, and gives up what was not saved: a new version, so that it can be undone. Its " +
    "conflicts are resolved with it. What others change on disk is merged in without this.",
  writes: true,
  keepsAnswer: true,
  input: z.strictObject({
    path: pathArgument,
    reader: writing.reader,
    call_id: writing.call_id,
    message: writing.message,
  }),
  output: z.strictObject({ path: z.string(), block_id: z.string(), version: z.int() }),
  examples: [{ when: "Start over from what is on disk.", input: { path: "src/main.ts" } }],
  async run(kernel, { input, invocation }) {
    const { mount, path } = await placeFor(kernel, invocation, input.path, "change");
    const file = await mount.source.reload(invocation, path);
    const version = await kernel.version(file.block);
    return { path, block_id: file.block, version };
  },
});
