import { hash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { isSystemError } from "./disk-errors.ts";
import type { FileStat } from "./file-stat.ts";
import { statIfSeen } from "./look.ts";

const LARGEST = 64 * 1024 * 1024;
/** Of the header, and of an entry: where its hash stands, and its flags and its name. */
const HEADER = 12;
const HASH = 40;
const FLAGS = 60;
const NAME = 62;
const EXTENDED = 0x4000;
/** From this version on a name is told by what differs from the one before it. */
const SHORTENED = 4;

/** What a file holds, and how it was when it did. */
export interface GitFile {
  readonly bytes: Uint8Array;
  readonly identity: FileStat;
}

/**
 * When git took its lock before it wrote a file, in nanoseconds, if the file says just what its index records for it: then
 * it was git that wrote it, in a checkout, a reset or a stash, or somebody who put the same there, and not a program that
 * changed what it had read. The index is the lock under another name, so it was made when that was. Where the file was not
 * written under it, all that was there was seen. Git is not run for this: what a repository configures can be programs.
 * Undefined where there is no repository, or it cannot be told.
 */
export function lockedByGit(
  root: string,
  path: string,
  { bytes, identity }: GitFile,
): bigint | undefined {
  const repository = repositoryOf(root);
  if (repository === undefined) return undefined;
  const name = [...relative(repository.top, root).split(sep), path].filter((part) => part !== "");
  const file = join(repository.folder, "index");
  const index = readIfSmall(file);
  const recorded = index && hashIn(index, Buffer.from(name.join("/")));
  if (recorded === undefined) return undefined;
  const blob = Buffer.concat([Buffer.from(`blob ${bytes.length}\0`), bytes]);
  if (!recorded.equals(hash("sha1", blob, "buffer"))) return undefined;
  const { birthtimeNs: born = 0n, mtimeNs: written = 0n } = statIfSeen(file) ?? {};
  const { nanoseconds } = identity;
  const isUnderLock = born > 0n && born <= nanoseconds && nanoseconds <= written + TICK;
  return isUnderLock ? born : identity.changed;
}

/** Milliseconds for which git is waited for: who writes a message for a commit may hold its lock for long. */
const PATIENCE = 2_000;
/** Nanoseconds by which times of one moment may differ. */
const TICK = 10_000_000n;

/** Whether git is just about to change files, or does. */
export function isGitAtWork(root: string, now: number): boolean {
  const repository = repositoryOf(root);
  const lock = repository && statIfSeen(join(repository.folder, "index.lock"));
  // A clock that is ahead of ours makes a lock that is never old.
  return lock !== undefined && Math.abs(now - Number(lock.mtimeNs / 1_000_000n)) < PATIENCE;
}

/** What git keeps is in a folder at the top of its files, or where a file there says. */
function repositoryOf(root: string): { readonly top: string; readonly folder: string } | undefined {
  for (let top = root; ; top = dirname(top)) {
    const git = join(top, ".git");
    const found = statIfSeen(git);
    if (found?.isDirectory() === true) return { top, folder: git };
    if (found?.isFile() === true) {
      const [, elsewhere] = /^gitdir: (.+)$/m.exec(readIfSmall(git)?.toString("utf8") ?? "") ?? [];
      return elsewhere === undefined ? undefined : { top, folder: resolve(top, elsewhere) };
    }
    if (dirname(top) === top) return undefined;
  }
}

function readIfSmall(path: string): Buffer | undefined {
  try {
    const { size } = statSync(path);
    return size > LARGEST ? undefined : readFileSync(path);
  } catch (error) {
    if (isSystemError(error)) return undefined;
    throw error;
  }
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
