import { type BigIntStats, lstatSync, statSync } from "node:fs";
import { isSystemError } from "./disk-errors.ts";

/** What a file is recognised by without reading it. */
export interface Stamp {
  readonly size: number;
  readonly inode: bigint;
  /** When its content changed, as far as programs leave that alone. */
  readonly nanoseconds: bigint;
  /** When anything of it changed. What puts the other time back (tar, rsync, touch) shows only here. */
  readonly touched: bigint;
}

/** Something in a folder, itself: a link is not followed. */
export interface Look extends Stamp {
  readonly kind: "file" | "link" | "folder" | "other";
  readonly mode: number;
  /** How many names it has. */
  readonly links: number;
  readonly device: bigint;
  /** Zero where the file system does not know. */
  readonly born: bigint;
}

/** Nothing there gives undefined; what the system refuses to say is thrown. */
export function lookAt(path: string): Look | undefined {
  const stats = lstat(path);
  if (stats === undefined) return undefined;
  return {
    kind: kindOf(stats),
    size: Number(stats.size),
    inode: stats.ino,
    nanoseconds: stats.mtimeNs,
    touched: stats.ctimeNs,
    mode: Number(stats.mode),
    links: Number(stats.nlink),
    device: stats.dev,
    born: stats.birthtimeNs,
  };
}

/** What a path leads to; undefined when that is nothing, or the system does not tell. */
export function statIfSeen(path: string): BigIntStats | undefined {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false });
  } catch (error) {
    if (isSystemError(error)) return undefined;
    throw error;
  }
}

export function isSame(one: Stamp, other: Stamp): boolean {
  return (
    one.size === other.size &&
    one.inode === other.inode &&
    one.nanoseconds === other.nanoseconds &&
    one.touched === other.touched
  );
}

export function stampOf({ size, inode, nanoseconds, touched }: Stamp): Stamp {
  return { size, inode, nanoseconds, touched };
}

export function errorCodeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

function lstat(path: string): BigIntStats | undefined {
  try {
    return lstatSync(path, { bigint: true, throwIfNoEntry: false });
  } catch (error) {
    // A folder above it is a file now.
    if (errorCodeOf(error) === "ENOTDIR") return undefined;
    throw error;
  }
}

function kindOf(stats: BigIntStats): Look["kind"] {
  if (stats.isFile()) return "file";
  if (stats.isDirectory()) return "folder";
  return stats.isSymbolicLink() ? "link" : "other";
}
