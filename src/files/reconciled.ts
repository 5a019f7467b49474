import type { ChangedRange } from "../blocks/index.ts";

/** What one side made of base. */
export interface ChangedSide {
  readonly lines: readonly string[];
  readonly changes: readonly ChangedRange[];
}

/**
 * The changes of both sides, so told that what both added is an insertion at the same place in either. A diff takes a
 * line that was added beside a changed one for part of that change, and of several equal lines any for the new one: told
 * differently, the same line would be there twice.
 */
export function reconciled(
  memory: ChangedSide,
  disk: ChangedSide,
  base: readonly string[],
): [memory: ChangedRange[], disk: ChangedRange[]] {
  const ofDisk = toldAlike(disk, memory, base);
  const ofMemory = toldAlike(memory, { ...disk, changes: ofDisk }, base);
  return [ofMemory, ofDisk];
}

/** The changes of a side, with each insertion of the other set apart that is part of one of them. */
function toldAlike(side: ChangedSide, other: ChangedSide, base: readonly string[]): ChangedRange[] {
  const changes = [...side.changes];
  let at = 0;
  for (const { oldStart: place, oldEnd, newStart, newEnd } of other.changes) {
    if (oldEnd > place) continue;
    const inserted = other.lines.slice(newStart, newEnd);
    while (at < changes.length && changes[at]!.oldEnd <= place) at++;
    // The change behind the place, or around it, and the one before it.
    const behind = changes[at];
    const before = changes[at - 1];
    if (before !== undefined && isInsertionAt(before, place)) continue;
    const apart =
      (before && setApartBelow(before, place, inserted, side.lines, base)) ??
      (behind && setApartAbove(behind, place, inserted, side.lines));
    if (apart === undefined) continue;
    const from = apart.of === before ? at - 1 : at;
    changes.splice(from, 1, ...apart.changes);
    at = from;
  }
  return changes;
}

interface Apart {
  readonly of: ChangedRange;
  readonly changes: readonly ChangedRange[];
}

/** The last lines of a change, slid down over lines that stayed, are what was inserted. */
function setApartBelow(
  change: ChangedRange,
  place: number,
  inserted: readonly string[],
  lines: readonly string[],
  base: readonly string[],
): Apart | undefined {
  const { oldEnd, newEnd } = change;
  const start = newEnd - inserted.length;
  if (start < change.newStart) return undefined;
  const by = place - oldEnd;
  for (let line = 0; line < by; line++)
    if (lines[start + line] !== base[oldEnd + line]) return undefined;
  if (!areAt(lines, start + by, inserted)) return undefined;
  const insertion = insertionAt(place, start + by, inserted.length);
  return { of: change, changes: [...unlessNothing({ ...change, newEnd: start }), insertion] };
}

/** The first lines of a change are what was inserted in front of it. */
function setApartAbove(
  change: ChangedRange,
  place: number,
  inserted: readonly string[],
  lines: readonly string[],
): Apart | undefined {
  const { oldStart, newStart } = change;
  const end = newStart + inserted.length;
  if (oldStart !== place || end > change.newEnd || !areAt(lines, newStart, inserted))
    return undefined;
  const insertion = insertionAt(place, newStart, inserted.length);
  return { of: change, changes: [insertion, ...unlessNothing({ ...change, newStart: end })] };
}

function insertionAt(place: number, start: number, count: number): ChangedRange {
  return { oldStart: place, oldEnd: place, newStart: start, newEnd: start + count };
}

function isInsertionAt({ oldStart, oldEnd }: ChangedRange, place: number): boolean {
  return oldStart === place && oldEnd === place;
}

function unlessNothing(change: ChangedRange): ChangedRange[] {
  const { oldStart, oldEnd, newStart, newEnd } = change;
  return oldStart === oldEnd && newStart === newEnd ? [] : [change];
}

function areAt(lines: readonly string[], start: number, wanted: readonly string[]): boolean {
  return wanted.every((line, at) => lines[start + at] === line);
}
