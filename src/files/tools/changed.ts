import { z } from "zod";
import { KumikoError } from "../../base/index.ts";
import { defineTool, writing } from "../../tools/index.ts";
import type { Mount } from "../mount.ts";
import type { MountedFile } from "../mounted-file.ts";
import { fileStatus, pathArgument, placeFor } from "./shared.ts";

export const fileChanged = defineTool({
  name: "file_changed",
  description:
    "Says that you changed a file with tools of your own, not with these: what is on disk is taken in at once as yours. " +
    "With begins you say so beforehand: what changes there within 30 seconds is yours, and not of somebody unknown.",
  writes: true,
  input: z.strictObject({
    path: pathArgument,
    begins: z.boolean().optional().describe("you are about to write it; nothing is taken in yet"),
    tool: z.string().min(1).max(64).optional().describe("which tool of yours, for the history"),
    turn: z.string().min(1).max(128).optional().describe("in which turn of yours"),
    reader: writing.reader,
    message: writing.message,
  }),
  output: z.strictObject({
    path: z.string(),
    block_id: z.string().optional().describe("absent while there is no such file"),
    version: z.int().optional(),
    status: fileStatus,
  }),
  examples: [
    { when: "Before you write it with another tool.", input: { path: "src/a.ts", begins: true } },
    { when: "After you wrote it.", input: { path: "src/main.ts", tool: "Write" } },
  ],
  async run(kernel, { input, invocation }) {
    const { mount, path } = await placeFor(kernel, invocation, input.path, "change");
    const { tool = invocation.tool, turn = invocation.turn } = input;
    const cause = { ...invocation, tool, turn };
    const { source } = mount;
    let file: MountedFile | undefined;
    if (input.begins === true) {
      file = await before(mount, path);
      source.claims.begin(path, cause);
    } else {
      file = source.at(path) ?? (await source.load(path));
      await source.takeIn(cause, file);
    }
    const status = await mount.statusOf(path);
    if (file === undefined) return { path, status };
    return { path, block_id: file.block, version: await kernel.version(file.block), status };
  },
});

/** What is there before it is written; a file that is new, or no text yet, has nothing that others wrote. */
async function before(mount: Mount, path: string): Promise<MountedFile | undefined> {
  try {
    return await mount.source.load(path);
  } catch (error) {
    const codes = ["not_on_disk", "file_unreadable", "file_absent"];
    if (error instanceof KumikoError && codes.includes(error.code)) return undefined;
    throw error;
  }
}
