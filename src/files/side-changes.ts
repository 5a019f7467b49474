import type { ChangedRange } from "../blocks/index.ts";

export type LineDiffer = (
  left: readonly string[],
  right: readonly string[],
) => readonly ChangedRange[];

/**
 * The changes that lead from base to one side, each slid down as far as it goes; those that meet become one. A line
 * added among equal ones could stand before or behind each of them: both sides must say the same of it.
 */
export function settled(
  base: readonly string[],
  lines: readonly string[],
  ranges: readonly ChangedRange[],
): ChangedRange[] {
  const behind: ChangedRange[] = [];
  for (const each of ranges.toReversed()) {
    let range = each;
    for (;;) {
      const next = behind.at(-1);
      range = slid(base, lines, range, next?.oldStart ?? base.length);
      if (next === undefined || range.oldEnd < next.oldStart) break;
      behind.pop();
      range = { ...range, oldEnd: next.oldEnd, newEnd: next.newEnd };
    }
    behind.push(range);
  }
  return behind.toReversed();
}

function slid(
  base: readonly string[],
  lines: readonly string[],
  { oldStart, oldEnd, newStart, newEnd }: ChangedRange,
  limit: number,
): ChangedRange {
  let by = 0;
  if (oldStart === oldEnd) {
    while (oldEnd + by < limit && base[oldEnd + by] === lines[newStart + by]) by++;
  } else if (newStart === newEnd) {
    while (oldEnd + by < limit && base[oldEnd + by] === base[oldStart + by]) by++;
  }
  return {
    oldStart: oldStart + by,
    oldEnd: oldEnd + by,
    newStart: newStart + by,
    newEnd: newEnd + by,
  };
}

/** Lines [start, end) of base, and what either side made of them; what only touches is another place. */
export interface Place {
  readonly start: number;
  readonly end: number;
  readonly memory: readonly ChangedRange[];
  readonly disk: readonly ChangedRange[];
}

/** In order. Two insertions in front of one line are one place. */
export function placesOf(memory: readonly ChangedRange[], disk: readonly ChangedRange[]): Place[] {
  const places: Place[] = [];
  let memoryAt = 0;
  let diskAt = 0;
  for (;;) {
    const first = earlier(disk[diskAt], memory[memoryAt]);
    if (first === undefined) return places;
    const start = first.oldStart;
    let end = first.oldEnd;
    const belongs = (range: ChangedRange | undefined): range is ChangedRange =>
      range !== undefined &&
      (range.oldStart < end ||
        (range.oldStart === start && range.oldEnd === start && end === start));
    const ofMemory: ChangedRange[] = [];
    const ofDisk: ChangedRange[] = [];
    for (;;) {
      const nextOfDisk = disk[diskAt];
      const nextOfMemory = memory[memoryAt];
      if (nextOfDisk === first || belongs(nextOfDisk)) {
        ofDisk.push(nextOfDisk);
        end = Math.max(end, nextOfDisk.oldEnd);
        diskAt++;
      } else if (nextOfMemory === first || belongs(nextOfMemory)) {
        ofMemory.push(nextOfMemory);
        end = Math.max(end, nextOfMemory.oldEnd);
        memoryAt++;
      } else break;
    }
    places.push({ start, end, memory: ofMemory, disk: ofDisk });
  }
}

/** By where it starts; an insertion stands in front of the lines that begin there. */
function earlier(
  left: ChangedRange | undefined,
  right: ChangedRange | undefined,
): ChangedRange | undefined {
  if (left === undefined || right === undefined) return left ?? right;
  return (right.oldStart - left.oldStart || right.oldEnd - left.oldEnd) < 0 ? right : left;
}

/**
 * Places next to each other become one where both sides made the same of all of them. Which of several equal lines was
 * changed is decided by each diff for itself: told differently, the same change would be made twice.
 */
export function joinedWhereEqual(
  places: readonly Place[],
  memory: readonly string[],
  disk: readonly string[],
): Place[] {
  const result: Place[] = [];
  let memoryShift = 0;
  let diskShift = 0;
  for (let at = 0; at < places.length;) {
    const { start } = places[at]!;
    const equal = equalLines(memory, start + memoryShift, disk, start + diskShift);
    let last = at;
    let memoryGrowth = 0;
    let diskGrowth = 0;
    for (let next = at; next < places.length; next++) {
      const place = places[next]!;
      if (place.start - start + memoryGrowth > equal) break;
      memoryGrowth += growth(place.memory);
      diskGrowth += growth(place.disk);
      if (memoryGrowth === diskGrowth && place.end - start + memoryGrowth <= equal) last = next;
    }
    const joined = places.slice(at, last + 1);
    result.push({
      start,
      end: places[last]!.end,
      memory: joined.flatMap((place) => place.memory),
      disk: joined.flatMap((place) => place.disk),
    });
    for (const place of joined) {
      memoryShift += growth(place.memory);
      diskShift += growth(place.disk);
    }
    at = last + 1;
  }
  return result;
}

function equalLines(
  left: readonly string[],
  leftStart: number,
  right: readonly string[],
  rightStart: number,
): number {
  const most = Math.min(left.length - leftStart, right.length - rightStart);
  let count = 0;
  while (count < most && left[leftStart + count] === right[rightStart + count]) count++;
  return count;
}

/** How many lines a side has more than base. */
export function growth(changes: readonly ChangedRange[]): number {
  let lines = 0;
  for (const { oldStart, oldEnd, newStart, newEnd } of changes)
    lines += newEnd - newStart - (oldEnd - oldStart);
  return lines;
}
