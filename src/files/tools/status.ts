import { join } from "node:path";
import * as z from "zod";
import { isBlockId } from "../../base/index.ts";
import type { Invocation, Kernel } from "../../kernel/index.ts";
import { defineTool } from "../../tools/index.ts";
import { shownConflict } from "../conflicts.ts";
import type { Mount } from "../mount.ts";
import { Mounts } from "../mounts.ts";
import { findPlaceOrRoot, type FoundPlace } from "../places.ts";
import { absent } from "../refusals.ts";
import { diskTime, fileStatus, pathArgument, placeFor } from "./shared.ts";

const side = z.strictObject({ start: z.int(), end: z.int(), text: z.string() });

const conflictAnswer = z.strictObject({
  conflict: z.string().describe("pass it to file_resolve"),
  path: z.string(),
  block_id: z.string(),
  version: z.int().describe("the version in which the one side stands"),
  stood: z.enum(["disk", "memory", "nobody"]),
  gone: z.literal(true).optional().describe("the file was deleted: memory brings it back"),
  theirs: z.string().describe("who changed the file"),
  mine: z.array(z.string()).describe("who changed the block"),
  base: side.describe("lines counted from 0, ends exclusive"),
  memory: side,
  disk: side,
});

export const fileStatusTool = defineTool({
  name: "file_status",
  description:
    "How files stand: whether block and disk are the same, who is ahead, what is in conflict. One file, or all that have blocks, " +
    "everywhere or below a folder.",
  writes: false,
  input: z.strictObject({
    path: pathArgument
      .optional()
      .describe("a file or a folder, relative to the mounted one; in another @name/path"),
  }),
  output: z.strictObject({
    files: z.array(
      z.strictObject({
        path: z.string(),
        block_id: z.string().optional(),
        status: fileStatus,
        disk_mtime: diskTime,
        why: z.string().optional().describe("why it could not be saved or read"),
      }),
    ),
    conflicts: z.array(conflictAnswer),
  }),
  examples: [{ when: "Is anything in conflict?", input: {} }],
  async run(kernel, { input, invocation }) {
    const mounts = Mounts.of(kernel);
    const { wanted, isMeant } = await meantBy(kernel, invocation, input.path);
    const files: {
      path: string;
      block_id?: string;
      status: z.input<typeof fileStatus>;
      disk_mtime?: string;
      why?: string;
    }[] = [];
    const { kind = "person" } = invocation;
    for (const { mount, path } of wanted) {
      // Who may not read a file is not told of it either, unless they name it and hear why.
      if (mount.decide(path, "read", kind).decision !== "allow") continue;
      const file = mount.source.files.at(path);
      const { status, modified, ...standing } = await mount.source.standing.of(path);
      const why = standing.why ?? file?.unsaved?.message;
      files.push({
        path,
        ...(file !== undefined && { block_id: file.block }),
        status,
        ...(modified !== undefined && { disk_mtime: modified }),
        ...(why !== undefined && { why }),
      });
    }
    const conflicts = mounts.conflicts
      .list()
      .filter(({ block, path }) => {
        const mount = mounts.fileOf(block)?.mount;
        return mount !== undefined && isMeant(mount, path) && kernel.mayRead(invocation, block);
      })
      .map(shownConflict);
    return { files, conflicts };
  },
});

interface Meant {
  readonly wanted: readonly Pick<FoundPlace, "mount" | "path">[];
  /** Whether what was at a path is asked for, too. */
  readonly isMeant: (mount: Mount, path: string) => boolean;
}

async function meantBy(
  kernel: Kernel,
  invocation: Invocation,
  given: string | undefined,
): Promise<Meant> {
  const mounts = Mounts.of(kernel);
  const folder = given === undefined ? "/" : folderOf(mounts, given, invocation);
  if (folder !== undefined) {
    const isMeant = (mount: Mount, path: string): boolean =>
      // What was at the folder's own place before is a file that stands badly.
      join(mount.root, path, "/").startsWith(folder);
    return { wanted: await missed(kernel, loaded(mounts, isMeant)), isMeant };
  }
  const place = await placeFor(kernel, invocation, given!, "read");
  const { source } = place.mount;
  if (source.files.at(place.path) === undefined && source.disk.kindAt(place.path) === "absent")
    throw absent(source, place.path);
  return {
    wanted: [place],
    isMeant: (mount, path) => mount === place.mount && path === place.path,
  };
}

/** The folder that is meant, with a slash at its end; undefined when it is none. */
function folderOf(mounts: Mounts, given: string, { folder }: Invocation): string | undefined {
  if (isBlockId(given)) return undefined;
  const { mount, path } = findPlaceOrRoot(mounts, given, { folder });
  const { source, root } = mount;
  const isFolder = path === "" || source.disk.kindAt(path) === "folder";
  return isFolder ? join(root, path, "/") : undefined;
}

/** What has a block, in the order of the paths of each mount. */
function loaded(mounts: Mounts, isMeant: Meant["isMeant"]): Meant["wanted"] {
  return mounts.list().flatMap((mount) =>
    mount.source.files
      .paths()
      .filter((path) => isMeant(mount, path))
      .toSorted()
      .map((path) => ({ mount, path })),
  );
}

/** Without the files whose making was undone: nobody misses one of those. */
async function missed(kernel: Kernel, wanted: Meant["wanted"]): Promise<Meant["wanted"]> {
  const meant: Pick<FoundPlace, "mount" | "path">[] = [];
  for (const place of wanted) {
    const file = place.mount.source.files.at(place.path);
    const isGone = file?.isAway === true && file.damaged === undefined;
    if (!isGone || !(await kernel.isUnmade(file.block))) meant.push(place);
  }
  return meant;
}
