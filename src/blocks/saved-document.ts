import { damaged } from "../base/index.ts";
import { Activity } from "./activity.ts";
import { flipEdit } from "./flip.ts";
import { decodeIndex } from "./index-codec.ts";
import { decodeRecord } from "./record-codec.ts";
import { indexVersion, RunIndex } from "./run-index.ts";
import type { IndexState } from "./run-pieces.ts";
import type { SpliceRecord } from "./splice-record.ts";
import type { Splice } from "./types.ts";

/** A document at rest. Only the record is needed; the rest makes loading faster. */
export interface SavedDocument {
  readonly record: Uint8Array;
  readonly index?: Uint8Array | undefined;
  readonly snapshot?: { readonly version: number; readonly bytes: Uint8Array } | undefined;
}

export function loadState(saved: SavedDocument): IndexState {
  const record = decodeRecord(saved.record);
  if (saved.index === undefined) return rebuild(record);
  const index = decodeIndex(saved.index, record);
  const activity = new Activity();
  for (let version = 1; version <= record.version; version++)
    followActivity(record, activity, version);
  return { record, index, activity };
}

/** The index and the activity as functions of the record, version by version. */
function rebuild(record: SpliceRecord): IndexState {
  const state: IndexState = { record, index: new RunIndex(), activity: new Activity() };
  for (let version = 1; version <= record.version; version++) {
    const special = record.specials.get(version);
    if (special?.kind === "flip") {
      const { splices } = flipEdit(state, special.target, special.active, version);
      if (!sameSplices(splices, special.splices)) {
        throw damaged(`version ${version} does not undo what it says it undoes`);
      }
    } else {
      checkFits(state, version);
      indexVersion(state.index, record, version);
    }
    followActivity(record, state.activity, version);
  }
  return state;
}

function followActivity(record: SpliceRecord, activity: Activity, version: number): void {
  const special = record.specials.get(version);
  const edit = record.editOf(version);
  if (special?.kind === "flip") {
    activity.flip(special.target, special.active, record.stampOf(version).actor, version);
  } else if (special?.kind !== "birth" && record.editSpan(edit)[0] === version) {
    activity.editBegun(record.editActors[edit]!);
  }
}

function checkFits({ record, index }: IndexState, version: number): void {
  let length = index.length;
  for (let i = record.spliceEnd(version - 1); i < record.spliceEnd(version); i++) {
    if (record.spliceAt(i) < 0 || record.spliceAt(i) + record.spliceRemove(i) > length) {
      throw damaged(`version ${version} addresses text that is not there`);
    }
    length += record.spliceInsertLength(i) - record.spliceRemove(i);
  }
}

function sameSplices(left: readonly Splice[], right: readonly Splice[]): boolean {
  return (
    left.length === right.length &&
    left.every((splice, i) => {
      const other = right[i]!;
      return (
        splice.at === other.at && splice.remove === other.remove && splice.insert === other.insert
      );
    })
  );
}
