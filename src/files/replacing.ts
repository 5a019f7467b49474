import { lstatSync, renameSync } from "node:fs";
import { attributesOf } from "./attributes.ts";
import type { Folder, Place } from "./contained.ts";
import type { Content } from "./content.ts";
import { hasCode, unwritable } from "./disk-errors.ts";
import { exchange } from "./extensions.ts";
import {
  type FileIdentity,
  type FileStat,
  hasSameRights,
  sameIdentity,
  statAt,
  statOf,
} from "./file-stat.ts";
import { writeInPlace } from "./in-place.ts";
import { ReplacedFile } from "./replaced-file.ts";
import { putBack } from "./put-back.ts";
import { absent, moved, type Spot } from "./spot.ts";
import { checkWritable, Staged } from "./staged.ts";
import { compare, compareThere, openFile, PIECE } from "./whole-file.ts";

export interface Saved {
  readonly stat: FileStat;
  /** Resolves when the folder's entry is on the disk as well: from then on a power cut cannot bring back the old file. */
  readonly settled: Promise<void>;
}

export interface Replacing {
  readonly expected: Content;
  /** False when the caller sees to it that the folder's entry gets to the disk, for many saves at once. */
  readonly settle: boolean;
  readonly keeping?: Keeping | undefined;
}

/** Somebody who looks at what was replaced once more, and finds what another program wrote there unseen. */
export interface Keeping {
  /** Of what is expected. */
  readonly identity: FileIdentity;
  /** Whoever is told owns the file. With bytes it has not been compared whether it holds them. */
  keep(replaced: ReplacedFile, uncompared?: Uint8Array): void;
}

/** A spare file cannot take a place there: it is on another mount, or what is made in that folder gets attributes from it. */
class Unfit extends Error {}

/** Puts bytes in the place of a file that is what was expected. */
export async function replace(
  folder: Folder,
  spot: Spot,
  bytes: Uint8Array,
  how: Replacing,
): Promise<Saved> {
  const old = lookAt(spot);
  if (old.isBound) return writtenInPlace(spot, how.expected, bytes);
  return unlessUnfit(folder, spot, { bytes, how }, async () => {
    using staged = await Staged.write(spot, bytes, old.stat, folder.spares);
    await staged.sync();
    return await putInPlace(spot, staged, { ...how, old: old.stat, bytes });
  });
}

/** What did not fit is made anew beside the file, as is all that comes later. */
async function unlessUnfit(
  folder: Folder,
  spot: Spot,
  { bytes, how }: { readonly bytes: Uint8Array; readonly how: Replacing },
  run: () => Promise<Saved>,
): Promise<Saved> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof Unfit)) throw error;
    folder.doWithoutSpares();
    return await replace(folder, spot, bytes, how);
  }
}

/** What is there, and whether a rename would part it from another name or from attributes. */
function lookAt(spot: Spot): { readonly stat: FileStat; readonly isBound: boolean } {
  if (statAt(spot.target, spot.path)?.isFile() === false) throw moved(spot.path);
  using file = openFile(spot);
  if (file === undefined) throw absent(spot.path);
  const { stat, descriptor } = file;
  return { stat, isBound: stat.links > 1 || attributesOf(descriptor) === "own" };
}

/**
 * Bytes that are to be put in the place of a file, beside it and on their way to the disk; undefined when there is no
 * file that could be replaced by a rename. It is looked at again before that, so `seen` may be of a while ago. The caller
 * owns them.
 */
