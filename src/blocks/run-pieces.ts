import type { Activity } from "./activity.ts";
import type { Holds } from "./holds.ts";
import type { RunIndex } from "./run-index.ts";
import {
  BITS,
  COUNTER,
  DEATH,
  DESCENDING,
  LATER_DEATHS_SHIFT,
  LENGTH,
  NO_DEATH,
  type RunLeaf,
} from "./run-leaf.ts";
import type { SpliceRecord } from "./splice-record.ts";

/** What the index is read with. */
export interface IndexState {
  readonly record: SpliceRecord;
  readonly index: RunIndex;
  readonly activity: Activity;
}

const NO_EDIT = -1;

/** Part of a run that one Edit inserted and at most one Edit deleted first; all of that deletion holds, or nothing. */
export interface Piece {
  readonly counter: number;
  readonly length: number;
  readonly birthEdit: number;
  readonly deathEdit: number;
  /** Death number of its first unit; the others' go up, or down when `descending`. */
  readonly death: number;
  readonly descending: boolean;
  /** Of the deletions after an undo had brought it back: a death number that each of them gave. */
  readonly laterDeaths: readonly number[];
}

/** The pieces of the run at `at`. Only runs that a flip touches are worth taking apart. */
export function piecesOf(
  { record, index, activity }: IndexState,
  leaf: RunLeaf,
  at: number,
  holds: Holds = activity.holds,
): Piece[] {
  const runs = leaf.runs;
  const first = runs[at + COUNTER]!;
  const end = first + runs[at + LENGTH]!;
  const firstDeath = runs[at + DEATH]!;
  const bits = runs[at + BITS]!;
  const descending = (bits & DESCENDING) !== 0;
  const laterDeaths = index.laterDeaths[bits >> LATER_DEATHS_SHIFT]!;
  const pieces: Piece[] = [];
  for (let counter = first; counter < end;) {
    let birth = record.versionOfCounter(counter);
    const birthEdit = record.editOf(birth);
    while (record.counterEnd(birth) < end && record.editOf(birth + 1) === birthEdit) birth++;
    let until = Math.min(end, record.counterEnd(birth));
    let death = NO_DEATH;
    let deathEdit = NO_EDIT;
    if (firstDeath !== NO_DEATH) {
      death = firstDeath + (descending ? first - counter : counter - first);
      const alike = descending
        ? deathsDown(record, death, until - counter)
        : deathsUp(record, death, until - counter);
      deathEdit = record.editOfDeath(death);
      until = counter + holds.alike(death, descending, alike);
    }
    const length = until - counter;
    pieces.push({ counter, length, birthEdit, deathEdit, death, descending, laterDeaths });
    counter = until;
  }
  return pieces;
}

/** One death number of each deletion of a piece: the first is that of its first unit. */
export function deathsOf({ death, deathEdit, laterDeaths }: Piece): readonly number[] {
  return deathEdit === NO_EDIT ? laterDeaths : [death, ...laterDeaths];
}

/** How many death numbers from `death` upwards, `most` at most, are of the same Edit. */
function deathsUp(record: SpliceRecord, death: number, most: number): number {
  let version = record.versionOfDeath(death);
  const edit = record.editOf(version);
  while (record.deathEnd(version) - death < most && record.editOf(version + 1) === edit) version++;
  return Math.min(most, record.deathEnd(version) - death);
}

function deathsDown(record: SpliceRecord, death: number, most: number): number {
  let version = record.versionOfDeath(death);
  const edit = record.editOf(version);
  while (death - record.deathEnd(version - 1) + 1 < most && record.editOf(version - 1) === edit)
    version--;
  return Math.min(most, death - record.deathEnd(version - 1) + 1);
}

/** The units [low, high) of a piece that were visible at a version. */
export function visibleRange(
  { record, activity }: IndexState,
  piece: Piece,
  version: number,
): { low: number; high: number } {
  const { birthEdit, deathEdit, death, laterDeaths } = piece;
  const { holds } = activity;
  const deletedAgain = laterDeaths.some((later) => {
    if (record.versionOfDeath(later) > version) return false;
    return activity.activeAt(record.editOfDeath(later), version) || holds.holds(later, version);
  });
  if (deletedAgain || !activity.activeAt(birthEdit, version)) return { low: 0, high: 0 };
  let low = 0;
  let high = Math.min(piece.length, record.counterEnd(version) - piece.counter);
  const isDeleted = deathEdit !== NO_EDIT && activity.activeAt(deathEdit, version);
  if (isDeleted || (deathEdit !== NO_EDIT && holds.holds(death, version))) {
    const deathEnd = record.deathEnd(version);
    if (piece.descending) high = Math.min(high, death - deathEnd + 1);
    else low = Math.max(0, deathEnd - death);
  }
  return low < high ? { low, high } : { low: 0, high: 0 };
}

/** The versions that last showed or hid the units [low, high) of a piece. */
export function lastTouches(state: IndexState, piece: Piece, low: number, high: number): number[] {
  const { record, activity } = state;
  const versions = new Set<number>();
  for (let unit = low; unit < high; unit++) {
    const counter = piece.counter + unit;
    const death = piece.descending ? piece.death - unit : piece.death + unit;
    const one: Piece = { ...piece, counter, death, length: 1 };
    const deaths = deathsOf(one);
    const causes = deaths.map((each) => record.versionOfDeath(each));
    causes.push(record.versionOfCounter(counter));
    const edits = new Set(causes.map((version) => record.editOf(version)));
    const candidates = [
      ...causes,
      ...[...edits].flatMap((edit) => activity.flipsOf(edit)),
      ...deaths.flatMap((each) => activity.holds.togglesOf(each)),
    ];
    const visible = (version: number): boolean => visibleRange(state, one, version).high > 0;
    const last = candidates
      .toSorted((a, b) => b - a)
      .find((version) => visible(version) !== visible(version - 1));
    if (last !== undefined) versions.add(last);
  }
  return [...versions];
}
