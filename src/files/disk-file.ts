import {
  closeSync,
  constants,
  linkSync,
  lstatSync,
  openSync,
  renameSync,
  unlinkSync,
} from "node:fs";
import { KumikoError } from "../base/index.ts";
import { hasAttributes, isPlain, knownAttributes, noteAttributes } from "./attributes.ts";
import type { Folder, Place } from "./contained.ts";
import type { Content } from "./content.ts";
import { hasCode, unwritable } from "./disk-errors.ts";
import { type FileStat, hasSameRights, sameIdentity, statAt, statOf } from "./file-stat.ts";
import { writeInPlace } from "./in-place.ts";
import { ReplacedFile } from "./replaced-file.ts";
import { absent, moved, type Spot } from "./spot.ts";
import { checkWritable, Staged } from "./staged.ts";
import {
  openFile,
  type OpenFile,
  PIECE,
  readOpen,
  readOpenAtOnce,
  readSpot,
  readSpotHead,
  type WholeFile,
} from "./whole-file.ts";

export type { FileIdentity, FileStat } from "./file-stat.ts";

/** What the caller believes to be there. */
type Expected = Content | "absent";

export interface Saved {
  readonly stat: FileStat;
  /** Resolves when the folder's entry is on the disk as well: from then on a power cut cannot bring back the old file. */
  readonly settled: Promise<void>;
}

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
 * several names, is written in place. Between the last look at what is there and the rename lie some
 * hundred microseconds in which another program's write is not seen.
 */
export async function save(
  place: Place,
  bytes: Uint8Array,
  { expected, mode = 0o666, staged, settle = true }: Saving,
): Promise<Saved> {
  if (staged !== undefined && expected !== "absent")
    return staged.save(bytes, { expected, settle });
  using spot = place.folder.spot(place.path, { make: expected === "absent" });
  try {
    return expected === "absent"
      ? await create(spot, bytes, mode)
      : await replace(spot, bytes, { expected, settle });
  } catch (error) {
    if (expected === "absent") spot.unmake();
    throw unwritable(error, place.path);
  }
}

interface Saving {
  readonly expected: Expected;
  readonly mode?: number;
  /** The same bytes, for the same place. */
  readonly staged?: StagedFile | undefined;
  /** False when the caller sees to it that the folder's entry gets to the disk, for many saves at once. */
  readonly settle?: boolean;
}

/** What `Saved.settled` promises, for a file that was saved without it; nothing when its folder has gone since. */
export async function settleFolder(place: Place): Promise<void> {
  const spot = ifThere(() => place.folder.spot(place.path));
  if (spot === undefined) return;
  using open = spot;
  await open.settle();
}

/**
 * Bytes that are to be put in the place of a file, beside it and on their way to the disk; undefined when there is no
 * file that could be replaced by a rename. It is looked at again before that, so `seen` may be of a while ago. The caller
 * owns them.
 */
export function stage(place: Place, bytes: Uint8Array, seen?: FileStat): StagedFile | undefined {
  const { folder, path } = place;
  // It is looked at whether the folder is still there when this is put in place.
  const spot = folder.spot(path, { unchecked: true });
  let staged: StagedFile | undefined;
  try {
    const old = seen ?? fileAt(spot);
    if (old !== undefined && old.links === 1 && bytes.length <= PIECE)
      staged = new StagedFile(folder, spot, Staged.writeAtOnce(spot, bytes, old), old);
    return staged;
  } finally {
    if (staged === undefined) spot[Symbol.dispose]();
  }
}

/** Undefined when there is none, or something else. */
function fileAt(spot: Spot): FileStat | undefined {
  const found = statAt(spot.target, spot.path);
  return found?.isFile() === true ? statOf(found) : undefined;
}

export class StagedFile implements Disposable {
  readonly #folder: Folder;
  readonly #spot: Spot;
  readonly #staged: Staged;
  readonly #old: FileStat;
  readonly #synced: Promise<void>;
  readonly #asked: Promise<boolean> | undefined;

  constructor(folder: Folder, spot: Spot, staged: Staged, old: FileStat) {
    this.#folder = folder;
    this.#spot = spot;
    this.#staged = staged;
    this.#old = old;
    this.#synced = staged.sync();
    // Asked meanwhile, of a file that was not made here.
    this.#asked = isPlain(old) ? undefined : hasAttributes(spot, old);
    // Told to whoever saves.
    this.#synced.catch(() => undefined);
    this.#asked?.catch(() => undefined);
  }

