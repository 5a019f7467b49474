import { AttributeLister } from "./attribute-lister.ts";
import type { FileStat } from "./file-stat.ts";
import type { Spot } from "./spot.ts";

/** What every file gets from its folder, or from the system, so a new one in its place has it as well. */
const GIVEN = new Set(["security.selinux", "security.ima", "security.evm", "system.nfs4_acl"]);
/** Of how many files it is remembered. */
const REMEMBERED = 4_096;

interface Known {
  /** When its status was last changed: whoever gives it attributes, or takes them away, changes that. */
  readonly changed: bigint;
  readonly hasSome: boolean;
}

const lister = new AttributeLister();

/** By device and inode, the one that was asked about longest ago first. */
const known = new Map<string, Known>();

/**
 * Whether nothing would be lost if a new file were put in the place of this one, as far as is known: it was made by us, or
 * looked at, and has not been changed in any way since.
 */
export function isPlain(stat: FileStat): boolean {
  return knownAttributes(stat) === false;
}

/** Whether it has some of its own; undefined when it is to be asked. */
export function knownAttributes(stat: FileStat): boolean | undefined {
  const found = known.get(keyOf(stat));
  return found?.changed === stat.changed ? found.hasSome : undefined;
}

/** It was just made or written here, or looked at. */
export function noteAttributes(stat: FileStat, hasSome: boolean): void {
  const key = keyOf(stat);
  known.delete(key);
  known.set(key, { changed: stat.changed, hasSome });
  if (known.size > REMEMBERED) known.delete(known.keys().next().value!);
}

/**
 * Whether a file has extended attributes of its own, access lists among them. Without its list, what the mode says of the
 * group is wrong: where there is one, that is the most that anybody in it is given. So one of which it cannot be found out
 * is treated as if it had some; it is asked again the next time.
 */
export async function hasAttributes(spot: Spot, stat: FileStat): Promise<boolean> {
  const before = knownAttributes(stat);
  if (before !== undefined) return before;
  const target = spot.targetForOthers;
  const names = target === undefined ? [] : await lister.namesOf(target);
  if (names === undefined) return true;
  const hasSome = names.some((name) => !GIVEN.has(name));
  noteAttributes(stat, hasSome);
  return hasSome;
}

function keyOf({ device, inode }: FileStat): string {
  return `${device}:${inode}`;
}
