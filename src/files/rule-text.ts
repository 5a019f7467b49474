import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { errorCodeOf } from "./look.ts";

/** In the root of a folder: what its rules say. */
export const RULES_FILE = "kumiko.toml";

/** Bytes; nobody writes so many rules. */
const LARGEST = 1024 * 1024;
const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;

export type RuleText =
  | { readonly text: string }
  | { readonly none: "absent" | "link" | "not_plain" | "too_large" }
  /** What the system said. */
  | { readonly none: "unreadable"; readonly reason: string };

/**
 * What a file of rules says. Rules are not taken from where a link leads, which others may write to, and neither a pipe
 * nor a device keeps us waiting or fills the memory.
 */
export function readRuleText(target: string): RuleText {
  let handle: number;
  try {
    handle = openSync(target, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    const reason = errorCodeOf(error);
    if (reason === "ENOENT" || reason === "ENOTDIR") return { none: "absent" };
    if (reason === "ELOOP") return { none: "link" };
    // A socket, or a device without its driver.
    if (reason === "ENXIO") return { none: "not_plain" };
    return { none: "unreadable", reason };
  }
  try {
    const stats = fstatSync(handle);
    if (!stats.isFile()) return { none: "not_plain" };
    // One more than is taken, since it may grow while it is read.
    const bytes = Buffer.alloc(Math.min(stats.size, LARGEST) + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < bytes.length; length += read)
      read = readSync(handle, bytes, length, bytes.length - length, length);
    if (length > LARGEST) return { none: "too_large" };
    return { text: bytes.toString("utf8", 0, length).replace(/^\uFEFF/, "") };
  } catch (error) {
    return { none: "unreadable", reason: errorCodeOf(error) };
  } finally {
    closeSync(handle);
  }
}
