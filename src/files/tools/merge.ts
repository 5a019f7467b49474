import * as z from "zod";
import type { Invocation, Kernel } from "../../kernel/index.ts";
import { defineTool, writing } from "../../tools/index.ts";
import type { FileSource } from "../file-source.ts";
import type { MadeElsewhere } from "../made-elsewhere.ts";
import { Mounts } from "../mounts.ts";
import { findPlace } from "../places.ts";
import { fileStatus, pathArgument, placeFor, tellUnsaved } from "./shared.ts";

export const fileMerge = defineTool({
  name: "file_merge",
  description:
    "Takes the whole text that you made of an older version of a file, in an editor for example: what you changed in it is " +
    "merged with what others wrote since. Where both changed the same lines, an agent's give way, and a person's stand as " +
    "the rules of the folder say; the others are kept as a conflict. A file that is not there is made. A text that is still its base changes nothing.",
  writes: true,
  keepsAnswer: true,
  input: z.strictObject({
    path: pathArgument,
    text: z.string().describe("all that the file shall say, as you see it"),
    base_version: z.int().min(0).describe("the version that you made it of; 0 when there was none"),
    base: z
      .string()
      .optional()
      .describe("what you made it of when no version says that: the text you passed last"),
    reader: writing.reader,
    call_id: writing.call_id,
    message: writing.message,
  }),
  output: z.strictObject({
    path: z.string(),
    block_id: z.string().optional().describe("absent while there is no such file"),
    version: z.int().describe("0 while there is no such file"),
    merged: z.boolean().describe("whether the file now says something else than your text"),
    remade: z
      .literal(true)
      .optional()
      .describe("the file had been deleted since you read it: it is made again"),
    status: fileStatus,
  }),
  examples: [
    {
      when: "You edited version 3 for a while.",
      input: { path: "src/a.ts", text: "export const two = 2;\n", base_version: 3 },
    },
  ],
  async run(kernel, { input, invocation }) {
    const { text, base_version, base = base_version === 0 ? "" : undefined } = input;
    const { mount, path } = findPlace(Mounts.of(kernel), input.path, invocation);
    const { source } = mount;
    const isWanted = source.files.at(path)?.wanted === true;
    const isThere = isWanted || source.disk.identity(path) !== undefined;
    await placeFor(kernel, invocation, input.path, isThere ? "change" : "create");
    const made = { text, base: base ?? { version: base_version }, since: base_version };
    if (!isThere && (await isItsBase(kernel, invocation, source, path, made)))
      return { path, version: 0, merged: false, status: await mount.statusOf(path) };
    const { block } = isThere
      ? await source.mergeIn(invocation, path, made)
      : await source.making.create(invocation, path, text, { isEdited: base !== "" });
    tellUnsaved(kernel, invocation, [block]);
    const { version, text: now } = await kernel.read(block);
    kernel.readers.show(invocation, block, version);
    const status = await mount.statusOf(path);
    const remade = !isThere && base_version > 0 && { remade: true as const };
    return { path, block_id: block, version, merged: now !== text, ...remade, status };
  },
});

/** Whether a text is still what it was made of, although there is no such file now. */
async function isItsBase(
  kernel: Kernel,
  invocation: Invocation,
  { files }: FileSource,
  path: string,
  { text, base }: MadeElsewhere,
): Promise<boolean> {
  if (typeof base === "string") return text === base;
  const { version } = base;
  const known = files.at(path);
  const isShown = (block: string) => kernel.readers.shown(invocation, block) === version;
  // The block of one that was moved went with it: it is among those that the caller has seen.
  const blocks =
    known === undefined
      ? files
          .all()
          .map(({ block }) => block)
          .filter(isShown)
      : [known.block];
  for (const block of blocks)
    if ((await kernel.tryOut(block, (target) => target.read(version))) === text) return true;
  return false;
}