export function stage(
  place: Place,
  pieces: readonly Uint8Array[],
  seen?: FileStat,
): StagedFile | undefined {
  const { folder, path } = place;
  // It is looked at whether the folder is still there when this is put in place.
  const spot = folder.spot(path, { unchecked: true });
  let staged: StagedFile | undefined;
  try {
    const old = seen ?? fileAt(spot);
    if (old === undefined || old.links > 1) return undefined;
    const written = Staged.writeAtOnce(spot, pieces, old, folder.spares);
    return (staged = new StagedFile(folder, spot, written, old));
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

  constructor(folder: Folder, spot: Spot, staged: Staged, old: FileStat) {
    this.#folder = folder;
    this.#spot = spot;
    this.#staged = staged;
    this.#old = old;
    this.#synced = staged.sync();
    // Told to whoever saves.
    this.#synced.catch(() => undefined);
  }

  async save(bytes: Uint8Array, how: Replacing): Promise<Saved> {
    try {
      await this.#synced;
      // Another folder may stand in the place of this one by now: who reads there would not find what was saved here.
      this.#folder.check();
      return await unlessUnfit(this.#folder, this.#spot, { bytes, how }, () =>
        putInPlace(this.#spot, this.#staged, { ...how, old: this.#old, bytes }),
      );
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
    void this.#synced.then(end, end);
  }
}

interface Ready extends Replacing {
  /** What was there when it was staged. */
  readonly old: FileStat;
  readonly bytes: Uint8Array;
}

async function putInPlace(
  spot: Spot,
  staged: Staged,
  { old, bytes, expected, settle, keeping }: Ready,
): Promise<Saved> {
  using owned = new DisposableStack();
  const there = owned.use(ReplacedFile.open(spot));
  const uncompared = isUntouched(there, old, keeping) ? atHand(expected) : undefined;
  const last = uncompared === undefined ? (await compare(spot, there, expected)).stat : there.stat;
  // Somebody gave the file a second name or an attribute while it was staged: a rename would part it from them.
  const attributes = attributesOf(there.descriptor);
  if (last.links > 1 || attributes === "own") return writtenInPlace(spot, expected, bytes);
  if (attributes === "given" && staged.isSpare) throw new Unfit();
  if (!hasSameRights(last, old)) {
    checkWritable(spot, last);
    staged.keep(last);
  }
  spot.stands();
  there.beforeRename();
  put(spot, staged, { there, last, uncompared });
  if (keeping !== undefined && there.mayStayOpen) {
    owned.move();
    keeping.keep(there, uncompared);
  }
  return {
    stat: staged.inPlace(),
    settled: settle ? settling(spot) : Promise.resolve(),
  };
}

/**
 * Whether it is what was expected as far as the file system's clock can tell. What somebody wrote there in the same tick
 * as we did is found when it is looked at again.
 */
function isUntouched(
  { stat, mayStayOpen }: ReplacedFile,
  { changed }: FileStat,
  keeping: Keeping | undefined,
): boolean {
  if (!mayStayOpen || keeping === undefined) return false;
  return stat.changed === changed && sameIdentity(stat, keeping.identity);
}

function atHand({ bytes }: Content): Uint8Array | undefined {
  return bytes !== undefined && bytes.length <= PIECE ? bytes : undefined;
}

interface LastLook {
  readonly there: ReplacedFile;
  readonly last: FileStat;
  readonly uncompared: Uint8Array | undefined;
}

/**
 * Puts what is staged in the place of what was looked at, and of nothing else: the two change their names, and if it was
 * another one that got the staged one's, they change back. Where names cannot be exchanged, what is put there between the
 * look and the rename, some ten microseconds, is not seen.
 */
function put(spot: Spot, staged: Staged, { there, last, uncompared }: LastLook): void {
  try {
    if (!exchange(spot.target, staged.target)) {
      if (staged.isSpare) throw new Unfit();
      if (uncompared !== undefined && !there.holds(uncompared)) throw moved(spot.path);
      renameSync(staged.target, spot.target);
    } else if (sameIdentity(identityAt(staged.target), last)) staged.removeReplaced();
    else {
      takeBack(spot, staged);
      throw moved(spot.path);
    }
  } catch (error) {
    if (staged.isSpare && hasCode(error, "EXDEV")) throw new Unfit();
    throw hasCode(error, "ENOENT") ? moved(spot.path) : error;
  }
}

/**
 * Puts back what was taken by mistake, unless somebody was there meanwhile: then that, which is newer. It is done when what
 * comes out is what was put there before.
 */
function takeBack(spot: Spot, staged: Staged): void {
  let before: FileIdentity = staged.stat();
  for (;;) {
    const next = identityAt(staged.target);
    if (!isExchanged(spot, staged)) return;
    if (sameIdentity(identityAt(staged.target), before)) return;
    before = next;
  }
}

/** False when it could not be: then what has the staged one's name was put back in another way. */
function isExchanged(spot: Spot, staged: Staged): boolean {
  try {
    if (exchange(spot.target, staged.target)) return true;
    renameSync(staged.target, spot.target);
  } catch (error) {
    // Somebody moved ours away meanwhile.
    if (!hasCode(error, "ENOENT")) throw error;
    putBack(staged.target, spot.target);
  }
  return false;
}

function identityAt(target: string): FileIdentity {
  return statOf(lstatSync(target, { bigint: true }));
}

async function writtenInPlace(spot: Spot, expected: Content, bytes: Uint8Array): Promise<Saved> {
  const before = await compareThere(spot, expected);
  return { stat: await writeInPlace(spot, before, bytes), settled: Promise.resolve() };
}

/** Nobody has to wait for it: a failure is told to whoever does. */
export function settling(spot: Spot): Promise<void> {
  const settled = spot.settle();
  settled.catch(() => undefined);
  return settled;
}
