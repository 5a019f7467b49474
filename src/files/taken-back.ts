import type { EditTarget } from "../blocks/index.ts";
import type { Kernel } from "../kernel/index.ts";
import { DISK, type FoundText } from "./found-text.ts";
import type { MountedFile } from "./mounted-file.ts";

/** By Edit, what its blocks say without it. */
type TakenBack = ReadonlyMap<string, ReadonlyMap<string, string>>;

const NOTHING: TakenBack = new Map();

/**
 * The Edits that were the last in these files' blocks, if they were the disk's and without them all say just what is on disk now:
 * what they took away has returned, by `git stash pop`, another branch and back, or the undo of an editor. Undone rather than
 * written over, it returns with its authors, and they can still undo it. What others wrote is not the disk's to undo: to take
 * it away is an Edit of the disk, which people find and undo as such.
 */
export async function takenBack(
  kernel: Kernel,
  found: Iterable<readonly [MountedFile, Pick<FoundText, "text">]>,
): Promise<TakenBack> {
  const edits = new Map<string, Map<string, string>>();
  for (const [file, { text }] of found) {
    const edit = await kernel.tryOut(file.block, (target) => {
      // Of this one nothing is to be taken in.
      if (target.current.length === text.length && target.read() === text) return "none";
      return isAsOnDisk(file, target) ? newestWithoutWhich(target, text) : undefined;
    });
    if (edit === undefined) return NOTHING;
    if (edit === "none") continue;
    if (!edits.has(edit)) edits.set(edit, new Map());
    edits.get(edit)!.set(file.block, text);
  }
  return edits;
}

/** Nobody has to decide about it, and the block has nothing that the file had not. */
function isAsOnDisk({ synced, waits }: MountedFile, { version }: EditTarget): boolean {
  if (synced === undefined || waits) return false;
  return "version" in synced.base && synced.base.version === version;
}

function newestWithoutWhich(target: EditTarget, text: string): string | undefined {
  const [newest] = target.authors([target.version]);
  if (newest?.actor !== DISK.actor) return undefined;
  let before = target.version - 1;
  while (before > 0 && target.authors([before])[0]?.edit === newest.edit) before -= 1;
  // What was first read from a file is nobody's Edit.
  if (before === 0) return undefined;
  const isLong = target.past(before)?.length === text.length;
  return isLong && target.read(before) === text ? newest.edit : undefined;
}
