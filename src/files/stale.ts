import { diffLines, Effort, splitText } from "../blocks/index.ts";
import type { FileIdentity, FileStat } from "./file-stat.ts";
import type { Base, Synced } from "./ledger.ts";
import { saidIn } from "./words.ts";

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
/** Steps in which the one that a program read is looked for, some 100 ms, and for each that is compared. */
const SEARCH_STEPS = 7_000_000;
const DIFF_STEPS = 1_400_000;
/** What it costs to read a text and take it apart, and to tell its words. */
const STEPS_PER_CHARACTER = 0.15;
const STEPS_PER_CHARACTER_OF_WORDS = 3;

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

/** Whether a program may have read it that wrote at this time. */
export function mayBeRead({ until, isOwn }: Earlier, written: bigint): boolean {
  return isOwn && written - until <= READ_BEFORE;
}

/**
 * When what is there was first written, `since` then if that is known: while git is at work, or a file does not come to rest,
 * programs write on top of one another, and what the first of them had not seen none of them has.
 */
export function firstWritten(now: FileStat, since: bigint | undefined): bigint {
  const last = placed(now);
  return since !== undefined && since < last && last - since <= KEPT_FOR ? since : last;
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
 * Which of the texts that were on disk, the newest first, a program made this one from: the one it is nearest to; of several
 * the newest. Exactly an older one was put back on purpose, so it was made from the newest. It takes a while to find out what
 * each of them was: of a long text only the newest are looked at.
 */
export function madeFrom(disk: string, texts: readonly (() => string)[]): number {
  const { lines } = splitText(disk);
  const distances = distancesInLines({ lines, length: disk.length }, texts);
  const least = Math.min(...distances);
  if (least === 0) return 0;
  // A formatter changes all lines: then a text with fewer of them seems nearer than the one that it read, up to twice as near.
  const near = [...distances.keys()].filter((at) => distances[at]! <= 2 * least);
  return near.length === 1 ? near[0]! : nearestInWords(lines, texts, { near, distances });
}

/** Of as many as there is time for. */
function distancesInLines(
  disk: { readonly lines: readonly string[]; readonly length: number },
  texts: readonly (() => string)[],
): number[] {
  const effort = new Effort(SEARCH_STEPS);
  const distances: number[] = [];
  for (const read of texts) {
    const text = read();
    const ofOne = new Effort(DIFF_STEPS);
    let distance = 0;
    for (const { left, right } of changedIn(splitText(text).lines, disk.lines, ofOne))
      distance += left.length + right.length;
    distances.push(distance);
    effort.spend(ofOne.spent + (text.length + disk.length) * STEPS_PER_CHARACTER);
    if (distance === 0 || effort.left === 0) break;
  }
  return distances;
}

/** Of those that are near in lines, the one that says nearly the same, whatever is between its words; the nearer in lines of several. */
function nearestInWords(
  disk: readonly string[],
  texts: readonly (() => string)[],
  { near, distances }: { readonly near: readonly number[]; readonly distances: readonly number[] },
): number {
  const effort = new Effort(SEARCH_STEPS);
  let nearest = near[0]!;
  let least = Infinity;
  for (const at of near) {
    let distance = 0;
    for (const { left, right } of changedIn(splitText(texts[at]!()).lines, disk, effort))
      distance += wordsBetween(left, right, effort);
    // Of what it was too late for, nothing is known.
    if (effort.left === 0 && least < Infinity) break;
    if (distance < least || (distance === least && distances[at]! < distances[nearest]!)) {
      nearest = at;
      least = distance;
    }
  }
  return nearest;
}

/** Lines with other words; the same ones in lines of other lengths are the same. */
function wordsBetween(
  oldLines: readonly string[],
  newLines: readonly string[],
  effort: Effort,
): number {
  let count = 0;
  for (const { left, right } of changedIn(said(oldLines, effort), said(newLines, effort), effort))
    if (left.join(" ") !== right.join(" ")) count += left.length + right.length;
  return count;
}

/** Of each line that has any words. */
function said(lines: readonly string[], effort: Effort): string[] {
  if (effort.left === 0) return [];
  return lines.flatMap((line) => {
    effort.spend(line.length * STEPS_PER_CHARACTER_OF_WORDS);
    return saidIn(line) || [];
  });
}

function* changedIn(
  oldLines: readonly string[],
  newLines: readonly string[],
  effort: Effort,
): Generator<{ readonly left: readonly string[]; readonly right: readonly string[] }> {
  for (const range of diffLines(oldLines, newLines, effort).ranges) {
    const left = oldLines.slice(range.oldStart, range.oldEnd);
    yield { left, right: newLines.slice(range.newStart, range.newEnd) };
  }
}
