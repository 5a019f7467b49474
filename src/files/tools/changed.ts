import * as z from "zod";
import { KumikoError } from "../../base/index.ts";
import type { Kernel } from "../../kernel/index.ts";
import { defineTool, writing } from "../../tools/index.ts";
import type { Announced } from "../announced.ts";
import type { Mount } from "../mount.ts";
import type { MountedFile } from "../mounted-file.ts";
import { Mounts } from "../mounts.ts";
import { findPlace } from "../places.ts";
import { fileStatus, pathArgument, tellUnsaved } from "./shared.ts";

const MOST = 1_000;

export const fileChanged = defineTool({
  name: "file_changed",
  description:
    "Says that you changed a file with tools of your own, not with these: what is on disk is taken in at once as yours. " +
    "With begins you say so beforehand: what was there before is not yours. If you also say what you will write (content, " +
    "edits or holds), a change that has it in it is yours within the hour, whoever comes upon it first. With given_up you " +
    "take back what you announced in a turn and did not do.",
  writes: true,
  input: z.strictObject({
    path: pathArgument.optional().describe("the file; needed unless you give up a whole turn"),
    begins: z.boolean().optional().describe("you are about to write it; nothing is taken in yet"),
    content: z.string().optional().describe("with begins: the whole text that it will have"),
    edits: z
      .array(
        z.strictObject({
          old: z.string(),
          new: z.string(),
          all: z.boolean().optional().describe("wherever it stands; else where it stands first"),
        }),
      )
      .max(MOST)
      .optional()
      .describe("with begins: what you will put in place of what, one after the other"),
    holds: z
      .array(z.string())
      .max(MOST)
      .optional()
      .describe("with begins: some of what it will say then and does not say yet"),
    given_up: z.boolean().optional().describe("what you announced in this turn will not happen"),
    tool: z.string().min(1).max(64).optional().describe("which tool of yours, for the history"),
    turn: z.string().min(1).max(128).optional().describe("in which turn of yours"),
    reader: writing.reader,
    message: writing.message,
  }),
  output: z.strictObject({
    path: z.string().optional().describe("absent when a whole turn was given up"),
    block_id: z.string().optional().describe("absent while there is no such file"),
    version: z.int().optional(),
    status: fileStatus.optional(),
  }),
  examples: [
    {
      when: "Before you write it with another tool.",
      input: { path: "src/a.ts", begins: true, edits: [{ old: "one", new: "two" }] },
    },
    { when: "After you wrote it.", input: { path: "src/main.ts", tool: "Write" } },
  ],
  async run(kernel, { input, invocation }) {
    const { path: given, begins = false, given_up: givenUp = false } = input;
    const { tool = invocation.tool, turn = invocation.turn } = input;
    const cause = { ...invocation, tool, turn };
    const announced = announcedIn(input, begins);
    if (givenUp) {
      if (begins) throw contradiction("begins and given_up mean opposite things");
      return giveUp(kernel, given, cause);
    }
    if (given === undefined) throw contradiction("path is missing");
    // No rule is asked: it has happened, or will, whoever says so. Blame is all that is decided here.
    const { mount, path } = findPlace(Mounts.of(kernel), given, invocation);
    const { source } = mount;
    let file: MountedFile | undefined;
    if (begins) {
      file = await before(mount, path);
      if (announced !== undefined) source.claims.begin(path, cause, announced);
    } else {
      file = source.files.at(path) ?? (await source.load(path));
      await source.takingIn.asOwn(cause, file);
      tellUnsaved(kernel, invocation, [file.block]);
    }
    const status = await mount.statusOf(path);
    if (file === undefined) return { path, status };
    return { path, block_id: file.block, version: await kernel.version(file.block), status };
  },
});

interface Said {
  readonly content?: string | undefined;
  readonly edits?: Extract<Announced, { edits: unknown }>["edits"] | undefined;
  readonly holds?: readonly string[] | undefined;
}

function announcedIn({ content, edits, holds }: Said, begins: boolean): Announced | undefined {
  const said: Announced[] = [];
  if (content !== undefined) said.push({ content });
  if (edits !== undefined) said.push({ edits });
  if (holds !== undefined) said.push({ holds });
  if (said.length > 1) throw contradiction("content, edits and holds say the same thing: pass one");
  if (said.length > 0 && !begins) throw contradiction("what you will write is said with begins");
  return said[0];
}

/** Of one file what this call announced, else everything of the turn. */
async function giveUp(
  kernel: Kernel,
  given: string | undefined,
  cause: Parameters<Mount["source"]["claims"]["end"]>[1],
): Promise<{ path?: string }> {
  const mounts = Mounts.of(kernel);
  if (given === undefined) {
    for (const { source } of mounts.list()) source.claims.withdraw(cause);
    return {};
  }
  const { mount, path } = findPlace(mounts, given, cause);
  mount.source.claims.end(path, cause);
  return { path };
}

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

function contradiction(what: string): KumikoError {
  return new KumikoError("invalid_argument", `file_changed cannot be called like that: ${what}.`, {
    tool: "file_changed",
  });
}
