import * as z from "zod";
import { defineTool, writing } from "../../tools/index.ts";
import { Mounts } from "../mounts.ts";
import { findPlace } from "../places.ts";
import { checkNoLink, checkWay } from "../whole-changes.ts";
import { pathArgument, wholeFileAnswer } from "./shared.ts";

export const fileMove = defineTool({
  name: "file_move",
  description:
    "Moves or renames a file within its folder. Its block, history and authors go with it. Never over a file that is there; a link to one is not moved. " +
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
    const mounts = Mounts.of(kernel);
    const from = findPlace(mounts, input.path, invocation);
    const to = findPlace(mounts, input.to, invocation);
    checkWay(from, to, invocation);
    checkNoLink(from);
    const { source } = from.mount;
    const file = await source.load(from.path);
    const places = { from: from.path, to: to.path };
    const moved = await source.going.move(invocation, file, places);
    return { path: to.path, block_id: file.block, ...moved };
  },
});
