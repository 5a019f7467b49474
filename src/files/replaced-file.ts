import { close, constants, openSync, statfsSync } from "node:fs";
import { isSystemError } from "./disk-errors.ts";
import type { Spot } from "./spot.ts";

const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * File systems of this machine, by the numbers Linux gives them: ext, XFS, Btrfs, tmpfs, F2FS, ZFS, overlay. Over a network
 * a file that is open may be refused to be replaced (SMB), or stays in its folder under another name (NFS).
 */
const LOCAL: readonly number[] = [
  0xef53, 0x58465342, 0x9123683e, 0x01021994, 0xf2f52010, 0x2fc12fc1, 0x794c7630,
];

/**
 * Keeps a file that is about to be replaced until somebody else closes it. Its blocks are given back when it is last
 * closed: within the rename the calling thread would wait for that, longer than for all the rest of it.
 */
export function heldOpen(spot: Spot): Disposable {
  const descriptor = opened(spot);
  // Nothing was written by it that a failure could lose.
  return {
    [Symbol.dispose]: () => descriptor !== undefined && close(descriptor, () => undefined),
  };
}

function opened(spot: Spot): number | undefined {
  if (process.platform !== "linux") return undefined;
  try {
    const isLocal = LOCAL.includes(statfsSync(spot.beside(".")).type);
    return isLocal ? openSync(spot.target, FLAGS) : undefined;
  } catch (error) {
    if (isSystemError(error)) return undefined;
    throw error;
  }
}
