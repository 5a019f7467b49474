import { KumikoError } from "../base/index.ts";
import type { EditTarget } from "../blocks/index.ts";
import type {
  CallerKind,
  FileFlip,
  Invocation,
  PlannedFlip,
  PlannedGoing,
} from "../kernel/index.ts";
import type { OwnEdit } from "./following.ts";
import type { Mount } from "./mount.ts";
import type { MountedFile } from "./mounted-file.ts";
import type { FoundPlace } from "./places.ts";

/** A path in a folder. */
interface PlaceInMount {
  readonly mount: Mount;
  readonly path: string;
}

/** Throws what the rules say, when a caller may not take a file there, or it is in another folder. */
export function checkWay(from: PlaceInMount, to: PlaceInMount, invocation: Invocation): void {
  const by = callerOf(invocation);
  from.mount.check(from.path, "delete", by);
  // Other rules hold where it goes: only who may read it here takes it there.
  from.mount.check(from.path, "read", by);
  to.mount.check(to.path, "create", by);
  if (from.mount === to.mount) return;
  throw new KumikoError(
    "invalid_argument",
    `${from.path} is in @${from.mount.name} and ${to.path} in @${to.mount.name}: create it there and delete it here.`,
    { from: from.mount.name, to: to.mount.name },
  );
}

/** Throws when a file that is to go was named by a link: that would lead nowhere then. */
export function checkNoLink({ mount, path, given }: FoundPlace): void {
  const link = given === undefined ? undefined : mount.source.disk.linkAt(given);
  if (link === undefined) return;
  throw new KumikoError(
    "invalid_argument",
    `${link} is a link to ${path}, which would go while the link stays: name ${path} if you mean that file, or remove ` +
      "the link with a tool of the system.",
    { path: link, target: path },
  );
}

/** A file that is to be deleted, as part of an Edit. */
export function plannedDeletion(
  invocation: Invocation,
  { source }: Mount,
  file: MountedFile,
): PlannedGoing {
  const { going } = source;
  going.checkGoes(file);
  const { path: from } = file;
  const by = telling(invocation, `deletes ${from}`);
  return {
    block: file.block,
    to: undefined,
    carryOut: async (edit, verify) =>
      (await going.delete(by, file, { how: partOf(edit), from, verify })).version,
  };
}

/** A file that is to be moved, as part of an Edit. */
export function plannedMove(
  invocation: Invocation,
  { name, source }: Mount,
  file: MountedFile,
  to: string,
): PlannedGoing {
  const { going } = source;
  const { path: from } = file;
  going.checkGoes(file);
  going.checkMoves(file, { from, to });
  const by = telling(invocation, `moves ${from} to ${to}`);
  return {
    block: file.block,
    to: `@${name}/${to}`,
    carryOut: async (edit) => (await going.move(by, file, { from, to, how: partOf(edit) })).version,
  };
}

/** A file that somebody deleted is to come back, or to go again if it says what it said then. */
export async function plannedReturn(
  invocation: Invocation,
  mount: Mount,
  file: MountedFile,
  { flip, text }: { readonly flip: FileFlip; readonly text: string },
): Promise<PlannedFlip> {
  const { going } = mount.source;
  const verify = (target: EditTarget): void => {
    if (target.read() !== text) throw saysMore(file.path, flip.flips);
  };
  mount.check(file.path, flip.active ? "delete" : "create", callerOf(invocation));
  if (flip.active) await checkThere(mount, file);
  else unlessTaken(flip, () => going.checkComesBack(file));
  const how = flipOf(flip);
  const carryOut = async (): Promise<number> => {
    const done = flip.active
      ? going.delete(invocation, file, { how, verify })
      : going.bringBack(invocation, file, how);
    return (await done).version;
  };
  const to = flip.active ? undefined : `@${mount.name}/${file.path}`;
  return { change: "deletes", to, carryOut };
}

/** A file that somebody moved is to go back, or to go there again. */
export async function plannedWayBack(
  invocation: Invocation,
  mount: Mount,
  file: MountedFile,
  { from, to, flip }: { readonly from: string; readonly to: string; readonly flip: FileFlip },
): Promise<PlannedFlip> {
  const { going } = mount.source;
  checkWay({ mount, path: from }, { mount, path: to }, invocation);
  unlessTaken(flip, () => going.checkMoves(file, { from, to }));
  await checkThere(mount, file);
  const how = flipOf(flip);
  const carryOut = async (): Promise<number> =>
    (await going.move(invocation, file, { from, to, how })).version;
  return { change: "moves", to: `@${mount.name}/${to}`, carryOut };
}

/** What is there is somebody's, and is not to be deleted for this; nor does it keep anybody from an older Edit. */
function unlessTaken({ flips, active }: FileFlip, check: () => void): void {
  try {
    check();
  } catch (error) {
    if (!(error instanceof KumikoError) || error.code !== "already_exists") throw error;
    const path = error.facts["path"] as string;
    throw new KumikoError(
      "already_exists",
      `Edit ${flips} cannot be ${active ? "redone" : "undone"} now, because something else is at ${path}: move that away, ` +
        "or name the Edit that you mean instead (edit).",
      { path, edit: flips },
    );
  }
}

function saysMore(path: string, edit: string): KumikoError {
  return new KumikoError(
    "conflict",
    `${path} says something else now than what Edit ${edit} deleted: look at it, and delete it with file_delete.`,
    { path, edit },
  );
}

async function checkThere({ source }: Mount, file: MountedFile): Promise<void> {
  const why = await source.refresh(file);
  if (why !== undefined) throw why;
}

function callerOf({ actor, kind = "person" }: Invocation): {
  readonly actor: string;
  readonly kind: CallerKind;
} {
  return { actor, kind };
}

/** The id of an Edit that did more says not what it did to this file. */
function telling(invocation: Invocation, what: string): Invocation {
  const { message } = invocation;
  return { ...invocation, message: message === undefined ? what : `${message} (${what})` };
}

function partOf(edit: string): OwnEdit {
  return { edit, undo: { kind: "text" } };
}

function flipOf({ edit, flips, active }: FileFlip): OwnEdit {
  return { edit, undo: { kind: "flip", edit: flips, active } };
}
