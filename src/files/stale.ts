import { diffLines, splitText } from "../blocks/index.ts";
import type { FileIdentity, FileStat } from "./file-stat.ts";
import type { Base, Synced } from "./ledger.ts";

/** What was on disk before, and until when by the file system's time. */
export interface Earlier {
  readonly base: Base;
  readonly until: bigint;
  /** We saved over it. What programs do to one another is theirs, and the disk is right. */
  readonly isOwn: boolean;
}

/** How many texts that were on disk are remembered of a file. */
const REMEMBERED = 8;
/** For so long they are remembered: what is put back on purpose is one of them. */
const NANOSECONDS = 10_000_000_000n;
/**
 * A program that reads a file, changes it and writes it back takes no longer than that, and who takes back on purpose what
 * was just saved has not even seen it yet.
 */
const READ_BEFORE = 1_500_000_000n;
/** Longer texts that no version of the block has are not kept. */
const LONGEST = 1_000_000;
const DIFF_MS = 20;

/** What was on disk lately, when it says something else from now on; `isOwn`: because we saved it. */
export function withEarlier(
  earlier: readonly Earlier[],
  before: Synced | undefined,
  { content, identity }: Synced,
  isOwn: boolean,
): readonly Earlier[] {
  const recent = earlier.filter((each) => isRecent(each, identity));
  if (before === undefined || before.content.equals(content)) return recent;
  const { base } = before;
  if ("text" in base && base.text.length > LONGEST) return recent;
  return [{ base, until: placed(identity), isOwn }, ...recent].slice(0, REMEMBERED);
}

export function isRecent({ until }: Earlier, now: FileIdentity | FileStat): boolean {
  return placed(now) - until <= NANOSECONDS;
}

/** Whether a program may have read it that wrote what is there now. */
export function mayBeRead({ until, isOwn }: Earlier, now: FileStat): boolean {
  return isOwn && placed(now) - until <= READ_BEFORE;
}

/**
 * When a file came to be what is there. One that was moved there has the time of its content still, which may be of long
 * ago; one that was not looked at since it was written down has no other.
 */
function placed(file: FileIdentity | FileStat): bigint {
  const { nanoseconds } = file;
  return "changed" in file && file.changed > nanoseconds ? file.changed : nanoseconds;
}

/**
 * Which of the texts that were on disk, the newest first, a program made this one from: the one it is nearest to in lines;
 * of several the newest. Exactly an older one was put back on purpose, so it was made from the newest.
 */
export function madeFrom(disk: string, texts: readonly string[]): number {
  if (texts.length < 2 || texts.includes(disk)) return 0;
  const { lines } = splitText(disk);
  const distances = texts.map((text) => {
    const { ranges } = diffLines(splitText(text).lines, lines, { deadlineMs: DIFF_MS });
    return ranges.reduce(
      (sum, { oldStart, oldEnd, newStart, newEnd }) => sum + oldEnd - oldStart + newEnd - newStart,
      0,
    );
  });
  return distances.indexOf(Math.min(...distances));
}
