import { isSystemError } from "./disk-errors.ts";
import { attributeNames } from "./extensions.ts";

/** What every file gets from its folder, or from the system, so a new one in its place has it as well. */
const GIVEN = new Set(["security.selinux", "security.ima", "security.evm", "system.nfs4_acl"]);

/**
 * Whether a file has extended attributes, access lists among them: `own` if a new one in its place would lose some, `given`
 * if a new one in the same folder has them as well. Without its list, what the mode says of the group is wrong: where there
 * is one, that is the most that anybody in it is given. So one of which it cannot be found out is treated as if it had some.
 */
export function attributesOf(descriptor: number): "own" | "given" | "none" {
  // macOS gives every file some of its own accord.
  if (process.platform !== "linux") return "given";
  try {
    const names = attributeNames(descriptor);
    if (names.length === 0) return "none";
    return names.every((name) => GIVEN.has(name)) ? "given" : "own";
  } catch (error) {
    if (isSystemError(error)) return "own";
    throw error;
  }
}
