import { diffLines, splitText } from "../blocks/index.ts";
import type { FileIdentity, FileStat } from "./file-stat.ts";
import type { Base, Synced } from "./ledger.ts";

/** What was on disk before, and until when by the file system's time. */
export interface Earlier {
  readonly base: Base;
  /** In bytes. */
  readonly size: number;
  readonly until: bigint;
  /** We saved over it. What programs do to one another is theirs, and the disk is right. */
  readonly isOwn: boolean;
}

/** How many texts that were on disk are remembered of a file: agents save often, and programs may be slow. */
const REMEMBERED = 256;
/** Of those that no version of the block has, so many, and none that is longer. */
const TEXTS = 8;
const LONGEST = 1_000_000;
/** For so long they are remembered: what is put back on purpose is one of them. */
const KEPT_FOR = 60_000_000_000n;
/**
 * A program that reads a file, changes it and writes it back takes no longer than that, and who takes back on purpose what
 * was just saved has not even seen it yet.
 */
const READ_BEFORE = 1_500_000_000n;
/** After so many in a row that are farther than the nearest, older ones are farther still. */
const FARTHER = 16;
const DIFF_MS = 20;

/** What was on disk lately, the newest first, when it says something else from now on; `isOwn`: because we saved it. */
export function withEarlier(
  earlier: readonly Earlier[],
  before: Synced | undefined,
  { content, identity }: Synced,
  isOwn: boolean,
): readonly Earlier[] {
  let count = Math.min(earlier.length, REMEMBERED - 1);
  while (count > 0 && !isRecent(earlier[count - 1]!, identity)) count--;
  const recent = count === earlier.length ? earlier : earlier.slice(0, count);
  if (before === undefined || before.content.equals(content)) return recent;
  const { base } = before;
  const added = { base, size: before.identity.size, until: placed(identity), isOwn };
  if (!("text" in base)) return [added, ...recent];
  if (base.text.length > LONGEST) return recent;
  return [added, ...withFewTexts(recent)];
}

function withFewTexts(earlier: readonly Earlier[]): readonly Earlier[] {
  let texts = 1;
  return earlier.filter(({ base }) => !("text" in base) || ++texts <= TEXTS);
}

export function isRecent({ until }: Earlier, now: FileIdentity | FileStat): boolean {
  return placed(now) - until <= KEPT_FOR;
}

/**
 * Whether a program may have read it that wrote what is there now. It took long when nobody has read what we saved since
 * (`isUnread`).
 */
export function mayBeRead({ until, isOwn }: Earlier, now: FileStat, isUnread = false): boolean {
  return isOwn && placed(now) - until <= (isUnread ? KEPT_FOR : READ_BEFORE);
}

/**
 * When a file came to be what is there. One that was moved there has the time of its content still, which may be of long
 * ago; one that was not looked at since it was written down has no other.
 */
function placed(file: FileIdentity | FileStat): bigint {
  const { nanoseconds } = file;
  return "changed" in file && file.changed > nanoseconds ? file.changed : nanoseconds;
}

/** A text that was on disk. */
export interface PastText {
  /** Of its file, in bytes. */
  readonly size: number;
  /** It takes a while to find out. */
  text(): string;
}

/**
 * Which of the texts that were on disk, the newest first, a program made this one from: the one it is nearest to in lines;
 * of several the newest. Exactly one of these or of `others` was put back on purpose, so it was made from the newest.
 */
export function madeFrom(
  disk: { readonly text: string; readonly size: number },
  texts: readonly PastText[],
  others: readonly PastText[] = [],
): number {
  const isPutBack = (each: PastText): boolean =>
    each.size === disk.size && each.text() === disk.text;
  if (texts.length < 2 || others.some(isPutBack) || texts.some(isPutBack)) return 0;
  const { lines } = splitText(disk.text);
  let nearest = 0;
  let least = Infinity;
  let farther = 0;
  for (const [at, past] of texts.entries()) {
    const { ranges } = diffLines(splitText(past.text()).lines, lines, { deadlineMs: DIFF_MS });
    const distance = ranges.reduce(
      (sum, { oldStart, oldEnd, newStart, newEnd }) => sum + oldEnd - oldStart + newEnd - newStart,
      0,
    );
    farther = distance > least ? farther + 1 : 0;
    if (farther === FARTHER) break;
    if (distance >= least) continue;
    nearest = at;
    least = distance;
  }
  return nearest;
}
