import { damaged, KumikoError } from "../base/index.ts";
import { Activity, isText } from "./activity.ts";
import { flipEdit } from "./flip.ts";
import { decodeIndex } from "./index-codec.ts";
import { decodeRecord } from "./record-codec.ts";
import { indexVersion, RunIndex } from "./run-index.ts";
import type { IndexState } from "./run-pieces.ts";
import { SpliceRecord } from "./splice-record.ts";
import type { RecordedChange, Special, Splice, Stamp } from "./types.ts";

/** A document at rest. Only the record is needed; the rest makes loading faster. */
export interface SavedDocument {
  readonly record: Uint8Array;
  readonly index?: Uint8Array | undefined;
  readonly snapshot?: { readonly version: number; readonly bytes: Uint8Array } | undefined;
}

/** One commit of the journal: what it did, who did it, and what the Loro document needs to do it alike. */
export interface RecordedCommit {
  readonly change: RecordedChange;
  readonly stamp: Stamp;
  /** The peer that wrote it. */
  readonly peer: string | undefined;
  /** The Loro document was brought up to date at this version: its bytes may be known elsewhere. */
  readonly marked: boolean;
}

/** A document at rest, brought up to date with the commits made since. */
export function loadState(
  saved: SavedDocument | undefined,
  commits: readonly RecordedCommit[],
): IndexState {
  try {
    return load(saved, commits);
  } catch (error) {
    if (error instanceof KumikoError) throw error;
    // A right hash over nonsense: whoever wrote it was wrong, and a reader of it runs into anything.
    throw damaged(`the record makes no sense (${String(error)})`);
  }
}

function load(saved: SavedDocument | undefined, commits: readonly RecordedCommit[]): IndexState {
  const record = saved === undefined ? new SpliceRecord() : decodeRecord(saved.record);
  const decoded =
    saved?.index === undefined ? undefined : decodeIndex(saved.index, saved.record, record);
  const stored = decoded === undefined ? 0 : record.version;
  const state: IndexState = {
    record,
    index: decoded ?? new RunIndex(),
    activity: new Activity(),
  };
  for (let version = 1; version <= stored; version++) {
    followActivity(record, state.activity, version);
  }
  for (const { change, stamp, peer, marked } of commits) {
    if (peer !== undefined) record.enterPeer(peer);
    const places = "places" in change ? change.places : undefined;
    record.append(splicesOf(change), stamp, specialOf(record, change), places);
    if (marked) record.marks.push(record.version);
  }
  rebuild(state, stored + 1);
  return state;
}

function splicesOf(change: RecordedChange): readonly Splice[] {
  return change.kind === "birth" || change.kind === "structure" ? [] : change.splices;
}

function specialOf(record: SpliceRecord, change: RecordedChange): Special | undefined {
  switch (change.kind) {
    case "text":
      return undefined;
    case "baseline":
      return { kind: "baseline" };
    case "import":
      return { kind: "import", update: change.update };
    case "flip": {
      const target = record.editIndex(change.edit);
      if (target !== undefined) return { ...change, target };
      throw damaged(`a flip names the Edit ${change.edit}, which is not recorded`);
    }
    default:
      return change;
  }
}

/** A version as a journal keeps it and `loadState` takes it back. */
export function recordedCommit(record: SpliceRecord, version: number): RecordedCommit {
  const { editIndex, actor, tool, call, message, model, turn } = record.stampOf(version);
  const time = record.times[version - 1]!;
  return {
    change: changeOf(record, version),
    stamp: { actor, edit: record.editIds[editIndex]!, time, tool, call, message, model, turn },
    peer: record.peerAt(version)?.peer,
    marked: record.isMarked(version),
  };
}

function changeOf(record: SpliceRecord, version: number): RecordedChange {
  const special = record.specials.get(version);
  const splices = record.splicesOf(version);
  const places = record.placesOf(version);
  if (special === undefined) return { kind: "text", splices, places };
  switch (special.kind) {
    case "baseline":
      return { kind: "baseline", splices };
    case "flip":
      return {
        kind: "flip",
        edit: record.editIds[special.target]!,
        active: special.active,
        splices,
        held: special.held,
      };
    case "import":
      if (special.update === undefined)
        throw damaged(`the update of version ${version} is missing`);
      return { kind: "import", splices, update: special.update, places };
    default:
      return special;
  }
}

/** The index and the activity as functions of the record, version by version. */
function rebuild(state: IndexState, from: number): void {
  const { record } = state;
  for (let version = from; version <= record.version; version++) {
    const special = record.specials.get(version);
    if (special?.kind === "flip") {
      const { splices } = flipEdit(
        state,
        { edit: special.target, active: special.active, held: special.held ?? [] },
        version,
      );
      if (!sameSplices(splices, special.splices)) {
        throw damaged(`version ${version} does not undo what it says it undoes`);
      }
    } else {
      checkFits(state, version);
      indexVersion(state.index, record, version);
    }
    followActivity(record, state.activity, version);
  }
}

function followActivity(record: SpliceRecord, activity: Activity, version: number): void {
  const special = record.specials.get(version);
  if (special?.kind === "flip") {
    activity.flipped(record, version);
  } else if (isText(record, version)) {
    activity.textCommitted(record, version);
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
