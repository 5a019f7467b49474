import { createHash } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, read, readSync } from "node:fs";
import { KumikoError } from "../base/index.ts";
import { Content } from "./content.ts";
import { hasCode, unreadable } from "./disk-errors.ts";
import { type FileStat, sameIdentity, statAt, statOf } from "./file-stat.ts";
import { absent, moved, type Spot } from "./spot.ts";

export interface WholeFile {
  readonly bytes: Uint8Array;
  readonly stat: FileStat;
  readonly content: Content;
}

/** What is read in one piece on the calling thread (about 0.1 ms and as much for its hash); more is read in such pieces. */
export const PIECE = 256 * 1024;

/** What is behind the size that a file had when it was opened. */
const BEYOND = 1;

/** Undefined when there is none. Refuses what is larger than the limit, and what changed while it was read. */
export async function readSpot(spot: Spot, limit: number): Promise<WholeFile | undefined> {
  using file = openFile(spot);
  return file && (await readOpen(spot, file, limit));
}

/** What is open, as `readSpot` reads it. */
async function readOpen(spot: Spot, file: OpenFile, limit: number): Promise<WholeFile> {
  const { descriptor, stat } = file;
  refuseTooLarge(spot.path, stat.size, limit);
  const bytes = Buffer.allocUnsafe(stat.size + BEYOND);
  const hash = createHash("sha256");
  let length = 0;
  while (length < bytes.length) {
    const room = Math.min(PIECE, bytes.length - length);
    const count = await readPiece(descriptor, bytes, {
      at: length,
      room,
      large: stat.size > PIECE,
    });
    if (count === 0) break;
    hash.update(bytes.subarray(length, Math.min(length + count, stat.size)));
    length += count;
  }
  const found = finished(spot, file, bytes.subarray(0, length));
  // Made while it was read, piece by piece: at once it would hold the thread.
  return { ...found, content: Content.known(hash.digest("hex")) };
}

/** The same without giving way, for files of one piece. */
function readOpenAtOnce(spot: Spot, file: OpenFile): WholeFile {
  const { descriptor, stat } = file;
  const bytes = Buffer.allocUnsafe(stat.size + BEYOND);
  let length = 0;
  while (length < bytes.length) {
    const count = readSync(descriptor, bytes, length, bytes.length - length, length);
    if (count === 0) break;
    length += count;
  }
  return finished(spot, file, bytes.subarray(0, length));
}

/** What is there, when it is what was expected; else refuses. */
export async function compareThere(spot: Spot, expected: Content): Promise<WholeFile> {
  using file = openFile(spot);
  if (file === undefined) throw absent(spot.path);
  return await compare(spot, file, expected);
}

/** The same of what was just opened there. What is small is not left between the look and what follows it. */
export async function compare(spot: Spot, file: OpenFile, expected: Content): Promise<WholeFile> {
  const isLarge = file.stat.size > PIECE;
  const found = isLarge ? await readOpen(spot, file, Infinity) : readOpenAtOnce(spot, file);
  if (!found.content.equals(expected)) throw moved(spot.path);
  if (isLarge) {
    const after = statAt(spot.target, spot.path);
    if (after === undefined || !sameIdentity(statOf(after), found.stat)) throw moved(spot.path);
  }
  return found;
}

/** Its size and its first bytes, whoever is writing it. Undefined when there is none. */
export function readSpotHead(
  spot: Spot,
  length: number,
): { readonly size: number; readonly bytes: Uint8Array } | undefined {
  using file = openFile(spot);
  if (file === undefined) return undefined;
  const { descriptor, stat } = file;
  const bytes = Buffer.allocUnsafe(Math.min(length, stat.size));
  const count = readSync(descriptor, bytes, 0, bytes.length, 0);
  return { size: stat.size, bytes: bytes.subarray(0, count) };
}

export interface OpenFile extends Disposable {
  readonly descriptor: number;
  readonly stat: FileStat;
}

class OpenedFile implements OpenFile {
  readonly descriptor: number;
  readonly stat: FileStat;
  #isOpen = true;

  constructor(descriptor: number, stat: FileStat) {
    this.descriptor = descriptor;
    this.stat = stat;
  }

  [Symbol.dispose](): void {
    if (this.#isOpen) closeSync(this.descriptor);
    this.#isOpen = false;
  }
}

/** Undefined when there is nothing. The caller owns it. */
export function openFile(spot: Spot): OpenFile | undefined {
  let descriptor: number;
  try {
    // Not blocking: a pipe put there meanwhile would wait for its writer for ever.
    const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
    descriptor = openSync(spot.target, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    if (hasCode(error, "ENOENT")) return undefined;
    throw hasCode(error, "ELOOP", "ENXIO") ? moved(spot.path) : unreadable(error, spot.path);
  }
  try {
    return new OpenedFile(descriptor, plainStat(descriptor, spot));
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

function plainStat(descriptor: number, spot: Spot): FileStat {
  const stats = fstatSync(descriptor, { bigint: true });
  if (stats.isFile()) return statOf(stats);
  throw new KumikoError("file_unreadable", `${spot.path} is not a plain file.`, {
    path: spot.path,
    reason: "not_plain",
  });
}

function finished(spot: Spot, { descriptor, stat }: OpenFile, bytes: Uint8Array): WholeFile {
  const after = statOf(fstatSync(descriptor, { bigint: true }));
  if (bytes.length !== stat.size || !sameIdentity(stat, after)) {
    throw new KumikoError(
      "being_written",
      `${spot.path} is being written at this moment. Try again.`,
      { path: spot.path },
    );
  }
  spot.stands();
  return { bytes, stat: after, content: Content.of(bytes) };
}

async function readPiece(
  descriptor: number,
  bytes: Buffer,
  { at, room, large }: { at: number; room: number; large: boolean },
): Promise<number> {
  if (!large) return readSync(descriptor, bytes, at, room, at);
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  read(descriptor, bytes, at, room, at, (error, count) =>
    error === null ? resolve(count) : reject(error),
  );
  return promise;
}

function refuseTooLarge(path: string, size: number, limit: number): void {
  if (size <= limit) return;
  throw new KumikoError(
    "too_large",
    `${path} has ${size} bytes; files of up to ${limit} are read. It stays as it is.`,
    { path, size, limit },
  );
}
