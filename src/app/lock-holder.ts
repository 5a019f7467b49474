import { readFile, stat } from "node:fs/promises";

/**
 * The process that holds a file's lock for writing, as the system lists it. Undefined says nothing: only Linux has such
 * a list, and it leaves out processes that cannot be seen from here.
 */
export async function listedHolder(file: string): Promise<number | undefined> {
  let locks: string;
  try {
    locks = await readFile("/proc/locks", "utf8");
  } catch {
    // Whoever must know asks the lock itself.
    return undefined;
  }
  const { dev, ino } = await stat(file, { bigint: true });
  const place = `${spelled(dev)}:${ino}`;
  for (const line of locks.split("\n")) {
    // `3: POSIX  ADVISORY  WRITE 9241 fe:00:2760793 1073741825 1073741825`; who waits for it has an arrow more.
    const [, , , kind, pid, where] = line.split(/ +/);
    if (kind === "WRITE" && where === place && Number(pid) > 0) return Number(pid);
  }
  return undefined;
}

/** A device as the list names it: `fe:00`. */
function spelled(device: bigint): string {
  const major = ((device >> 8n) & 0xfffn) | ((device >> 32n) & ~0xfffn);
  const minor = (device & 0xffn) | ((device >> 12n) & ~0xffn);
  return [major, minor].map((part) => part.toString(16).padStart(2, "0")).join(":");
}
