import { createRequire } from "node:module";
import { hasCode } from "./disk-errors.ts";

/** Calls of the system for which Node has none. */
interface Extensions {
  swapSync(one: string, other: string): void;
  listAttrsSync(descriptor: number): string[];
}

/** What a system says, or a file system, that cannot exchange names. */
const UNABLE = ["EINVAL", "ENOSYS", "ENOTSUP", "EPERM"];

/** Null where there are none for this system. */
let loaded: Extensions | null | undefined;

/**
 * Two names mean each other's files from now on; there is no moment in which one of them means none. Who watches hears of
 * the first one last. False where that cannot be done.
 */
export function exchange(one: string, other: string): boolean {
  const extensions = load();
  if (extensions === null) return false;
  try {
    extensions.swapSync(one, other);
    return true;
  } catch (cause) {
    const error = named(cause, "renameat2");
    if (hasCode(error, ...UNABLE)) return false;
    throw error;
  }
}

/** Names of a file's extended attributes, access lists among them; none where nothing can tell. */
export function attributeNames(descriptor: number): readonly string[] {
  const extensions = load();
  if (extensions === null) return [];
  try {
    return extensions.listAttrsSync(descriptor);
  } catch (cause) {
    const error = named(cause, "flistxattr");
    // What a file system knows nothing of, no file has.
    if (hasCode(error, "ENOTSUP")) return [];
    throw error;
  }
}

/** By its file: the package's own entry takes ten times as long to find it. */
function load(): Extensions | null {
  if (loaded !== undefined) return loaded;
  // There an exchange is three moves.
  if (process.platform === "win32") return (loaded = null);
  const system = `${process.platform}-${process.arch}`;
  try {
    const require = createRequire(import.meta.url);
    const file = `fs-native-extensions/prebuilds/${system}/fs-native-extensions.node`;
    loaded = require(file) as Extensions;
  } catch (error) {
    // Not built for this system, or linked against another library: saves are what they can be without.
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "MODULE_NOT_FOUND" && code !== "ERR_DLOPEN_FAILED") throw error;
    loaded = null;
  }
  return loaded;
}

/** As Node names what the system says. */
function named(error: unknown, syscall: string): unknown {
  return error instanceof Error ? Object.assign(error, { syscall }) : error;
}
