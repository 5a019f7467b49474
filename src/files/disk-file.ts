import {
  accessSync,
  closeSync,
  constants,
  linkSync,
  lstatSync,
  openSync,
  renameSync,
  unlinkSync,
} from "node:fs";
import { KumikoError } from "../base/index.ts";
import type { Place } from "./contained.ts";
import type { Content } from "./content.ts";
import { hasCode, unwritable } from "./disk-errors.ts";
import { type FileStat, sameIdentity, statAt, statOf } from "./file-stat.ts";
import { putBack } from "./put-back.ts";
import { type Keeping, replace, type Saved, settling, type StagedFile } from "./replacing.ts";
import { absent, moved, type Spot } from "./spot.ts";
import { Staged } from "./staged.ts";
import { temporaryName } from "./temporary-name.ts";
import { compareThere, readSpot, readSpotHead, type WholeFile } from "./whole-file.ts";

export type { FileIdentity, FileStat } from "./file-stat.ts";

/** What the caller believes to be there. */
type Expected = Content | "absent";

/** Undefined when there is no such file. */
export function stat(place: Place): FileStat | undefined {
  return ifThere(() => {
    using spot = place.folder.spot(place.path);
    const found = statAt(spot.target, place.path);
    if (found === undefined) return undefined;
    if (!found.isFile() && place.kind !== "link") throw moved(place.path);
    return statOf(found);
  });
}

/** Undefined when there is no such file. Refuses what is larger than the limit, and what changed while it was read. */
export async function readWhole(place: Place, limit: number): Promise<WholeFile | undefined> {
  const spot = ifThere(() => place.folder.spot(place.path));
  if (spot === undefined) return undefined;
  using open = spot;
  return await readSpot(open, limit);
}

/** Its size and its first bytes, as they are at this moment. Undefined when there is no such file. */
export function readHead(
  place: Place,
  length: number,
): { readonly size: number; readonly bytes: Uint8Array } | undefined {
  return ifThere(() => {
    using spot = place.folder.spot(place.path);
    return readSpotHead(spot, length);
  });
}

/**
 * Puts bytes in the place of what is expected to be there, or makes a file where nothing is. Whoever reads meanwhile
 * sees all of the old or all of the new. It answers when the bytes are on the disk and in place.
 *
 * Mode and owner (as far as permitted) are kept, and so are access lists and other attributes: a file that has some, or
 * several names, is written in place.
 */
export async function save(
  place: Place,
  bytes: Uint8Array,
  { expected, mode = 0o666, staged, settle = true, keeping }: Saving,
): Promise<Saved> {
  if (staged !== undefined && expected !== "absent")
    return staged.save(bytes, { expected, settle, keeping });
  using spot = place.folder.spot(place.path, { make: expected === "absent" });
  try {
    return expected === "absent"
      ? await create(spot, bytes, mode)
      : await replace(place.folder, spot, bytes, { expected, settle, keeping });
  } catch (error) {
    if (expected === "absent") spot.unmake();
    throw unwritable(error, place.path);
  }
}

interface Saving {
  readonly expected: Expected;
  readonly mode?: number | undefined;
  /** The same bytes, for the same place. */
  readonly staged?: StagedFile | undefined;
  /** False when the caller sees to it that the folder's entry gets to the disk, for many saves at once. */
  readonly settle?: boolean;
  readonly keeping?: Keeping | undefined;
}

/** What `Saved.settled` promises, for a file that was saved without it; nothing when its folder has gone since. */
export async function settleFolder(place: Place): Promise<void> {
  const spot = ifThere(() => place.folder.spot(place.path));
  if (spot === undefined) return;
  using open = spot;
  await open.settle();
}

/** Throws why nothing can be made there, as far as that shows beforehand: whether there is room does not. */
export function checkMakes({ folder, path }: Place): void {
  const names = path.split("/");
  // Folders that are missing are made in the one that is there.
  for (let count = names.length; count > 0; count--) {
    const spot = ifThere(() => folder.spot(names.slice(0, count).join("/")));
    if (spot === undefined) continue;
    using open = spot;
    try {
      return accessSync(open.beside("."), constants.W_OK | constants.X_OK);
    } catch (error) {
      throw unwritable(error, path);
    }
  }
}

