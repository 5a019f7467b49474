import type { ChangedRange } from "../blocks/index.ts";
import type { LineDiffer, Place } from "./side-changes.ts";

export interface LineRange {
  readonly start: number;
  readonly end: number;
}

/** A stretch of what both sides made of one place, in lines of either. */
interface Stretch {
  /** `same`: equal on both sides; `memory`, `disk`: only that side changed it, and it stands; `clash`: both did. */
  readonly kind: "same" | "memory" | "disk" | "clash";
  readonly memory: LineRange;
  readonly disk: LineRange;
  /** Of a clash: the lines of base that it came from. */
  readonly base: LineRange;
}

export interface SideLines {
  readonly lines: readonly string[];
  readonly range: LineRange;
}

/**
 * What really differs where both sides changed the same lines. Lines that both wrote are no clash; lines that one side
 * left as they were follow the other; lines that one side has more than there were in base are its own.
 */
export function refined(
  place: Place,
  memory: SideLines,
  disk: SideLines,
  diff: LineDiffer,
): Stretch[] {
  const stretches = compared(memory, disk, diff);
  const isAdded = assignBase(place, stretches);
  for (const stretch of stretches) {
    if (stretch.kind === "clash") stretch.kind = kindOf(stretch, place, isAdded);
  }
  return joined(stretches, memory.lines);
}

type OpenStretch = { -readonly [Key in keyof Stretch]: Stretch[Key] };

const NOWHERE: LineRange = { start: 0, end: 0 };

function compared(memory: SideLines, disk: SideLines, diff: LineDiffer): OpenStretch[] {
  const stretches: OpenStretch[] = [];
  let memoryAt = memory.range.start;
  let diskAt = disk.range.start;
  const push = (kind: Stretch["kind"], memoryEnd: number, diskEnd: number): void => {
    if (memoryEnd > memoryAt || diskEnd > diskAt) {
      const ofMemory = { start: memoryAt, end: memoryEnd };
      stretches.push({
        kind,
        memory: ofMemory,
        disk: { start: diskAt, end: diskEnd },
        base: NOWHERE,
      });
    }
    memoryAt = memoryEnd;
    diskAt = diskEnd;
  };
  for (const range of difference(linesOf(memory), linesOf(disk), diff)) {
    push("same", memory.range.start + range.oldStart, disk.range.start + range.newStart);
    push("clash", memory.range.start + range.oldEnd, disk.range.start + range.newEnd);
  }
  push("same", memory.range.end, disk.range.end);
  return stretches;
}

/** The same whichever side is given first: of several shortest ways, who is who must not choose. */
function difference(
  left: readonly string[],
  right: readonly string[],
  diff: LineDiffer,
): readonly ChangedRange[] {
  const first = left.findIndex((line, at) => line !== right[at]);
  if (first === -1 || first >= right.length || left[first]! < right[first]!)
    return diff(left, right);
  return diff(right, left).map(({ oldStart, oldEnd, newStart, newEnd }) => ({
    oldStart: newStart,
    oldEnd: newEnd,
    newStart: oldStart,
    newEnd: oldEnd,
  }));
}

/**
 * Which lines of base a stretch came from. Lines that both wrote at the beginning and at the end take the place of as
 * many; what is left belongs to what is between. Several stretches share it by counting when one side has as many
 * lines as there were; else it cannot be told, and each is shown all of it. True when nothing is left.
 */
function assignBase(place: Place, stretches: OpenStretch[]): boolean {
  const clashes = stretches.filter(({ kind }) => kind === "clash");
  const first = clashes[0]!;
  const last = clashes.at(-1)!;
  const before = first.memory.start - stretches[0]!.memory.start;
  const after = stretches.at(-1)!.memory.end - last.memory.end;
  const start = Math.min(place.end, place.start + before);
  const end = Math.max(start, place.end - after);
  const counted = (["memory", "disk"] as const).find(
    (side) => last[side].end - first[side].start === end - start,
  );
  for (const stretch of clashes) {
    const alone = counted === undefined || isEmpty(stretch[counted]);
    stretch.base = alone ? { start, end } : shifted(stretch[counted], start - first[counted].start);
  }
  return start === end;
}

