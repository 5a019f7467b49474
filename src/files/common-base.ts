import type { EditTarget } from "../blocks/index.ts";
import type { FoundText } from "./found-text.ts";
import type { Base } from "./ledger.ts";
import type { MountedFile } from "./mounted-file.ts";
import { type Earlier, firstWritten, isRecent, madeFrom, mayBeRead } from "./stale.ts";

/** Versions among which an own save is looked for that was not written down before a crash. */
const REMEMBERED = 64;

/** What both sides last had in common: what was on disk before, when a program made what is there from that. */
export function commonBase(
  file: MountedFile,
  target: EditTarget,
  found: FoundText,
): Base | undefined {
  const { text, identity, seenUntil, writtenTo } = found;
  const last = writtenTo?.base ?? file.synced?.base;
  const earlier = writtenTo?.earlier ?? file.earlier;
  if (last === undefined) return file.left;
  if (seenUntil !== undefined) return unseen(earlier, seenUntil).at(-1)?.base ?? last;
  const since = writtenTo === undefined ? file.writtenSince : undefined;
  const older = readable(earlier, firstWritten(identity, since));
  if (older.length === 0) return last;
  // Who put one back on purpose may have had it from before another program's write.
  const isPutBack = earlier.some(
    (each) =>
      each.size === identity.size && isRecent(each, identity) && textOf(each.base, target) === text,
  );
  if (isPutBack) return last;
  const bases = [last, ...older.map(({ base }) => base)];
  return bases[
    madeFrom(
      text,
      bases.map((base) => () => textOf(base, target)),
    )
  ];
}

/**
 * What a program may have read that did not see our saves since. Not what was there before another program wrote: who
 * writes then has seen that, and what it puts back of the older text would be taken out again.
 */
function readable(earlier: readonly Earlier[], written: bigint): readonly Earlier[] {
  const end = earlier.findIndex((each) => !mayBeRead(each, written));
  return end === -1 ? earlier : earlier.slice(0, end);
}

/** What we saved over behind the back of whoever looked at that time, and then wrote. */
function unseen(earlier: readonly Earlier[], looked: bigint): readonly Earlier[] {
  const end = earlier.findIndex(({ until, isOwn }) => !isOwn || until <= looked);
  return end === -1 ? earlier : earlier.slice(0, end);
}

export function textOf(base: Base, target: EditTarget): string {
  return "text" in base ? base.text : target.read(base.version);
}

/** The same, or that of an own save which was not written down, if what is on disk is one. */
export function textBehind(base: Base, target: EditTarget, disk: string): string {
  if ("text" in base) return base.text;
  const oldest = Math.max(base.version + 1, target.version - REMEMBERED);
  for (let version = target.version; version >= oldest; version--)
    if (target.read(version) === disk) return disk;
  return target.read(base.version);
}