/** Removes a file that is what was expected. */
export async function remove(
  place: Place,
  { expected }: { readonly expected: Content },
): Promise<{ readonly settled: Promise<void> }> {
  using spot = place.folder.spot(place.path);
  try {
    const last = await compareThere(spot, expected);
    spot.stands();
    takeAway(spot, last.stat);
    return { settled: settling(spot) };
  } catch (error) {
    throw hasCode(error, "ENOENT") ? absent(place.path) : unwritable(error, place.path);
  }
}

/** Gives a file, a link or a folder another path, where nothing may be. */
export function move(from: Place, to: Place): Saved {
  using source = from.folder.spot(from.path);
  using target = to.folder.spot(to.path, { make: true });
  try {
    const found = statAt(source.target, from.path);
    if (found === undefined) throw absent(from.path);
    source.stands();
    target.stands();
    if (found.isDirectory()) moveFolder(source, target);
    else moveFile(source, target);
    const settled = Promise.all([settling(source), settling(target)]).then(() => undefined);
    settled.catch(() => undefined);
    return { stat: statOf(lstatSync(target.target, { bigint: true })), settled };
  } catch (error) {
    target.unmake();
    // Both folders stand: what was there a moment ago is gone.
    if (hasCode(error, "ENOENT")) throw absent(from.path);
    throw hasCode(error, "EEXIST", "ENOTEMPTY") ? taken(to.path) : unwritable(error, to.path);
  }
}

async function create(spot: Spot, bytes: Uint8Array, mode: number): Promise<Saved> {
  if (statAt(spot.target, spot.path) !== undefined) throw taken(spot.path);
  using staged = await Staged.write(spot, bytes, { mode });
  await staged.sync();
  spot.stands();
  try {
    // Unlike rename, link never replaces what appeared meanwhile.
    linkSync(staged.target, spot.target);
  } catch (error) {
    if (hasCode(error, "EEXIST")) throw taken(spot.path);
    if (!hasCode(error, "EPERM", "ENOTSUP", "EMLINK")) throw error;
    renameOverOwn(staged.target, spot);
    return { stat: staged.inPlace(), settled: settling(spot) };
  }
  staged.remove();
  return { stat: staged.inPlace(), settled: settling(spot) };
}

/**
 * A crash in between leaves both names for the one file: nothing is lost, and either can be removed. What somebody puts
 * where it was meanwhile stays there.
 */
function moveFile(source: Spot, target: Spot): void {
  try {
    linkSync(source.target, target.target);
  } catch (error) {
    if (!hasCode(error, "EPERM", "ENOTSUP", "EMLINK")) throw error;
    renameOverOwn(source.target, target);
    return;
  }
  const linked = statOf(lstatSync(target.target, { bigint: true }));
  try {
    takeAway(source, linked);
  } catch (error) {
    takeAway(target, linked);
    throw error;
  }
}

/** Only an empty folder that appears within microseconds could be replaced: the system refuses all others. */
function moveFolder(source: Spot, target: Spot): void {
  if (statAt(target.target, target.path) !== undefined) throw taken(target.path);
  renameSync(source.target, target.target);
}

/** For file systems without hard links: the name is first taken by an empty file of ours, which a crash may leave. */
function renameOverOwn(source: string, spot: Spot): void {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;
  closeSync(openSync(spot.target, flags, 0o600));
  try {
    renameSync(source, spot.target);
  } catch (error) {
    unlinkSync(spot.target);
    throw error;
  }
}

/** Removes what was looked at and nothing else: what somebody put there since gets its name back. */
function takeAway(spot: Spot, last: FileStat): void {
  const aside = spot.beside(temporaryName());
  renameSync(spot.target, aside);
  const found = statOf(lstatSync(aside, { bigint: true }));
  if (!sameIdentity(found, last)) {
    putBack(aside, spot.target);
    throw moved(spot.path);
  }
  unlinkSync(aside);
}

function ifThere<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    if (error instanceof KumikoError && error.code === "file_absent") return undefined;
    throw error;
  }
}

function taken(path: string): KumikoError {
  return new KumikoError("already_exists", `There is already something at ${path} on disk.`, {
    path,
  });
}
