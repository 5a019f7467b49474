import { type Clock, monotonicClock } from "../base/index.ts";
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
const KEPT_FOR = 10_000_000_000n;
/**
 * A program that reads a file, changes it and writes it back takes no longer than that, and who takes back on purpose what
 * was just saved has not even seen it yet.
 */
const READ_BEFORE = 1_500_000_000n;
/** Milliseconds in which the one that a program read is looked for, and for each that is compared. */
const SEARCH_MS = 100;
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
 * of several the newest, unless what these lines say is so much nearer to an older one that most of what was saved between
 * the two was not seen. Exactly an older one was put back on purpose, so it was made from the newest. It takes a while to
 * find out what each of them was: of a long text only the newest are looked at.
 */
export function madeFrom(
  disk: string,
  texts: readonly (() => string)[],
  clock: Clock = monotonicClock,
): number {
  const end = clock.now() + SEARCH_MS;
  const { lines } = splitText(disk);
  let nearest: (Difference & { readonly at: number; readonly text: readonly string[] }) | undefined;
  for (const [at, text] of texts.entries()) {
    const past = { at, text: splitText(text()).lines };
    const difference = between(past.text, lines);
    if (difference.lines === 0) return 0;
    const isNearest =
      nearest === undefined ||
      difference.lines < nearest.lines ||
      (difference.lines === nearest.lines &&
        nearest.units() - difference.units() > between(nearest.text, past.text).units() / 2);
    if (isNearest) nearest = { ...difference, ...past };
    if (clock.now() > end) break;
  }
  return nearest?.at ?? 0;
}

interface Difference {
  readonly lines: number;
  /** UTF-16 units of these lines that are not at the beginning or the end of both sides. */
  readonly units: () => number;
}

function between(left: readonly string[], right: readonly string[]): Difference {
  const { ranges } = diffLines(left, right, { deadlineMs: DIFF_MS });
  const sum = (of: (range: (typeof ranges)[number]) => number): number =>
    ranges.reduce((all, range) => all + of(range), 0);
  return {
    lines: sum((each) => each.oldEnd - each.oldStart + each.newEnd - each.newStart),
    units: () =>
      sum(({ oldStart, oldEnd, newStart, newEnd }) =>
        unitsBetween(
          left.slice(oldStart, oldEnd).join("\n"),
          right.slice(newStart, newEnd).join("\n"),
        ),
      ),
  };
}

function unitsBetween(left: string, right: string): number {
  const most = Math.min(left.length, right.length);
  let before = 0;
  while (before < most && left[before] === right[before]) before++;
  let behind = 0;
  while (behind < most - before && left.at(-1 - behind) === right.at(-1 - behind)) behind++;
  return left.length + right.length - 2 * (before + behind);
}
