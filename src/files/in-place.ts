import { hash } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
  unlinkSync,
} from "node:fs";
import { KumikoError } from "../base/index.ts";
import { hasCode, isSystemError } from "./disk-errors.ts";
import { type FileStat, sameIdentity, statOf } from "./file-stat.ts";
import { moved, type Spot } from "./spot.ts";
import { synced, writeAll } from "./staged.ts";
import { temporaryName } from "./temporary-name.ts";
import type { WholeFile } from "./whole-file.ts";

/** What is written down beside a file before it is written in place: both contents, behind a line that says which. */
interface Header {
  readonly name: string;
  readonly inode: number;
  readonly device: number;
  readonly old: { readonly size: number; readonly hash: string };
  readonly fresh: { readonly size: number; readonly hash: string };
}

interface Redo extends Header {
  readonly before: Buffer;
  readonly after: Buffer;
}

/** What became of a file that was being written in place when its process died. */
export interface Recovery {
  readonly outcome: "not_begun" | "finished" | "overtaken";
  /** Its name; "" when that was not written down to its end. */
  readonly file: string;
}

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_RDWR, O_WRONLY } = constants;

/**
 * Writes a file that has several names, or attributes of its own, without parting it from them. Old and new bytes are on the disk beside it before its
 * first byte is touched, so that a crash half-way is mended by the next sweep; a disk that is full or fails half-way
 * is answered by putting the old bytes back.
 */
export async function writeInPlace(
  spot: Spot,
  before: WholeFile,
  bytes: Uint8Array,
): Promise<FileStat> {
  using closing = new DisposableStack();
  const file = openSync(spot.target, O_RDWR | O_NOFOLLOW | O_NONBLOCK);
  closing.defer(() => closeSync(file));
  if (!sameIdentity(statOf(fstatSync(file, { bigint: true })), before.stat)) throw moved(spot.path);
  const redo = spot.beside(temporaryName(".redo"));
  // When not even the old bytes can be put back, the sweep still needs what was written down.
  let isNeeded = false;
  closing.defer(() => isNeeded || removeIfThere(redo));
  await writeRedo(redo, spot.name, before, bytes);
  await spot.settle();
  if (!sameIdentity(statOf(fstatSync(file, { bigint: true })), before.stat)) throw moved(spot.path);
  try {
    await overwrite(file, bytes, before.bytes.length);
  } catch (error) {
    isNeeded = true;
    await putBack(file, before.bytes, spot.path);
    isNeeded = false;
    throw error;
  }
  return statOf(fstatSync(file, { bigint: true }));
}

async function putBack(file: number, bytes: Uint8Array, path: string): Promise<void> {
  try {
    await overwrite(file, bytes, bytes.length);
  } catch (error) {
    throw new KumikoError(
      "file_unwritable",
      `${path} is half-written: the disk failed, also when the old text was to be put back. Both are kept beside it, and the next sweep finishes it.`,
      { path, half_written: true },
      { cause: error },
    );
  }
}

/** Mends what a process that died left half-written. `redo` is what it had written down; that is removed. */
export async function recover(spot: Spot, redo: string): Promise<Recovery> {
  const written = parseRedo(readPlainly(redo));
  const outcome =
    written === undefined ? "not_begun" : await mend(spot.beside(written.name), written);
  removeIfThere(redo);
  return { outcome, file: written?.name ?? "" };
}

function readPlainly(target: string): Buffer {
  const file = openSync(target, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    return readFileSync(file);
  } finally {
    closeSync(file);
  }
}

async function mend(target: string, redo: Redo): Promise<Recovery["outcome"]> {
  using closing = new DisposableStack();
  let file: number;
  try {
    file = openSync(target, O_RDWR | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    if (hasCode(error, "ENOENT", "ELOOP", "EISDIR", "ENXIO")) return "overtaken";
    throw error;
  }
  closing.defer(() => closeSync(file));
  const found = statOf(fstatSync(file, { bigint: true }));
  if (found.inode !== redo.inode || found.device !== redo.device) return "overtaken";
  const current = readFileSync(file);
  if (current.equals(redo.before)) return "not_begun";
  if (!current.equals(redo.after)) {
    if (!isMixture(current, redo)) return "overtaken";
    await overwrite(file, redo.after, current.length);
  }
  await synced(file);
  return "finished";
}

/**
 * Whether the bytes can be what was left when old was being replaced by new: of a length on the way, and every byte one
 * of the two. What anybody else wrote since is not, and stands.
 */
function isMixture(current: Buffer, { before, after }: Redo): boolean {
  const grows = after.length > before.length;
  const onTheWay = grows
    ? current.length >= before.length && current.length <= after.length
    : current.length === before.length;
  return onTheWay && current.every((byte, at) => byte === before[at] || byte === after[at]);
}

/** What is behind the old end comes first: if the disk is full, that is where it shows, and nothing is touched yet. */
async function overwrite(file: number, bytes: Uint8Array, size: number): Promise<void> {
  if (bytes.length > size) await writeAll(file, bytes.subarray(size), size);
  await writeAll(file, bytes.subarray(0, size));
  ftruncateSync(file, bytes.length);
  await synced(file);
}

async function writeRedo(
  target: string,
  name: string,
  { bytes, content, stat }: WholeFile,
  fresh: Uint8Array,
): Promise<void> {
  const header: Header = {
    name,
    inode: stat.inode,
    device: stat.device,
    old: { size: bytes.length, hash: content.hash },
    fresh: { size: fresh.length, hash: hash("sha256", fresh) },
  };
  const line = Buffer.from(`${JSON.stringify(header)}\n`);
  const file = openSync(target, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  using closing = new DisposableStack();
  closing.defer(() => closeSync(file));
  await writeAll(file, Buffer.concat([line, bytes, fresh]));
  await synced(file);
}

/** Undefined when it was not written to its end: then the file itself was not begun. */
function parseRedo(bytes: Buffer): Redo | undefined {
  const end = bytes.indexOf("\n");
  if (end === -1) return undefined;
  const header = parseHeader(bytes.toString("utf8", 0, end));
  if (header === undefined) return undefined;
  const middle = end + 1 + header.old.size;
  const before = bytes.subarray(end + 1, middle);
  const after = bytes.subarray(middle);
  const whole =
    after.length === header.fresh.size &&
    hash("sha256", before) === header.old.hash &&
    hash("sha256", after) === header.fresh.hash;
  return whole ? { ...header, before, after } : undefined;
}

/** Strangers can put such a file there too: a name that leads elsewhere is none of ours. */
function parseHeader(line: string): Header | undefined {
  try {
    const header = JSON.parse(line) as Header;
    return isPlainName(header.name) ? header : undefined;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) return undefined;
    throw error;
  }
}

function isPlainName(name: unknown): boolean {
  return (
    typeof name === "string" && !/[/\0]/.test(name) && name !== "" && name !== "." && name !== ".."
  );
}

function removeIfThere(target: string): void {
  try {
    unlinkSync(target);
  } catch (error) {
    // What cannot be removed is left to the sweep.
    if (!isSystemError(error)) throw error;
  }
}