function shifted({ start, end }: LineRange, by: number): LineRange {
  return { start: start + by, end: end + by };
}

function kindOf({ memory, disk }: Stretch, place: Place, isAdded: boolean): Stretch["kind"] {
  if (untouched(disk, place.disk)) return "memory";
  if (untouched(memory, place.memory)) return "disk";
  if (isAdded && isEmpty(disk)) return "memory";
  return isAdded && isEmpty(memory) ? "disk" : "clash";
}

/** Whether a side changed nothing there: it added no line of the stretch, and took away none in it or beside it. */
function untouched({ start, end }: LineRange, changes: readonly ChangedRange[]): boolean {
  return !changes.some(({ newStart, newEnd }) =>
    newStart === newEnd || start === end
      ? newStart <= end && newEnd >= start
      : newStart < end && newEnd > start,
  );
}

/** Clashes with nothing but braces and empty lines between them are one: people decide about them together. */
function joined(stretches: readonly Stretch[], memory: readonly string[]): Stretch[] {
  const result: Stretch[] = [];
  for (const stretch of stretches) {
    const between = result.at(-1);
    const clash = result.at(-2);
    const joins =
      stretch.kind === "clash" &&
      between?.kind === "same" &&
      clash?.kind === "clash" &&
      !memory.slice(between.memory.start, between.memory.end).some(saysSomething);
    if (!joins) {
      result.push(stretch);
      continue;
    }
    result.splice(-2, 2, {
      kind: "clash",
      memory: { start: clash.memory.start, end: stretch.memory.end },
      disk: { start: clash.disk.start, end: stretch.disk.end },
      base: {
        start: Math.min(clash.base.start, stretch.base.start),
        end: Math.max(clash.base.end, stretch.base.end),
      },
    });
  }
  return result;
}

/**
 * Two insertions at one place: a stretch is `same` where both wrote the same lines. Braces, empty lines and lines that
 * base has too are written often: they are not taken for the same, or one `}` would close two functions.
 */
export function insertedTogether(
  memory: SideLines,
  disk: SideLines,
  inBase: (line: string) => boolean,
  diff: LineDiffer,
): Stretch[] {
  const common = commonBeginning(memory, disk);
  const stretches = compared(memory, disk, diff);
  if (common === sizeOf(memory.range) || common === sizeOf(disk.range)) return stretches;
  const result: OpenStretch[] = [];
  for (const stretch of stretches) {
    const { start, end } = stretch.memory;
    const isSame =
      stretch.kind === "same" && memory.lines.slice(start, end).some((line) => isOwn(line, inBase));
    const last = result.at(-1);
    if (isSame || last === undefined || last.kind === "same") {
      result.push({ ...stretch, kind: isSame ? "same" : "clash" });
      continue;
    }
    last.memory = { start: last.memory.start, end };
    last.disk = { start: last.disk.start, end: stretch.disk.end };
  }
  return result;
}

function commonBeginning(memory: SideLines, disk: SideLines): number {
  const most = Math.min(sizeOf(memory.range), sizeOf(disk.range));
  let count = 0;
  while (
    count < most &&
    memory.lines[memory.range.start + count] === disk.lines[disk.range.start + count]
  )
    count++;
  return count;
}

/** A line that somebody wrote here, and that is not written everywhere. */
export function isOwn(line: string, inBase: (line: string) => boolean): boolean {
  return saysSomething(line) && !inBase(line);
}

export function saysSomething(line: string): boolean {
  return /[\p{L}\p{N}]/u.test(line);
}

export function linesOf({ lines, range }: SideLines): readonly string[] {
  return lines.slice(range.start, range.end);
}

function sizeOf({ start, end }: LineRange): number {
  return end - start;
}

function isEmpty({ start, end }: LineRange): boolean {
  return start === end;
}
