import * as z from "zod";
import { defineTool, writing } from "../../tools/index.ts";
import { checkNoLink } from "../whole-changes.ts";
import { pathArgument, placeFor, wholeFileAnswer } from "./shared.ts";

export const fileDelete = defineTool({
  name: "file_delete",
  description:
    "Deletes a file on disk, if it is still what its block says; a link to one is refused. The block and its history stay: block_undo brings the file " +
    "back.",
  writes: true,
  keepsAnswer: true,
  input: z.strictObject({
    path: pathArgument,
    reader: writing.reader,
    call_id: writing.call_id,
    message: writing.message,
  }),
  output: wholeFileAnswer,
  examples: [{ when: "It is not used any more.", input: { path: "src/old.ts" } }],
  async run(kernel, { input, invocation }) {
    const place = await placeFor(kernel, invocation, input.path, "delete");
    checkNoLink(place);
    const { mount, path } = place;
    const file = await mount.source.load(path);
    return { path, block_id: file.block, ...(await mount.source.going.delete(invocation, file)) };
  },
});