  async save(bytes: Uint8Array, how: Replacing): Promise<Saved> {
    try {
      await this.#synced;
      if (this.#asked !== undefined) await this.#asked;
      // Another folder may stand in the place of this one by now: who reads there would not find what was saved here.
      this.#folder.check();
      return await putInPlace(this.#spot, this.#staged, { ...how, old: this.#old, bytes });
    } catch (error) {
      throw unwritable(error, this.#spot.path);
    }
  }

  /** What is still in use is closed when that is done: its number would be another file's by then. */
  [Symbol.dispose](): void {
    this.#staged.remove();
    const end = (): void => {
      this.#staged[Symbol.dispose]();
      this.#spot[Symbol.dispose]();
    };
    void Promise.allSettled([this.#synced, this.#asked]).then(end);
  }
}

/** Removes a file that is what was expected, or a link whatever it leads to. */
export async function remove(
  place: Place,
  { expected }: { readonly expected: Content | "link" },
): Promise<{ readonly settled: Promise<void> }> {
  using spot = place.folder.spot(place.path);
  try {
    if (expected === "link") refuseIfNoLink(spot);
    else await compareThere(spot, expected);
    spot.stands();
    unlinkSync(spot.target);
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

interface Replacing {
  readonly expected: Content;
  readonly settle: boolean;
}

async function replace(spot: Spot, bytes: Uint8Array, how: Replacing): Promise<Saved> {
  const found = statAt(spot.target, spot.path);
  if (found === undefined) throw absent(spot.path);
  if (!found.isFile()) throw moved(spot.path);
  const old = statOf(found);
  if (old.links > 1 || (await hasAttributes(spot, old))) {
    const before = await compareThere(spot, how.expected);
    return writtenInPlace(spot, before, bytes);
  }
  using staged = await Staged.write(spot, bytes, old);
  await staged.sync();
  return await putInPlace(spot, staged, { ...how, old, bytes });
}

interface Ready extends Replacing {
  /** What was there when it was staged. */
  readonly old: FileStat;
  readonly bytes: Uint8Array;
}

async function putInPlace(
  spot: Spot,
  staged: Staged,
  { old, bytes, expected, settle }: Ready,
): Promise<Saved> {
  using there = ReplacedFile.open(spot);
  let { stat: last } = there;
  if (last.links > 1 || !isPlain(last) || !there.holds(expected)) {
    // Asked before the last look: nothing is waited for behind that.
    await hasAttributes(spot, last);
    const now = await compare(spot, there, expected);
    last = now.stat;
    // Somebody gave the file a second name or an attribute while it was staged: a rename would part it from them.
    if (last.links > 1 || !isPlain(last)) return writtenInPlace(spot, now, bytes);
  }
  if (!hasSameRights(last, old)) {
    checkWritable(spot, last);
    staged.keep(last);
  }
  spot.stands();
  there.beforeRename();
  renameSync(staged.target, spot.target);
  return {
    stat: staged.inPlace(),
    settled: settle ? settling(spot) : Promise.resolve(),
  };
}

async function writtenInPlace(spot: Spot, before: WholeFile, bytes: Uint8Array): Promise<Saved> {
  const hadSome = knownAttributes(before.stat);
  const written = await writeInPlace(spot, before, bytes);
  if (hadSome !== undefined) noteAttributes(written, hadSome);
  return { stat: written, settled: Promise.resolve() };
}

async function compareThere(spot: Spot, expected: Content): Promise<WholeFile> {
  using file = openFile(spot);
  if (file === undefined) throw absent(spot.path);
  return await compare(spot, file, expected);
}

/** What was just opened there, when it is what was expected. What is small is not left between the look and what follows it. */
async function compare(spot: Spot, file: OpenFile, expected: Content): Promise<WholeFile> {
  const isLarge = file.stat.size > PIECE;
  const found = isLarge ? await readOpen(spot, file, Infinity) : readOpenAtOnce(spot, file);
  if (!found.content.equals(expected)) throw moved(spot.path);
  if (isLarge) {
    const after = statAt(spot.target, spot.path);
    if (after === undefined || !sameIdentity(statOf(after), found.stat)) throw moved(spot.path);
  }
  return found;
}

/** A crash between the two calls leaves both names for the one file: nothing is lost, and either can be removed. */
function moveFile(source: Spot, target: Spot): void {
  try {
    linkSync(source.target, target.target);
  } catch (error) {
    if (!hasCode(error, "EPERM", "ENOTSUP", "EMLINK")) throw error;
    renameOverOwn(source.target, target);
    return;
  }
  try {
    unlinkSync(source.target);
  } catch (error) {
    unlinkSync(target.target);
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

function refuseIfNoLink(spot: Spot): void {
  const found = statAt(spot.target, spot.path);
  if (found === undefined) throw absent(spot.path);
  if (!found.isSymbolicLink()) throw moved(spot.path);
}

/** Nobody has to wait for it: a failure is told to whoever does. */
function settling(spot: Spot): Promise<void> {
  const settled = spot.settle();
  settled.catch(() => undefined);
  return settled;
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
