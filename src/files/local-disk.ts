import { statfsSync } from "node:fs";
import { isSystemError } from "./disk-errors.ts";

/**
 * File systems of this machine, by the numbers Linux gives them: ext, XFS, Btrfs, tmpfs, F2FS, ZFS, overlay. Over a network
 * a file that is open may be refused to be replaced (SMB), or stays in its folder under another name (NFS).
 */
const LOCAL: readonly number[] = [
  0xef53, 0x58465342, 0x9123683e, 0x01021994, 0xf2f52010, 0x2fc12fc1, 0x794c7630,
];

/** By device, as far as they were asked about: disks only. The number of what is no disk may soon be another's. */
const known = new Map<number, boolean>();

/** Whether a device is a file system of this machine. `folder` gives the path of one on it. */
export function isLocal(device: number, folder: () => string): boolean {
  if (process.platform !== "linux") return false;
  const before = known.get(device);
  if (before !== undefined) return before;
  try {
    const found = LOCAL.includes(statfsSync(folder()).type);
    if (isDisk(device)) known.set(device, found);
    return found;
  } catch (error) {
    if (isSystemError(error)) return false;
    throw error;
  }
}

function isDisk(device: number): boolean {
  return ((device >>> 8) & 0xfff) !== 0;
}
