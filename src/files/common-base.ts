import type { EditTarget } from "../blocks/index.ts";
import type { FoundText } from "./found-text.ts";
import type { Base } from "./ledger.ts";
import type { MountedFile } from "./mounted-file.ts";
import { isRecent, madeFrom, mayBeRead } from "./stale.ts";

/** Versions among which an own save is looked for that was not written down before a crash. */
const REMEMBERED = 64;

/** What both sides last had in common: what was on disk before, when a program made what is there from that. */
export function commonBase(
  file: MountedFile,
  target: EditTarget,
  found: FoundText,
): Base | undefined {
  const { text, identity, isFresh = false } = found;
  const { base: last, earlier } = found.writtenTo ?? {
    base: file.synced?.base,
    earlier: file.earlier,
  };
  if (last === undefined) return file.left;
  const older = isFresh ? [] : earlier.filter((each) => mayBeRead(each, identity));
  if (older.length === 0) return last;
  // Exactly an older one was put back on purpose, whoever had written over it.
  const recent = earlier.filter((each) => isRecent(each, identity));
  if (recent.some(({ base }) => textOf(base, target) === text)) return last;
  const bases = [{ base: last }, ...older];
  const texts = bases.map(({ base }) => textOf(base, target));
  return bases[madeFrom(text, texts)]!.base;
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
