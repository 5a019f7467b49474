import { readFileSync } from "node:fs";
import { isSystemError } from "./disk-errors.ts";
import type { FileStat } from "./file-stat.ts";

const MOUNTS = "/proc/self/mountinfo";

/** By device, as far as they were asked about. */
const telling = new Map<number, boolean>();

/**
 * Whether nobody has read a file since we put it there: then whoever wrote it since had not seen what it said. False where
 * that is not known: the file system does not write down when files are read, or it is another file by now.
 */
export function isUnread(saved: FileStat | undefined, now: FileStat): boolean {
  if (saved === undefined || saved.inode !== now.inode || saved.device !== now.device) return false;
  return saved.accessed === now.accessed && tellsOfReaders(now.device);
}

/** Linux writes down the first reader of what was written, unless a disk is mounted without (`noatime`). */
function tellsOfReaders(device: number): boolean {
  const known = telling.get(device);
  if (known !== undefined) return known;
  const tells = mountOptions(device).every((options) => !options.split(",").includes("noatime"));
  const found = tells && mountOptions(device).length > 0;
  telling.set(device, found);
  return found;
}

/** Of all places where a device is mounted; none where it is not known by that number. */
function mountOptions(device: number): string[] {
  const wanted = `${(device >>> 8) & 0xfff}:${(device & 0xff) | ((device >>> 12) & 0xfff00)}`;
  return readMounts().flatMap((line) => {
    const [, , number, , , options] = line.split(" ");
    return number === wanted && options !== undefined ? [options] : [];
  });
}

function readMounts(): string[] {
  try {
    return readFileSync(MOUNTS, "utf8").split("\n");
  } catch (error) {
    if (isSystemError(error)) return [];
    throw error;
  }
}
