import * as z from "zod";
import { KumikoError } from "../../base/index.ts";
import { defineTool, writing } from "../../tools/index.ts";
import { pathArgument, placeFor, wholeFileAnswer } from "./shared.ts";

export const fileMove = defineTool({
  name: "file_move",
  description:
    "Moves or renames a file within its folder. Its block, history and authors go with it. Never over a file that is there. " +
    "block_undo moves it back.",
  writes: true,
  keepsAnswer: true,
  input: z.strictObject({
    path: pathArgument,
    to: z.string().min(1).describe("where it goes, in the same folder"),
    reader: writing.reader,
    call_id: writing.call_id,
    message: writing.message,
  }),
  output: wholeFileAnswer,
  examples: [{ when: "A better name.", input: { path: "src/a.ts", to: "src/parser.ts" } }],
  async run(kernel, { input, invocation }) {
    const from = await placeFor(kernel, invocation, input.path, "delete");
    // Other rules hold where it goes: only who may read it here takes it there.
    await placeFor(kernel, invocation, input.path, "read");
    const to = await placeFor(kernel, invocation, input.to, "create");
    if (from.mount !== to.mount) {
      throw new KumikoError(
        "invalid_argument",
        `${from.path} is in @${from.mount.name} and ${to.path} in @${to.mount.name}: create it there and delete it here.`,
        { from: from.mount.name, to: to.mount.name },
      );
    }
    const { source } = from.mount;
    const file = await source.load(from.path);
    const places = { from: from.path, to: to.path };
    const moved = await source.going.move(invocation, file, places);
    return { path: to.path, block_id: file.block, ...moved };
  },
});
