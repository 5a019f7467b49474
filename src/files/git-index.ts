import { hash } from "node:crypto";
import { join, relative, resolve, sep } from "node:path";
import { type GitRepository, readIfSmall } from "./git-repository.ts";
import { statIfSeen } from "./look.ts";

/** Of the header, and of an entry: where its hash stands, and its flags and its name. */
const HEADER = 12;
const HASH = 40;
const FLAGS = 60;
const NAME = 62;
const EXTENDED = 0x4000;
/** From this version on a name is told by what differs from the one before it. */
const SHORTENED = 4;

/** Whether git's index records just these bytes for a file. Git is not run for this: what a repository configures can be programs. */
export function isRecorded(
  { top, folder }: GitRepository,
  file: string,
  bytes: Uint8Array,
): boolean {
  const path = relative(top, file).split(sep).join("/");
  const index = readIfSmall(join(folder, "index"));
  const recorded = index && hashIn(index, Buffer.from(path));
  return recorded?.equals(nameOfBlob(bytes)) === true;
}

/** Whether git has these bytes as an object that it made lately: it has seen them, or made them itself (`git stash pop`). */
export function isObject({ folder }: GitRepository, bytes: Uint8Array): boolean {
  const name = nameOfBlob(bytes).toString("hex");
  const object = join(sharedFolder(folder), "objects", name.slice(0, 2), name.slice(2));
  return statIfSeen(object) !== undefined;
}

function nameOfBlob(bytes: Uint8Array): Buffer {
  return hash("sha1", Buffer.concat([Buffer.from(`blob ${bytes.length}\0`), bytes]), "buffer");
}

/** Working trees have their own index, and share all else. */
function sharedFolder(folder: string): string {
  const elsewhere = readIfSmall(join(folder, "commondir"))?.toString("utf8").trimEnd();
  return elsewhere === undefined ? folder : resolve(folder, elsewhere);
}

/** The SHA-1 of a name; undefined when it is not there, or these bytes are no index that is known. */
function hashIn(index: Buffer, wanted: Buffer): Buffer | undefined {
  if (index.length < HEADER || index.toString("latin1", 0, 4) !== "DIRC") return undefined;
  const version = index.readUInt32BE(4);
  if (version < 2 || version > SHORTENED) return undefined;
  let at = HEADER;
  let name = Buffer.alloc(0);
  for (let left = index.readUInt32BE(8); left > 0 && at + NAME < index.length; left--) {
    const isExtended = (index.readUInt16BE(at + FLAGS) & EXTENDED) !== 0;
    let begin = at + NAME + (isExtended ? 2 : 0);
    let kept = Buffer.alloc(0);
    if (version === SHORTENED) {
      const dropped = offsetAt(index, begin);
      begin = dropped.end;
      kept = name.subarray(0, Math.max(0, name.length - dropped.value));
    }
    const end = index.indexOf(0, begin);
    if (end === -1) return undefined;
    name = Buffer.concat([kept, index.subarray(begin, end)]);
    if (name.equals(wanted)) return index.subarray(at + HASH, at + FLAGS);
    // Others are filled up with zeros, one at least, to a multiple of eight.
    at = version === SHORTENED ? end + 1 : at + ((end - at + 8) & ~7);
  }
  return undefined;
}

/** A number as git packs offsets: seven bits a byte, and each that goes on counts one more. */
function offsetAt(bytes: Buffer, begin: number): { readonly value: number; readonly end: number } {
  let at = begin;
  let byte = bytes[at++] ?? 0;
  let value = byte & 0x7f;
  while ((byte & 0x80) !== 0 && at < bytes.length) {
    byte = bytes[at++]!;
    value = (value + 1) * 128 + (byte & 0x7f);
  }
  return { value, end: at };
}
