import { type BigIntStats, lstatSync } from "node:fs";
import { unreadable } from "./disk-errors.ts";

/** By which an own write is known again: none of two writes share it, as far as the file system's clock can tell. */
export interface FileIdentity {
  readonly inode: number;
  readonly device: number;
  readonly size: number;
  /** When it was last modified. */
  readonly nanoseconds: bigint;
}

export interface FileStat extends FileIdentity {
  /** Permissions only. */
  readonly mode: number;
  readonly links: number;
  /** When anything about it was last changed, in nanoseconds: what it holds, its names, rights or attributes. */
  readonly changed: bigint;
  readonly uid: number;
  readonly gid: number;
}

export function statOf(stats: BigIntStats): FileStat {
  return {
    inode: Number(stats.ino),
    device: Number(stats.dev),
    size: Number(stats.size),
    nanoseconds: stats.mtimeNs,
    mode: Number(stats.mode) & 0o7777,
    links: Number(stats.nlink),
    changed: stats.ctimeNs,
    uid: Number(stats.uid),
    gid: Number(stats.gid),
  };
}

export function sameIdentity(left: FileIdentity, right: FileIdentity): boolean {
  return (
    left.nanoseconds === right.nanoseconds &&
    left.inode === right.inode &&
    left.size === right.size &&
    left.device === right.device
  );
}

/** A file's time in UTC; undefined when no calendar has it, as programs may set any. */
export function timeText(nanoseconds: bigint): string | undefined {
  const date = new Date(Number(nanoseconds / 1_000_000n));
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}

/** Milliseconds since its last change after which a file is taken for whole; one that lost most of itself, later. */
export const REST = 100;
const REST_SHRUNK = 400;

/** How long after its last change a file is taken for whole that was known as another. */
export function restOf(found: FileIdentity, known: FileIdentity | undefined): number {
  return known !== undefined && found.size < known.size / 2 ? REST_SHRUNK : REST;
}

export function hasSameRights(left: FileStat, right: FileStat): boolean {
  return left.mode === right.mode && left.uid === right.uid && left.gid === right.gid;
}

/** What a file is recognised by after a restart, when it has not been read since: the same in all places that ask. */
export function identityText({
  size,
  inode,
  nanoseconds,
}: {
  readonly size: number;
  readonly inode: number | bigint;
  readonly nanoseconds: bigint;
}): string {
  return `${size} ${Number(inode)} ${nanoseconds}`;
}

/** Undefined when there is nothing. A link is not followed. */
export function statAt(target: string, path: string): BigIntStats | undefined {
  try {
    return lstatSync(target, { bigint: true, throwIfNoEntry: false });
  } catch (error) {
    throw unreadable(error, path);
  }
}
