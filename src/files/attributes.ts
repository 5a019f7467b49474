import { isSystemError } from "./disk-errors.ts";
import { attributesOf } from "./extensions.ts";

/** What every file gets from its folder, or from the system, so a new one in its place has it as well. */
const GIVEN = new Set(["security.selinux", "security.ima", "security.evm", "system.nfs4_acl"]);

/**
 * Whether a file has extended attributes of its own, access lists among them: a new one in its place would lose them.
 * Without its list, what the mode says of the group is wrong: where there is one, that is the most that anybody in it is
 * given. So one of which it cannot be found out is treated as if it had some.
 */
export function hasAttributes(descriptor: number): boolean {
  // macOS gives every file some of its own accord.
  if (process.platform !== "linux") return false;
  try {
    return attributesOf(descriptor).some((name) => !GIVEN.has(name));
  } catch (error) {
    if (isSystemError(error)) return true;
    throw error;
  }
}
